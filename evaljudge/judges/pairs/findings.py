"""How many comparisons ranked a run's texts, and how far they can be trusted.

| judge | axis    | documents | texts | comparisons | n log₂ n |     n² | questions |
| ----- | ------- | --------: | ----: | ----------: | -------: | -----: | --------: |
| pairs | fluency |       100 | 1,600 |       4,731 |    6,400 | 25,600 |     9,462 |
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from math import log2
from operator import attrgetter
from pathlib import Path
from typing import Any, Self

import yaml

from evaljudge.judges.collector import Found, JudgeFindings, SeenShard
from evaljudge.judges.pairs.comparing import read_comparison
from evaljudge.judges.pairs.equations import doubt, preference, worth_of_place
from evaljudge.judges.pairs.instructions import (
    FairnessSums,
    by_document,
    document_fairness,
    fairest,
    number_of,
)
from evaljudge.judges.shared.counting import OfAxis, Summed, add_by_key, share_bar
from evaljudge.sections import Bars, Section, Table
from evaljudge.sections.figures import NONE, correlation, count, percent, ratio

TITLE = "Texts compared with each other"
OWN_WORDS = "the template's own"
NOTES: Mapping[str, str] = yaml.safe_load(Path(__file__).with_name("notes.yaml").read_text("utf-8"))
"""Our sentences under the tables."""


@dataclass
class PairsCounts(Summed):
    """A text is one that has a rank, and texts that are the same count once."""

    documents: int = 0
    texts: int = 0
    comparisons: int = 0
    squares: int = 0
    questions: int = 0
    both: int = 0
    """Comparisons that were asked in both orders."""
    flipped: int = 0
    """Of them, those whose preference was for the same place both times."""
    against: int = 0
    """Comparisons whose preference is against the final order."""


@dataclass
class PairsSums(PairsCounts):
    """The sums of one instruction on one axis."""

    sorting: float = 0.0
    """The sum of n · log2(n) over documents of n texts."""
    place: float = 0.0
    """The sum of the log-odds that standing first was worth, where both orders were asked."""
    entropy: float = 0.0
    fairness: FairnessSums = field(default_factory=FairnessSums)


@dataclass(kw_only=True)
class PairsRow(PairsCounts, OfAxis):
    """What one judge's comparisons on one axis came to; `sorting` and `squares`: the sums of
    n · log2(n) and of n² over documents of n texts."""

    sorting: float
    place: float | None  # how likely the first of two equal texts is preferred
    entropy: float | None  # the mean, in bits
    instruction: str  # its number
    kept: bool  # whether scores are by this instruction
    ranked: int  # texts, each system's own
    fairness: float | None
    first_place: float | None  # the share of answers that decided for the first text
    text: str  # of a paraphrase


class PairsFindings:
    def __init__(self, judge: str) -> None:
        self._judge = judge
        self._sums: dict[tuple[str, str], PairsSums] = {}
        self._texts: dict[tuple[str, str], str] = {}
        """Paraphrases; both by axis and number of the instruction."""

    def see(self, shard: SeenShard) -> None:
        ranked = sorted(shard.verdicts, key=attrgetter("doc_id", "axis"))
        sums: dict[tuple[str, str], PairsSums] = {}
        for axis, number, texts in by_document(ranked):
            add_by_key(sums, {(axis, number): _sums(texts)})
        add_by_key(self._sums, sums)
        if len(sums) > len({axis for axis, _ in sums}):
            for brief in shard.briefs():
                known = brief.axis, number_of(brief.part)
                self._texts[known] = brief.content.get("text", "")

    def __iadd__(self, other: PairsFindings) -> Self:
        add_by_key(self._sums, other._sums)
        self._texts |= other._texts
        return self

    def findings(self, found: Found) -> JudgeFindings:
        rows = [
            row
            for axis in sorted({axis for axis, _ in self._sums})
            for row in self._rows(
                axis, {n: own for (of, n), own in self._sums.items() if of == axis}
            )
        ]
        return JudgeFindings([section(rows)], {"pairs": rows}) if rows else JudgeFindings()

    def _rows(self, axis: str, own: Mapping[str, PairsSums]) -> list[PairsRow]:
        fairness = {number: sums.fairness for number, sums in own.items()}
        kept = fairest(fairness) if len(own) > 1 else next(iter(own))
        return [
            PairsRow(
                self._judge,
                axis,
                **{count.name: getattr(sums, count.name) for count in fields(PairsCounts)},
                sorting=round(sums.sorting, 1),
                place=preference(sums.place / sums.both) if sums.both else None,
                entropy=sums.entropy / sums.comparisons if sums.comparisons else None,
                instruction=number,
                kept=number == kept,
                ranked=sums.fairness.texts,
                fairness=sums.fairness.fairness if sums.fairness.documents else None,
                first_place=sums.fairness.first_place if sums.fairness.documents else None,
                text=self._texts.get((axis, number), ""),
            )
            for number, sums in own.items()
        ]


def _sums(texts: Mapping[str, Mapping[str, Any]]) -> PairsSums:
    """Of one document on one axis, by the system that wrote each text. Each comparison is stored
    with both of its texts, under the first of the systems that wrote each."""
    found = [
        (system, read_comparison(stored))
        for system, evidence in texts.items()
        for stored in evidence["comparisons"]
    ]
    compared = {pair.other for _, pair in found}
    n = max(1, len(compared))
    sums = PairsSums(documents=1, texts=n, sorting=n * log2(n), squares=n**2)
    sums.fairness = document_fairness(texts.values())
    for system, pair in found:
        if system not in compared or system > pair.other:
            continue
        ahead = texts[pair.other]["rank"] - texts[system]["rank"]
        sums.comparisons += 1
        sums.questions += 1
        sums.against += pair.odds * ahead < 0
        sums.entropy += doubt([pair.preference])
        if pair.first is not None and pair.second is not None:
            sums.questions += 1
            sums.both += 1
            sums.flipped += pair.first * pair.second > 0
            sums.place += worth_of_place(pair.first, pair.second)
    return sums


def section(every: Sequence[PairsRow]) -> Section:
    rows = [row for row in every if row.kept]
    tables, flips = [_asked(rows), _trust(rows)], _flips(rows)
    notes = [NOTES["asked"], NOTES["trust"]]
    if len(rows) < len(every):
        tables.append(_tried(every))
        notes.append(NOTES["tried"])
    return Section(TITLE, [NOTES["ranks"]], tables, notes, [flips] if flips.rows else [])


def _tried(rows: Sequence[PairsRow]) -> Table:
    heads = ["instruction", "its words", "texts ranked", "for the first", "fairness"]
    cells = [
        [
            row.judge,
            row.axis,
            f"{row.instruction} (kept)" if row.kept else row.instruction,
            row.text or OWN_WORDS,
            count(row.ranked),
            NONE if row.first_place is None else percent(row.first_place),
            correlation(row.fairness),
        ]
        for row in rows
    ]
    heads = ["judge", "axis", *heads]
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
        share_bar(f"{row.judge} · {row.axis}", row.flipped, row.both) for row in rows if row.both
    ]
    return Bars("Position", "Preferences that go by the place", reading, bars)
