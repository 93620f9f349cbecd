"""Paraphrases of the instruction to compare, and which of them the model follows most fairly.

After ZEPO ("Fairer Preferences Elicit Improved Human-Aligned Large Language Model Judgments"): how
well an instruction works can be told without labels, since with a good one the model prefers the
first text as often as the second. With `optimise: fairness` the texts are ranked by each of several
paraphrases, and the report uses the one whose preferences are the fairest over the whole run:

    instruction    p(first), mean of all answers    fairness
    0 (ours)       .62                              1 − 2 · |.62 − .5| = .76
    1              .53                              .94     kept
    2              .41                              .82

The paraphrases are briefs: they are written from the axis alone, once for all documents.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evaljudge.judges.pairs.comparing import read_comparison
from evaljudge.judges.pairs.equations import preference
from evaljudge.judges.protocol import Part
from evaljudge.judges.shared.asking import ANY_WORDS
from evaljudge.judges.shared.counting import Summed
from evaljudge.judges.shared.references import text_of
from evaljudge.model import Model
from evaljudge.model.asks import Failed, Sample, Writing, Written
from evaljudge.model.counting import cost
from evaljudge.prompts import Task
from evaljudge.records import Axis, Brief, Document, Score, Verdict

PARAPHRASE = "pairs.paraphrase"
HOW = Writing(max_tokens=512, temperature=1.0)
OURS = 0
"""The number of the template's own instruction."""
DIGITS = 9
"""So that a machine that adds up in another order keeps the same instruction."""
ByInstruction = Mapping[str, Mapping[str, Any]]


class Instructions:
    """Those with these numbers, by axis."""

    def __init__(self, kind: str, task: Task, numbers: Sequence[int]) -> None:
        self._kind, self._pack, self._axes = kind, task.pack, task.axes
        self._nouns = {f"{slot}_noun": noun for slot, noun in task.nouns.items()}
        self._written = [number for number in numbers if number != OURS]
        self.prompts = {}
        if self._written:
            self._pack.render(PARAPHRASE, {}, number="1", **ANY_WORDS, **self._nouns)
            self.prompts = {"paraphrasing": self._pack.hash([PARAPHRASE])}

    def parts(self) -> list[Part]:
        alike = {**self._nouns, **self.prompts, "temperature": HOW.temperature}
        return [
            Part(axis.name, _part(number), {"number": number, **axis.words, **alike})
            for axis in self._axes
            for number in self._written
        ]

    async def brief(self, document: Document, known: Sequence[Brief], model: Model) -> list[Brief]:
        there = {(brief.axis, brief.part) for brief in known}
        missing = [
            (axis, number)
            for axis in self._axes
            for number in self._written
            if (axis.name, _part(number)) not in there
        ]
        replies: Sequence[Written | Failed] = [Failed("empty source")] * len(missing)
        if document.source.strip():
            prompts = [
                self._pack.render(PARAPHRASE, {}, number=str(n), **axis.words, **self._nouns)
                for axis, n in missing
            ]
            replies = await model.write(prompts, HOW)
        return [
            self._brief(document, axis, number, reply)
            for (axis, number), reply in zip(missing, replies, strict=True)
        ]

    def _brief(self, document: Document, axis: Axis, number: int, reply: Written | Failed) -> Brief:
        known, tokens = (document.doc_id, "", self._kind, axis.name, _part(number)), cost([reply])
        text = _usable(reply.samples[0]) if isinstance(reply, Written) else reply
        if isinstance(text, Failed):
            return Brief(*known, {}, "unscored", text.reason, tokens=tokens)
        return Brief(*known, {"text": text}, tokens=tokens)


def instruction_in(briefs: Iterable[Brief], axis: Axis, number: int) -> str | Failed:
    """Empty for the template's own."""
    if number == OURS:
        return ""
    part = _part(number)
    found = (text_of(brief) for brief in briefs if (brief.axis, brief.part) == (axis.name, part))
    text = next(found, Failed("never written"))
    if isinstance(text, Failed):
        return Failed(f"no instruction {number} on {axis.name}: {text.reason}")
    return text


def number_of(part: str) -> str:
    return part.removeprefix(_part(""))


def _part(number: int | str) -> str:
    return f"instruction-{number}"


def _usable(sample: Sample) -> str | Failed:
    if sample.finish == "length":
        return Failed("the reply was cut at its token limit")
    return sample.text.strip() or Failed("the reply was empty")


@dataclass
class FairnessSums(Summed):
    """Of one instruction on one axis; each comparison counts for both of its texts."""

    comparisons: int = 0
    first: float = 0.0
    """The sum of the probabilities that the first place was preferred, over both orders."""

    @property
    def first_place(self) -> float:
        return round(self.first / (2 * self.comparisons), DIGITS)

    @property
    def fairness(self) -> float:
        """1 if both places are preferred equally, 0 if one is always preferred."""
        return 1 - 2 * abs(self.first_place - 0.5)


def by_instruction(evidence: Mapping[str, Any]) -> ByInstruction:
    """A verdict's evidence by the number of the instruction, where it has any."""
    tried: ByInstruction = evidence.get("instructions", {str(OURS): evidence})
    return {number: one for number, one in tried.items() if "failed" not in one}


def fairness_sums(evidence: Mapping[str, Any]) -> FairnessSums:
    """Of one text's comparisons by one instruction."""
    sums = FairnessSums()
    for one in map(read_comparison, evidence["comparisons"]):
        if one.first is not None and one.second is not None:
            both = preference(one.first) + preference(one.second)
            sums += FairnessSums(1, both)
    return sums


def fairest(sums: Mapping[str, FairnessSums]) -> str | None:
    """The number of the instruction to keep; of equally fair ones the first."""
    known = [number for number, own in sums.items() if own.comparisons]
    return min(known, key=lambda number: (-sums[number].fairness, int(number)), default=None)


@dataclass(frozen=True)
class KeptInstructions:
    """The instruction that is kept on each axis, and what each that was tried came to."""

    tried: Mapping[str, Mapping[str, FairnessSums]]
    scored_by: Callable[[Verdict, str | None], list[Score]]

    @property
    def learnt(self) -> dict[str, Any]:
        return {
            axis: {
                "kept": fairest(sums),
                "first_place": {n: own.first_place for n, own in sums.items() if own.comparisons},
            }
            for axis, sums in sorted(self.tried.items())
        }

    def score(self, verdict: Verdict) -> list[Score]:
        return self.scored_by(verdict, fairest(self.tried.get(verdict.axis, {})))
