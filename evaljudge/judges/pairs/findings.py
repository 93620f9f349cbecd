"""How many comparisons ranked a run's texts, and how far they can be trusted.

| judge | axis    | documents | texts | comparisons | n log₂ n |     n² | questions |
| ----- | ------- | --------: | ----: | ----------: | -------: | -----: | --------: |
| pairs | fluency |       100 | 1,600 |       4,731 |    6,400 | 25,600 |     9,462 |
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import log2
from operator import attrgetter
from typing import Any

from evaljudge.judges.collector import Found, JudgeFindings, SeenShard
from evaljudge.judges.pairs.contest import read_comparison
from evaljudge.judges.pairs.equations import doubt, preference
from evaljudge.judges.pairs.instructions import (
    by_document,
    document_fairness,
    fairest,
    fairness,
    first_place,
    number_of,
)
from evaljudge.judges.shared.counting import Sums, add, share_bar, table
from evaljudge.sections import Bars, Section
from evaljudge.sections.figures import NONE, percent, ratio
from evaljudge.settings import yaml_beside

TITLE = "Texts compared with each other"
NOTES: Mapping[str, str] = yaml_beside(__file__, "notes.yaml")
COUNTS = ("documents", "texts", "comparisons", "squares", "questions", "both", "flipped", "against")


@dataclass(kw_only=True)
class PairsRow:
    """What one judge's comparisons on one axis came to, by one instruction. A text is one that has
    a rank, and texts that are the same count once."""

    judge: str
    axis: str
    documents: int
    texts: int
    comparisons: int
    squares: int  # the sum of n² over documents of n texts
    questions: int
    both: int  # comparisons that were asked in both orders
    flipped: int  # of them, those whose preference was for the same place both times
    against: int  # comparisons whose preference is against the final order
    sorting: float  # the sum of n · log2(n) over documents of n texts
    place: float | None  # how likely the first of two equal texts is preferred
    entropy: float | None  # the mean, in bits
    instruction: str  # its number
    kept: bool  # whether scores are by this instruction
    ranked: int  # texts, each system's own
    fairness: float | None
    first_place: float | None  # the share of answers that decided for the first text
    text: str  # of a paraphrase


def counted(shard: SeenShard) -> Sums:
    """The sums of one shard for each axis and number of an instruction."""
    sums: Sums = {}
    for axis, number, texts in by_document(
        sorted(shard.verdicts, key=attrgetter("doc_id", "axis"))
    ):
        add(sums, {axis: {number: _document_sums(texts)}})
    if any(len(tried) > 1 for tried in sums.values()):
        for brief in shard.briefs():
            if row := sums.get(brief.axis, {}).get(number_of(brief.part)):
                row["words"].update([brief.content.get("text", "")])
    return sums


def _document_sums(texts: Mapping[str, Mapping[str, Any]]) -> Sums:
    """Sums of one document on one axis; `texts`: by the system that wrote each. Each comparison is
    stored with both of its texts, under the first of the systems that wrote each."""
    pairs = [
        (system, read_comparison(stored))
        for system, evidence in texts.items()
        for stored in evidence["comparisons"]
    ]
    compared = {pair.other for _, pair in pairs}
    n = max(1, len(compared))
    sums: Sums = dict.fromkeys((*COUNTS, "place", "entropy"), 0)
    sums |= {"documents": 1, "texts": n, "sorting": n * log2(n), "squares": n**2}
    sums |= document_fairness(texts.values()) | {"words": Counter()}
    for system, pair in pairs:
        if system not in compared or system > pair.other:
            continue
        ahead = texts[pair.other]["rank"] - texts[system]["rank"]
        sums["comparisons"] += 1
        sums["questions"] += 1
        sums["against"] += pair.odds * ahead < 0
        sums["entropy"] += doubt([pair.preference])
        if pair.first is not None and pair.second is not None:
            sums["questions"] += 1
            sums["both"] += 1
            sums["flipped"] += pair.first * pair.second > 0
            sums["place"] += pair.worth_of_place
    return sums


def report(judge: str, sums: Sums, found: Found) -> JudgeFindings:
    rows = [row for axis in sorted(sums) for row in _rows(judge, axis, sums[axis])]
    return JudgeFindings([section(rows)], {"pairs": rows}) if rows else JudgeFindings()


def _rows(judge: str, axis: str, tried: Mapping[str, Sums]) -> list[PairsRow]:
    kept = fairest(tried) if len(tried) > 1 else next(iter(tried))
    return [
        PairsRow(
            judge=judge,
            axis=axis,
            **{name: row[name] for name in COUNTS},
            sorting=round(row["sorting"], 1),
            place=preference(row["place"] / row["both"]) if row["both"] else None,
            entropy=row["entropy"] / row["comparisons"] if row["comparisons"] else None,
            instruction=number,
            kept=number == kept,
            ranked=row["ranked"],
            fairness=fairness(row),
            first_place=first_place(row),
            text=next(filter(None, row["words"]), ""),
        )
        for number, row in tried.items()
    ]


def section(every: Sequence[PairsRow]) -> Section:
    rows = [row for row in every if row.kept]
    tables = [
        table(
            "How many comparisons ranked the texts", rows, "judge", "axis", "documents", "texts",
            "comparisons", ("n log₂ n", lambda row: round(row.sorting)), ("n²", "squares"),
            "questions",
        ),
        table(
            "How far the comparisons can be trusted", rows, "judge", "axis",
            ("entropy", lambda row: NONE if row.entropy is None else f"{row.entropy:.2f}"),
            ("against the order", lambda row: ratio(row.against, row.comparisons)),
            ("in both orders", "both"), ("flipped", lambda row: ratio(row.flipped, row.both)),
            ("first place", "place"),
        ),
    ]  # fmt: skip
    notes = [NOTES["asked"], NOTES["trust"]]
    if len(rows) < len(every):
        tried = table(
            "Instructions that were tried", every, "judge", "axis",
            ("instruction", lambda row: f"{row.instruction}{' (kept)' if row.kept else ''}"),
            ("its words", lambda row: row.text or "the template's own"), ("texts ranked", "ranked"),
            ("for the first",
             lambda row: NONE if row.first_place is None else percent(row.first_place)),
            "fairness", words=4, lead=3,
        )  # fmt: skip
        tables.append(tried)
        notes.append(NOTES["tried"])
    bars = [
        share_bar(f"{row.judge} · {row.axis}", row.flipped, row.both) for row in rows if row.both
    ]
    flips = Bars("Position", "Preferences that go by the place", NOTES["flips"], bars)
    return Section(TITLE, [NOTES["ranks"]], tables, notes, [flips] if bars else [])
