"""Paraphrases of the instruction to compare, and which of them the model follows most fairly.

After ZEPO ("Fairer Preferences Elicit Improved Human-Aligned Large Language Model Judgments"):

    instruction    texts ranked    decided for the first    fairness
    0 (ours)       600             62%                      1 − 2 · |.62 − .5| = .76
    1              600             53%                      .94     kept
    2              600             41%                      .82
    3              580             50%                      1       not kept: it ranks fewer texts

An answer decides for the text with the greater probability; how sure it is does not count.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import groupby, product
from operator import attrgetter
from statistics import fmean
from typing import Any

from evaljudge.judges.pairs.contest import read_comparison
from evaljudge.judges.protocol import Part
from evaljudge.judges.shared.asking import ANY_WORDS, text_of
from evaljudge.judges.shared.counting import Sums
from evaljudge.judges.shared.references import text_brief
from evaljudge.model import Model
from evaljudge.model.asks import Failed, Writing, Written
from evaljudge.prompts import Task
from evaljudge.records import Axis, Brief, Document, Verdict

PARAPHRASE = "pairs.paraphrase"
WRITING = Writing(max_tokens=512, temperature=1.0)
OURS = 0  # the number of the template's own instruction
DIGITS = 9
"""Digits compared, so that a machine that adds up in another order keeps the same instruction."""


class Instructions:
    """The instructions with these numbers, for each axis."""

    def __init__(self, kind: str, task: Task, numbers: Sequence[int]) -> None:
        self._kind, self._pack, self._axes = kind, task.pack, task.axes
        self._nouns = {f"{slot}_noun": noun for slot, noun in task.nouns.items()}
        written = [number for number in numbers if number != OURS]
        self._written = list(product(self._axes, written))
        self.prompts = {}
        if written:
            self._pack.render(PARAPHRASE, {}, number="1", **ANY_WORDS, **self._nouns)
            self.prompts = {"paraphrasing": self._pack.hash([PARAPHRASE])}

    def parts(self) -> list[Part]:
        alike = {**self._nouns, **self.prompts, "temperature": WRITING.temperature}
        return [
            Part(axis.name, _part(number), {"number": number, **axis.words, **alike})
            for axis, number in self._written
        ]

    async def brief(self, document: Document, known: Sequence[Brief], model: Model) -> list[Brief]:
        there = {(brief.axis, brief.part) for brief in known}
        missing = [(a, n) for a, n in self._written if (a.name, _part(n)) not in there]
        replies: Sequence[Written | Failed] = [Failed("empty source")] * len(missing)
        if document.source.strip():
            prompts = [
                self._pack.render(PARAPHRASE, {}, number=str(n), **axis.words, **self._nouns)
                for axis, n in missing
            ]
            replies = await model.write(prompts, WRITING)
        return [
            text_brief((document.doc_id, "", self._kind, axis.name, _part(number)), reply)
            for (axis, number), reply in zip(missing, replies, strict=True)
        ]


def instruction_in(briefs: Iterable[Brief], axis: Axis, number: int) -> str | Failed:
    """Empty for the template's own."""
    if number == OURS:
        return ""
    part = _part(number)
    texts = (text_of(brief) for brief in briefs if (brief.axis, brief.part) == (axis.name, part))
    text = next(texts, Failed("never written"))
    if isinstance(text, Failed):
        return Failed(f"no instruction {number} on {axis.name}: {text.reason}")
    return text


def number_of(part: str) -> str:
    return part.removeprefix(_part(""))


def _part(number: int | str) -> str:
    return f"instruction-{number}"


def by_instruction(evidence: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """A verdict's evidence by the number of the instruction, where it has any."""
    tried = evidence.get("instructions", {str(OURS): evidence})
    return {number: content for number, content in tried.items() if "failed" not in content}


def by_document(
    verdicts: Iterable[Verdict],
) -> Iterator[tuple[str, str, dict[str, Mapping[str, Any]]]]:
    """The axis, the instruction's number, and the evidence by system, for each document, axis and
    instruction. The verdicts of a document and axis stand together."""
    ranked = (verdict for verdict in verdicts if verdict.status == "ok")
    for (_, axis), same in groupby(ranked, attrgetter("doc_id", "axis")):
        texts: dict[str, dict[str, Mapping[str, Any]]] = {}
        for verdict in same:
            for number, evidence in by_instruction(verdict.evidence).items():
                texts.setdefault(number, {})[verdict.system] = evidence
        for number, mine in texts.items():
            yield axis, number, mine


def document_fairness(ranked: Collection[Mapping[str, Any]]) -> Sums:
    """Sums of one instruction's evidence on each text of a document, on one axis: how many texts it
    `ranked`, whether the document is `answered` at all, and the share of answers that decided for
    the `first` text."""
    compared = [read_comparison(pair) for evidence in ranked for pair in evidence["comparisons"]]
    answers = [odds for pair in compared for odds in (pair.first, pair.second) if odds is not None]
    sums: Sums = {"ranked": len(ranked), "answered": int(bool(answers)), "first": 0.0}
    if answers:
        sums["first"] = fmean((1 + (odds > 0) - (odds < 0)) / 2 for odds in answers)
    return sums


def first_place(sums: Sums) -> float | None:
    """The share of answers for the first text, the mean over documents with an answer."""
    return round(sums["first"] / sums["answered"], DIGITS) if sums["answered"] else None


def fairness(sums: Sums) -> float | None:
    """1 if both places are chosen equally often, 0 if one is always chosen."""
    share = first_place(sums)
    return None if share is None else 1 - 2 * abs(share - 0.5)


def fairest(tried: Mapping[str, Sums]) -> str:
    """The number of the instruction to keep; of equally fair ones the first.

    One that ranks fewer texts than the template's own is not kept: no score is given up for
    fairness.
    """
    least = tried[str(OURS)]["ranked"] if str(OURS) in tried else 0
    fair = {
        number: value
        for number, row in tried.items()
        if (value := fairness(row)) is not None and row["ranked"] >= least
    }
    return min(fair, key=lambda number: (-fair[number], int(number)), default=str(OURS))


def kept_instructions(tried: Mapping[str, Mapping[str, Sums]]) -> dict[str, Any]:
    """The instruction that is kept on each axis, and what each that was tried came to."""
    return {
        axis: {
            "kept": fairest(sums),
            "texts": {number: row["ranked"] for number, row in sums.items()},
            "first_place": {n: first_place(row) for n, row in sums.items() if row["answered"]},
        }
        for axis, sums in sorted(tried.items())
    }
