"""The evidence as columns of a table; and on one text, for people: its document's
texts from the best on, and how it compared.

rank  system  this text preferred
1     B       0.120 (shown first 0.200, second 0.069)
2.5   A       this text
2.5   C       0.500 (shown first 0.601, second 0.399)
4     D       –
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypedDict

from evaljudge.judges.pairs.comparing import ReadPair, read_comparison
from evaljudge.judges.pairs.equations import preference, rank_score
from evaljudge.judges.pairs.instructions import by_instruction
from evaljudge.judges.plugin import JudgedCandidate
from evaljudge.sections import Cell, Named, Section, Table, View
from evaljudge.sections.figures import NONE, correlation

TEMPLATE = Path(__file__).with_name("view.html.j2")
ABOUT = (
    "The texts of this document from the best to the worst, and how probable the model finds it "
    "that this text is better than each of them. Not every two texts were compared."
)
THIS = "this text"


class ComparisonColumns(TypedDict):
    """`first` has the answers when the text stood first, `second` when it stood second."""

    other: str
    preference: float
    first: Mapping[str, float] | None
    second: Mapping[str, float] | None


class TriedColumns(TypedDict):
    """Of one of several instructions; without a rank where it `failed`."""

    number: str
    rank: float | None
    strength: float | None
    failed: str | None


class PairsColumns(TypedDict):
    """With several instructions, only `instructions` is there."""

    rank: float | None
    order: list[list[str]] | None
    ranks: list[float] | None
    strength: float | None
    comparisons: list[ComparisonColumns] | None
    instructions: list[TriedColumns] | None


def verdict_columns(evidence: Sequence[Mapping[str, Any]]) -> list[PairsColumns]:
    return [_columns(one) for one in evidence]


def _columns(one: Mapping[str, Any]) -> PairsColumns:
    compared, tried = one.get("comparisons"), one.get("instructions")
    return {
        "rank": one.get("rank"),
        "order": one.get("order"),
        "ranks": one.get("ranks"),
        "strength": one.get("strength"),
        "comparisons": None if compared is None else list(map(_comparison, compared)),
        "instructions": None if tried is None else [_tried(*item) for item in tried.items()],
    }


def _tried(number: str, one: Mapping[str, Any]) -> TriedColumns:
    return {
        "number": number,
        "rank": one.get("rank"),
        "strength": one.get("strength"),
        "failed": one.get("failed"),
    }


def _comparison(stored: Mapping[str, Any]) -> ComparisonColumns:
    return {
        "other": stored["other"],
        "preference": read_comparison(stored).preference,
        "first": stored.get("first"),
        "second": stored.get("second"),
    }


@dataclass(frozen=True, slots=True)
class RankedRow:
    """One text in the order, with all systems that wrote it; texts that tie share their rank."""

    rank: float
    systems: Sequence[str]
    is_this: bool
    preference: float | None
    """For this text, against the one here; None where they were not compared."""
    figures: str


@dataclass(frozen=True, slots=True)
class ShownOrder:
    """`title`: the instruction, where several were tried."""

    title: str
    rows: Sequence[RankedRow]
    summary: str


def shown_evidence(judged: JudgedCandidate) -> Section:
    orders = _shown(judged)
    heads = ["rank", "system", "this text preferred"]
    tables = [
        Table(order.title or "The order", heads, [_row(row) for row in order.rows], "lll")
        for order in orders
    ]
    return Section("The order", [ABOUT], tables, [order.summary for order in orders])


def _row(row: RankedRow) -> list[Cell]:
    systems = [Named(system) for system in row.systems]
    return [f"{row.rank:g}", systems, THIS if row.is_this else row.figures]


def pictured_evidence(judged: JudgedCandidate) -> View:
    return View(TEMPLATE, _shown(judged))


def _shown(judged: JudgedCandidate) -> list[ShownOrder]:
    system, found = judged.verdict.system, by_instruction(judged.verdict.evidence)
    is_one = "instructions" not in judged.verdict.evidence
    return [
        _order(system, evidence, "" if is_one else f"Instruction {number}")
        for number, evidence in found.items()
    ]


def _order(system: str, evidence: Mapping[str, Any], title: str) -> ShownOrder:
    read = {one.other: one for one in map(read_comparison, evidence["comparisons"])}
    rows = [
        _order_row(rank, same, system, read.get(same[0]))
        for rank, same in zip(evidence["ranks"], evidence["order"], strict=True)
    ]
    rank, of = evidence["rank"], sum(map(len, evidence["order"]))
    by = f"{title}: rank" if title else "Rank"
    share, strength = rank_score(rank, of), evidence["strength"]
    summary = (
        f"{by} {rank:g} of {of}: the score {share:.3f} is the share of the other texts that it "
        f"stands above. Its strength by all comparisons is {strength:.2f}, where 0 is about the "
        "average."
    )
    return ShownOrder(title, rows, summary)


def _order_row(rank: float, systems: Sequence[str], system: str, one: ReadPair | None) -> RankedRow:
    if one is None:
        return RankedRow(rank, systems, system in systems, None, NONE)
    return RankedRow(rank, systems, False, one.preference, _figures(one))


def _figures(one: ReadPair) -> str:
    """The preference for this text; and what it was in each order, where both were asked."""
    if one.first is None or one.second is None:
        return correlation(one.preference)
    first, second = map(correlation, (preference(one.first), preference(-one.second)))
    return f"{correlation(one.preference)} (shown first {first}, second {second})"
