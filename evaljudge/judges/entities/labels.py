"""Every question of a judge of entities as a row that people can answer, and their answers back.

{"doc_id": "d1", "system": "A", "aspect": "correctness", "entity": "The river rose",
 "heading": null, "words": "The river rose in the night", "verdict": "yes", "label": null}

People replace null by one of the aspect's answers (OPTIONS); for readability, `yes` is a sentence
with an issue. A label belongs to the entity of its candidate and aspect whose text is the same
except for case, space and a last point. Where several entities have the same text, the rows are
matched in their order, which an export keeps. Cohen's kappa and its interval are computed by
agreement/labels.py.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from math import nan
from typing import Any

from evaljudge.agreement import cohen_kappa
from evaljudge.corpora.files import rows_of
from evaljudge.errors import UserError, unknown
from evaljudge.judges.collector import CollectorOptions, SeenShard
from evaljudge.judges.entities.equations import OPTIONS, Answer, Aspect
from evaljudge.judges.entities.evidence import questions, read_evidence
from evaljudge.judges.entities.extraction import folded
from evaljudge.records import Verdict
from evaljudge.storage import Output, Shard, ahead, to_write
from evaljudge.text import shown

At = tuple[str, str, Aspect, str]
"""A document, a system, an aspect and an entity's folded text."""
Answered = tuple[At, Answer | None]  # a verdict that people may have a label for
Row = dict[str, Any]
Labels = Mapping[At, Sequence[Answer | None]]
"""Each entity's labels in the order of the file; None where a row is not filled in."""


def read_labels(file: str) -> Labels:
    rows: dict[At, list[Answer | None]] = {}
    for row in rows_of(file):
        fields = row.fields
        for name in ("doc_id", "system", "aspect", "entity"):
            if not isinstance(fields.get(name), str):
                raise UserError(f"{row.place}: needs `{name}`, a text")
        if "label" not in fields:
            raise UserError(f"{row.place}: needs `label`: an answer, or null")
        aspect, label = fields["aspect"], fields["label"]
        if aspect not in OPTIONS:
            raise UserError(f"{row.place}: {unknown('aspect', aspect, OPTIONS)}")
        if label is not None and label not in OPTIONS[aspect]:
            allowed = ", ".join(OPTIONS[aspect])
            written = shown(label) if isinstance(label, str) else json.dumps(label)[:60]
            raise UserError(f"{row.place}: `label` is {written}: give one of {allowed}, or null")
        at = (fields["doc_id"], fields["system"], aspect, folded(fields["entity"]))
        rows.setdefault(at, []).append(label)
    if not rows:
        raise UserError(f"{file}: holds no row")
    return rows


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


def label_agreement(
    judge: str, file: str, labels: Labels, verdicts: Sequence[Answered], wanted: CollectorOptions
) -> list[EntityAgreementRow]:
    """A row for each aspect that the file has rows of; `verdicts`: all that it has rows for."""
    left = {at: list(reversed(answers)) for at, answers in labels.items()}
    documents: dict[str, int] = {}
    pairs: dict[Aspect, list[tuple[int, Answer | None, Answer]]] = {}
    for (doc_id, system, aspect, entity), verdict in verdicts:
        rows = left[doc_id, system, aspect, entity]
        label = rows.pop() if rows else None
        if label is not None:
            document = documents.setdefault(doc_id, len(documents))
            pairs.setdefault(aspect, []).append((document, verdict, label))
    found = []
    for aspect, options in OPTIONS.items():
        given, unmet = (
            [label for at, those in rest.items() if at[2] == aspect for label in those]
            for rest in (labels, left)
        )
        if not given:
            continue
        code = {answer: float(number) for number, answer in enumerate(options)}
        paired = pairs.get(aspect, [])
        kappa = cohen_kappa(
            [nan if verdict is None else code[verdict] for _, verdict, _ in paired],
            [code[label] for *_, label in paired],
            [document for document, *_ in paired],
            resamples=wanted.resamples,
            seed=wanted.seed,
        )
        found.append(EntityAgreementRow(
            *(judge, aspect, file, kappa.value, kappa.low, kappa.high, kappa.agreed),
            n=kappa.n,
            unscored=kappa.skipped,
            unmet=len(unmet) - unmet.count(None),
            blank=given.count(None),
        ))  # fmt: skip
    return found


def export_entities(out: str, to: str, judge: str | None = None) -> str:
    """Write every question of a run's judged shards to a file; gives a line on it."""
    output = Output(out)
    name = _judge_of(output, judge)
    judged = output.committed("judge")
    shards = [shard for shard in output.shards() if shard.number in judged]
    if not shards:
        raise UserError(f"{out}: nothing is judged yet, so there is nothing to export")

    def rows_of_each_verdict(shard: Shard) -> list[list[Row]]:
        seen = SeenShard(output.cases(shard), list(output.verdicts(name, shard)))
        return [question_rows(v, seen.texts[v.doc_id, v.system]) for v in seen.verdicts]

    place, file = to_write(to)
    rows = candidates = 0
    with place.writing(file) as stream:
        for verdicts in ahead(rows_of_each_verdict, shards):
            candidates += len(verdicts)
            for row in chain.from_iterable(verdicts):
                stream.write(json.dumps(row, ensure_ascii=False).encode() + b"\n")
                rows += 1
        if not rows:  # raised before the file is complete, so that none appears
            raise UserError(f"{out}: judge {name!r} recorded no entity questions in this run")
    return f"{rows:,} questions about {candidates:,} candidates: {to}"


def question_rows(verdict: Verdict, text: str) -> list[Row]:
    return [
        {
            "doc_id": verdict.doc_id,
            "system": verdict.system,
            "aspect": asked.aspect,
            "entity": asked.entity,
            "heading": asked.heading or None,
            "words": asked.words,
            "verdict": asked.ruling.verdict,
            "rule": asked.ruling.rule,
            "label": None,
        }
        for asked in questions(read_evidence(verdict.evidence), text)
    ]


def _judge_of(output: Output, wanted: str | None) -> str:
    judges_there: Mapping[str, Mapping[str, Any]] = output.known_run()["fingerprint"]["judges"]
    judges = [name for name, spec in judges_there.items() if spec.get("judge", name) == "entities"]
    if wanted is not None and wanted not in judges:
        raise UserError(f"--judge: {unknown('judge of entities', wanted, judges)}")
    if not judges:
        there = ", ".join(judges_there) or "none"
        raise UserError(f"{output.uri}: no judge of entities there (its judges: {there})")
    if wanted is None and len(judges) > 1:
        raise UserError(f"{output.uri}: name one with --judge: {', '.join(judges)}")
    return wanted or judges[0]
