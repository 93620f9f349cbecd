"""How many comparisons ranked a run's texts, and how far they can be trusted.

| judge | axis    | documents | texts | comparisons | n log₂ n |     n² | questions |
| ----- | ------- | --------: | ----: | ----------: | -------: | -----: | --------: |
| pairs | fluency |       100 | 1,600 |       4,731 |    6,400 | 25,600 |     9,462 |
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from math import log2
from operator import attrgetter
from pathlib import Path
from typing import Any, Self

import yaml

from evaljudge.judges.collector import Found, JudgeFindings, SeenShard
from evaljudge.judges.pairs.comparing import ReadPair, read_comparison
from evaljudge.judges.pairs.equations import doubt, preference, worth_of_place
from evaljudge.judges.pairs.instructions import (
    FairnessSums,
    by_instruction,
    document_fairness,
    fairest,
    number_of,
)
from evaljudge.judges.shared.counting import Summed, add_by_key, wilson
from evaljudge.sections import BarRow, Bars, Section, Table
from evaljudge.sections.figures import NONE, correlation, count, percent, ratio

TITLE = "Texts compared with each other"
OWN_WORDS = "the template's own"
NOTES: Mapping[str, str] = yaml.safe_load(Path(__file__).with_name("notes.yaml").read_text("utf-8"))
"""Our sentences under the tables."""


@dataclass
class PairsSums(Summed):
    """Of one axis; a text is one that has a rank, and texts that are the same count once."""

    documents: int = 0
    texts: int = 0
    comparisons: int = 0
    sorting: float = 0.0
    """The sum of n · log2(n) over documents of n texts."""
    squares: int = 0
    questions: int = 0
    both: int = 0
    """Comparisons that were asked in both orders."""
    flipped: int = 0
    """Of them, those whose preference was for the same place both times."""
    place: float = 0.0
    """Of them, the sum of the log-odds that standing first was worth."""
    against: int = 0
    """Comparisons whose preference is against the final order."""
    entropy: float = 0.0
    fairness: FairnessSums = field(default_factory=FairnessSums)


@dataclass(frozen=True, slots=True)
class PairsRow:
    """What one judge's comparisons on one axis came to; `sorting` and `squares`: the sums of
    n · log2(n) and of n² over documents of n texts."""

    judge: str
    axis: str
    documents: int
    texts: int
    comparisons: int
    sorting: float
    squares: int
    questions: int
    both: int
    flipped: int
    place: float | None  # how likely the first of two equal texts is preferred
    against: int
    entropy: float | None  # the mean, in bits
    instruction: str = "0"  # its number
    kept: bool = True  # whether scores are by this instruction
    ranked: int = 0  # texts, each system's own
    fairness: float | None = None
    first_place: float | None = None  # the share of answers that decided for the first text
    text: str = ""  # of a paraphrase


Sums = dict[str, dict[str, PairsSums]]
"""By axis and number of the instruction."""


class PairsFindings:
    def __init__(self, judge: str) -> None:
        self._judge = judge
        self._sums: Sums = {}
        self._texts: dict[tuple[str, str], str] = {}
        """Paraphrases, by axis and number."""

    def see(self, shard: SeenShard) -> None:
        ranked = sorted((one for one in shard.verdicts if one.status == "ok"), key=_whose)
        sums: Sums = {}
        for (_, axis), own in groupby(ranked, _whose):
            texts: dict[str, dict[str, Mapping[str, Any]]] = {}
            for verdict in own:
                for number, evidence in by_instruction(verdict.evidence).items():
                    texts.setdefault(number, {})[verdict.system] = evidence
            found = {number: _sums(one) for number, one in texts.items()}
            add_by_key(sums.setdefault(axis, {}), found)
        self._add(sums)
        if any(len(own) > 1 for own in sums.values()):
            for brief in shard.briefs():
                known = brief.axis, number_of(brief.part)
                self._texts[known] = brief.content.get("text", "")

    def _add(self, sums: Sums) -> None:
        for axis, own in sums.items():
            add_by_key(self._sums.setdefault(axis, {}), own)

    def __iadd__(self, other: PairsFindings) -> Self:
        self._add(other._sums)
        self._texts |= other._texts
        return self

    def findings(self, found: Found) -> JudgeFindings:
        rows = [row for axis, own in sorted(self._sums.items()) for row in self._rows(axis, own)]
        return JudgeFindings([section(rows)], {"pairs": rows}) if rows else JudgeFindings()

    def _rows(self, axis: str, own: Mapping[str, PairsSums]) -> list[PairsRow]:
        fairness = {number: sums.fairness for number, sums in own.items()}
        kept = fairest(fairness) if len(own) > 1 else next(iter(own))
        return [
            replace(
                _row(self._judge, axis, sums),
                instruction=number,
                kept=number == kept,
                ranked=fair.texts,
                fairness=fair.fairness if fair.documents else None,
                first_place=fair.first_place if fair.documents else None,
                text=self._texts.get((axis, number), ""),
            )
            for number, sums in own.items()
            for fair in [sums.fairness]
        ]


_whose = attrgetter("doc_id", "axis")


def _sums(texts: Mapping[str, Mapping[str, Any]]) -> PairsSums:
    """Of one document on one axis, by the system that wrote each text. Each comparison is stored
    with both of its texts, under the first of the systems that wrote each."""
    found = [
        (system, read_comparison(stored))
        for system, evidence in texts.items()
        for stored in evidence["comparisons"]
    ]
    compared = {one.other for _, one in found}
    n = max(1, len(compared))
    sums = PairsSums(documents=1, texts=n, sorting=n * log2(n), squares=n**2)
    sums.fairness = document_fairness(list(texts.values()))
    for system, one in found:
        if system in compared and system < one.other:
            sums += _comparison_sums(one, texts[one.other]["rank"] - texts[system]["rank"])
    return sums


def _comparison_sums(one: ReadPair, ahead: float) -> PairsSums:
    """`ahead`: by how many ranks the text is better than the other."""
    sums = PairsSums(comparisons=1, questions=1, against=one.odds * ahead < 0)
    sums.entropy = doubt([one.preference])
    if one.first is not None and one.second is not None:
        sums.questions = 2
        sums.both, sums.flipped = 1, one.first * one.second > 0
        sums.place = worth_of_place(one.first, one.second)
    return sums


def _row(judge: str, axis: str, sums: PairsSums) -> PairsRow:
    return PairsRow(
        judge, axis, sums.documents, sums.texts, sums.comparisons, round(sums.sorting, 1),
        sums.squares, sums.questions, sums.both, sums.flipped,
        preference(sums.place / sums.both) if sums.both else None, sums.against,
        sums.entropy / sums.comparisons if sums.comparisons else None,
    )  # fmt: skip


def section(every: Sequence[PairsRow]) -> Section:
    rows = [row for row in every if row.kept]
    tables, flips = [_asked(rows), _trust(rows)], _flips(rows)
    notes = [NOTES["asked"], NOTES["trust"]]
    if len(rows) < len(every):
        tables.append(_tried(every))
        notes.append(NOTES["tried"])
    return Section(TITLE, [NOTES["ranks"]], tables, notes, [flips] if flips.rows else [])


def _tried(rows: Sequence[PairsRow]) -> Table:
    heads = [
        "judge",
        "axis",
        "instruction",
        "its words",
        "texts ranked",
        "for the first",
        "fairness",
    ]
    cells = []
    for row in rows:
        number = f"{row.instruction} (kept)" if row.kept else row.instruction
        first = NONE if row.first_place is None else percent(row.first_place)
        cells.append([row.judge, row.axis, number, row.text or OWN_WORDS, count(row.ranked),
                      first, correlation(row.fairness)])  # fmt: skip
    return Table("Instructions that were tried", heads, cells, "llllrrr", lead=3)


def _asked(rows: Sequence[PairsRow]) -> Table:
    heads = ["documents", "texts", "comparisons", "n log₂ n", "n²", "questions"]
    cells = [
        [row.judge, row.axis, *map(count, (row.documents, row.texts, row.comparisons,
                                           round(row.sorting), row.squares, row.questions))]
        for row in rows
    ]  # fmt: skip
    title = "How many comparisons ranked the texts"
    return Table(title, ["judge", "axis", *heads], cells, "ll" + "r" * len(heads), lead=2)


def _trust(rows: Sequence[PairsRow]) -> Table:
    heads = ["entropy", "against the order", "in both orders", "flipped", "first place"]
    cells = [
        [
            row.judge,
            row.axis,
            NONE if row.entropy is None else f"{row.entropy:.2f}",
            ratio(row.against, row.comparisons),
            count(row.both),
            ratio(row.flipped, row.both),
            correlation(row.place),
        ]
        for row in rows
    ]
    title = "How far the comparisons can be trusted"
    return Table(title, ["judge", "axis", *heads], cells, "ll" + "r" * len(heads), lead=2)


def _flips(rows: Sequence[PairsRow]) -> Bars:
    reading = (
        "Share of comparisons, asked in both orders, that prefer the same place both times. Short "
        "is good. The line is Wilson's 95% interval, too narrow where comparisons of a document "
        "are alike."
    )
    bars = [
        BarRow(
            f"{row.judge} · {row.axis}",
            row.flipped / row.both,
            f"{percent(row.flipped / row.both)} of {count(row.both)}",
            *wilson(row.flipped / row.both, row.both),
        )
        for row in rows
        if row.both
    ]
    return Bars("Position", "Preferences that go by the place", reading, bars)
