"""The evidence as columns of a table; and on one text, for people: its document's
texts from the best on, and how it compared.

rank  system  this text preferred
1     B       0.120 (shown first 0.200, second 0.069)
2.5   A       this text
2.5   C       0.500 (shown first 0.601, second 0.399)
4     D       –
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypedDict

from evaljudge.judges.pairs.contest import ReadPair, read_comparison
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
    other: str
    preference: float
    first: Mapping[str, float] | None
    second: Mapping[str, float] | None


class TriedColumns(TypedDict):
    """One of several instructions; without a rank where it `failed`."""

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
    rows: list[Any] = []
    for kept in evidence:
        row = dict(kept)
        if "comparisons" in kept:
            row["comparisons"] = [
                {**stored, "preference": read_comparison(stored).preference}
                for stored in kept["comparisons"]
            ]
        if "instructions" in kept:
            tried = kept["instructions"].items()
            row["instructions"] = [{**content, "number": number} for number, content in tried]
        rows.append(row)
    return rows


def shown_evidence(judged: JudgedCandidate) -> Section:
    heads = ["rank", "system", "this text preferred"]
    orders = _shown(judged)
    tables = []
    for order in orders:
        rows: list[list[Cell]] = [
            [f"{row['rank']:g}", list(map(Named, row["systems"])), row["figures"] or THIS]
            for row in order["rows"]
        ]
        tables.append(Table(order["title"] or "The order", heads, rows, "lll"))
    return Section("The order", [ABOUT], tables, [order["summary"] for order in orders])


def pictured_evidence(judged: JudgedCandidate) -> View:
    return View(TEMPLATE, _shown(judged))


def _shown(judged: JudgedCandidate) -> list[dict[str, Any]]:
    """Each instruction's order of texts: for each text the systems that wrote it and the preference
    for this text against it (None where they were not compared)."""
    system, kept = judged.verdict.system, judged.verdict.evidence
    orders = []
    for number, evidence in by_instruction(kept).items():
        title = f"Instruction {number}" if "instructions" in kept else ""
        read = {pair.other: pair for pair in map(read_comparison, evidence["comparisons"])}
        rows = []
        for rank, same in zip(evidence["ranks"], evidence["order"], strict=True):
            pair = read.get(same[0])
            figures = _figures(pair) if pair else "" if system in same else NONE
            chance = pair.preference if pair else None
            rows.append({"rank": rank, "systems": same, "preference": chance, "figures": figures})
        rank, n = evidence["rank"], sum(map(len, evidence["order"]))
        summary = (
            f"{f'{title}: rank' if title else 'Rank'} {rank:g} of {n}: the score "
            f"{rank_score(rank, n):.3f} is the share of the other texts that it stands above. Its "
            f"strength by all comparisons is {evidence['strength']:.2f}, where 0 is about the "
            "average."
        )
        orders.append({"title": title, "rows": rows, "summary": summary})
    return orders


def _figures(pair: ReadPair) -> str:
    """The preference for this text; and what it was in each order, where both were asked."""
    if pair.first is None or pair.second is None:
        return correlation(pair.preference)
    first, second = map(correlation, (preference(pair.first), preference(-pair.second)))
    return f"{correlation(pair.preference)} (shown first {first}, second {second})"
