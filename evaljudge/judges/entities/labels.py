"""Every question of a judge of entities as a row that people can answer, and their answers back.

{"doc_id": "d1", "system": "A", "aspect": "correctness", "entity": "The river rose",
 "heading": null, "words": "The river rose in the night", "verdict": "yes", "label": null}

People put one of the aspect's answers (OPTIONS) in place of null; of readability, `yes` is a
sentence with an issue. A label belongs to the entity of its candidate and aspect whose text is
the same but for case and space. Where several are, the first row is the first's: an export keeps
their order. Cohen's kappa and its interval are those of agreement/labels.py.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import nan
from typing import Any

from evaljudge.agreement import cohen_kappa
from evaljudge.corpora.files import rows_of
from evaljudge.corpora.rows import Row
from evaljudge.errors import UserError, unknown
from evaljudge.judges.entities.equations import OPTIONS, Answer, Aspect
from evaljudge.judges.entities.evidence import JudgedText, questions
from evaljudge.text import shown

At = tuple[str, str, Aspect, str]
"""A document, a system, an aspect and an entity's folded text."""


@dataclass(frozen=True, slots=True)
class Answered:
    """A verdict that people may have a label for."""

    at: At
    verdict: Answer | None


@dataclass(frozen=True, slots=True)
class Labels:
    """A file's rows: each entity's labels in their order; None where a row is not filled in."""

    file: str
    rows: Mapping[At, Sequence[Answer | None]]


def question_rows(text: JudgedText) -> Iterator[dict[str, Any]]:
    """To be exported."""
    for question in questions(text.judged, text.text):
        yield {
            "doc_id": text.doc_id,
            "system": text.system,
            "aspect": question.aspect,
            "entity": question.entity,
            "heading": question.heading or None,
            "words": question.words,
            "verdict": question.verdict,
            "rule": question.rule,
            "label": None,
        }


def answered(text: JudgedText, labels: Labels) -> list[Answered]:
    """Those of a candidate's verdicts that the file has rows for."""
    found = (
        Answered((text.doc_id, text.system, asked.aspect, folded(asked.entity)), asked.verdict)
        for asked in questions(text.judged, text.text)
    )
    return [one for one in found if one.at in labels.rows]


def folded(entity: str) -> str:
    return " ".join(entity.split()).casefold()


def read_labels(file: str) -> Labels:
    rows: dict[At, list[Answer | None]] = {}
    for row in rows_of(file):
        at, label = _label(row)
        rows.setdefault(at, []).append(label)
    if not rows:
        raise UserError(f"{file}: holds no row")
    return Labels(file, rows)


def _label(row: Row) -> tuple[At, Answer | None]:
    doc_id, system, name, entity = (
        _text(row, field) for field in ("doc_id", "system", "aspect", "entity")
    )
    for aspect, answers in OPTIONS.items():
        if aspect == name:
            return (doc_id, system, aspect, folded(entity)), _answer(row, answers)
    raise UserError(f"{row.place}: {unknown('aspect', name, OPTIONS)}")


def _answer(row: Row, answers: Iterable[Answer]) -> Answer | None:
    if "label" not in row.fields:
        raise UserError(f"{row.place}: needs `label`: an answer, or null")
    label = row.fields["label"]
    if label is None:
        return None
    for answer in answers:
        if answer == label:
            return answer
    said = shown(label) if isinstance(label, str) else json.dumps(label)[:60]
    raise UserError(f"{row.place}: `label` is {said}: give one of {', '.join(answers)}, or null")


def _text(row: Row, name: str) -> str:
    value = row.fields.get(name)
    if not isinstance(value, str):
        raise UserError(f"{row.place}: needs `{name}`, a text")
    return value


@dataclass(frozen=True, slots=True)
class EntityAgreementRow:
    """A judge's verdicts on one aspect beside people's labels of the same entities."""

    judge: str
    aspect: str
    file: str
    kappa: float | None  # Cohen's; None where undefined
    low: float | None
    high: float | None
    same: float | None  # the share of n where verdict and label are the same
    n: int
    unscored: int  # labelled entities without a verdict
    unmet: int  # labels of no entity of the run
    blank: int  # rows without a label


class LabelMatching:
    """Verdicts and labels side by side; `see` each verdict that the file has rows for, in order."""

    def __init__(self, judge: str, labels: Labels) -> None:
        self._judge, self._file = judge, labels.file
        self._left = {at: list(reversed(given)) for at, given in labels.rows.items()}
        self._blank = Counter(
            at[2] for at, given in labels.rows.items() for label in given if label is None
        )
        self._pairs: dict[Aspect, list[tuple[int, Answer | None, Answer]]] = {}
        self._documents: dict[str, int] = {}

    def see(self, found: Answered) -> None:
        left = self._left[found.at]
        label = left.pop() if left else None
        if label is not None:
            document = self._documents.setdefault(found.at[0], len(self._documents))
            self._pairs.setdefault(found.at[2], []).append((document, found.verdict, label))

    def rows(self, resamples: int, seed: int) -> list[EntityAgreementRow]:
        """Of each aspect that the file has rows of."""
        there = {at[2] for at in self._left}
        return [self._row(aspect, resamples, seed) for aspect in OPTIONS if aspect in there]

    def _row(self, aspect: Aspect, resamples: int, seed: int) -> EntityAgreementRow:
        pairs = self._pairs.get(aspect, [])
        codes = {answer: float(code) for code, answer in enumerate(OPTIONS[aspect])}
        found = cohen_kappa(
            [nan if verdict is None else codes[verdict] for _, verdict, _ in pairs],
            [codes[label] for *_, label in pairs],
            [document for document, *_ in pairs],
            resamples=resamples,
            seed=seed,
        )
        same = sum(verdict == label for _, verdict, label in pairs)
        left = [label for at, given in self._left.items() if at[2] == aspect for label in given]
        return EntityAgreementRow(
            judge=self._judge,
            aspect=aspect,
            file=self._file,
            kappa=found.value,
            low=found.low,
            high=found.high,
            same=same / found.n if found.n else None,
            n=found.n,
            unscored=found.skipped,
            unmet=sum(label is not None for label in left),
            blank=self._blank[aspect],
        )
