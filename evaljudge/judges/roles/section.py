"""What the role-players of a run said, and how far their scores agree with people.

| judge | order | votes | for the candidate | for the reference | without | confidence |
| ----- | ----- | ----: | ----------------: | ----------------: | ------: | ---------: |
| roles | fixed | 1,060 |             60.3% |             39.6% |       3 |      0.742 |

| scorer | axis    |   |Pearson| sample   |       |Pearson| summary        |           n |
| ------ | ------- | -------------------: | -----------------------------: | ----------: |
| roles  | fluency | 0.210 [0.101, 0.334] | 0.052 [0.000, 0.104]† negative | 100 / 1,600 |

The texts themselves are on the page (see view.py).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml

from evaljudge.agreement import LEVELS
from evaljudge.agreement.rated import AgreementRow
from evaljudge.judges.shared.counting import OTHERS, Sizes, sized
from evaljudge.sections import Section, Table
from evaljudge.sections.figures import (
    NONE,
    SAMPLED,
    SAMPLED_NOTE,
    bracketed,
    correlation,
    count,
    ratio,
    together,
)

MOST_REASONS = 5
ROLES = "What the role-players say"
NEGATIVE = "negative"
NOTES: Mapping[str, str] = yaml.safe_load(Path(__file__).with_name("notes.yaml").read_text("utf-8"))
"""Our sentences under the tables."""


@dataclass(frozen=True, slots=True)
class OrderRow:
    """All roles' votes with the texts in one order; `failed`: votes for neither."""

    order: str
    candidate: int
    reference: int
    failed: int
    confidence: float | None  # the mean over votes


@dataclass(frozen=True, slots=True)
class RoleRow:
    """What one judge of role-players found in the whole run."""

    judge: str
    candidates: int
    documents: int
    static: Sizes  # roles of a candidate, of those that have any
    dynamic: Sizes
    votes: Sequence[OrderRow]
    failed: Mapping[str, int]  # votes, by the reason
    both: int  # roles with a vote on a candidate in both orders
    both_first: int  # of them, those that chose the first text both times
    both_second: int
    without_readers: Mapping[str, int]  # documents, by the reason
    dropped: Mapping[str, int]  # roles of documents, by the reason
    notes: Mapping[str, int]  # documents
    roles: Sizes  # of a document, static and dynamic, of those that have any
    fewer: int  # documents that have fewer roles than those with the most


def roles(row: RoleRow, agreement: Sequence[AgreementRow], with_texts: bool) -> Section:
    """`agreement`: of this judge's scorers."""
    pearson = [one for one in agreement if one.coefficient == "pearson"]
    people = absolute_pearson(pearson)
    parts = [
        ("sizes", _sizes(row)),
        ("unequal", _unequal(row)),
        ("votes", _votes(row)),
        ("", _reasons(row.judge, "Without a vote", "why without a vote", "votes", row.failed)),
        ("both", _both(row)),
        ("readers", _reasons(row.judge, "Documents without readers", "why without readers",
                             "documents", row.without_readers)),
        ("", _reasons(row.judge, "Roles that were not asked", "why not asked", "roles",
                      row.dropped)),
        ("", _reasons(row.judge, "Noted of documents", "noted", "documents", row.notes)),
        ("absolute", people),
    ]  # fmt: skip
    present = [(note, table) for note, table in parts if table.rows]
    notes = [NOTES[note] for note, _ in present if note]
    notes += [NOTES["paper"]] if people.rows else []
    notes += [f"{SAMPLED} {SAMPLED_NOTE}"] if any(one.sampled for one in pearson) else []
    is_quoted = any("“…”" in cells[1] for _, table in present for cells in table.rows)
    notes += [NOTES["quoted"]] if is_quoted else []
    notes += [NOTES["texts"]] if with_texts else []
    return Section(ROLES, [], [table for _, table in present], notes)


def absolute_pearson(rows: Sequence[AgreementRow]) -> Table:
    """A row for each scorer and axis, a column for each level."""
    found = {(row.scorer, row.axis, row.level): row for row in rows}
    there = [level for level in LEVELS if any(level == known for _, _, known in found)]
    cells = []
    for of in dict.fromkeys((scorer, axis) for scorer, axis, _ in found):
        at_levels = [found.get((*of, level)) for level in there]
        cells.append([*of, *map(_absolute, at_levels), together(row.n for row in at_levels if row)])
    heads = ["scorer", "axis", *(f"|Pearson| {level}" for level in there), "n"]
    title = "Absolute Pearson correlation with people"
    return Table(title, heads, cells, "ll" + "r" * (len(heads) - 2), lead=2)


def _absolute(row: AgreementRow | None) -> str:
    if row is None or row.value is None:
        return NONE
    size = bracketed(abs(row.value), *folded(row.low, row.high), row.sampled)
    return f"{size} {NEGATIVE}" if round(row.value, 3) < 0 else size


def folded(low: float | None, high: float | None) -> tuple[float | None, float | None]:
    """The interval of the absolute values: (-0.2, 0.1) -> (0.0, 0.2)."""
    if low is None or high is None:
        return None, None
    least, most = sorted((abs(low), abs(high)))
    return (0.0 if low <= 0 <= high else least), most


def _sizes(row: RoleRow) -> Table:
    heads = ["documents", "candidates", "voted on", "static", "fewest", "most", "dynamic",
             "fewest", "most"]  # fmt: skip
    counts = map(count, (row.documents, row.candidates, row.static.of))
    cells = [row.judge, *counts, *sized(row.static), *sized(row.dynamic)]
    return Table("How many roles", ["judge", *heads], [cells], "l" + "r" * len(heads))


def _unequal(row: RoleRow) -> Table:
    """Where the judge's documents have different numbers of roles."""
    heads = ["documents with roles", "with fewer than the most", "share", "fewest", "most"]
    counts = map(count, (row.roles.of, row.fewer))
    cells = [row.judge, *counts, ratio(row.fewer, row.roles.of), *sized(row.roles)[1:]]
    rows = [cells] if row.fewer else []
    return Table("Where the number of roles differs", ["judge", *heads], rows, "l" + "r" * 5)


def _votes(row: RoleRow) -> Table:
    heads = ["votes", "for the candidate", "for the reference", "without", "confidence"]
    cells = []
    for one in row.votes:
        of = one.candidate + one.reference
        shares = (ratio(one.candidate, of), ratio(one.reference, of))
        more = (count(one.failed), correlation(one.confidence))
        cells.append([row.judge, one.order, count(of), *shares, *more])
    return Table("Votes", ["judge", "order", *heads], cells, "ll" + "r" * len(heads), lead=2)


def _both(row: RoleRow) -> Table:
    heads = ["votes in both", "differ", "share", "always the first", "always the second"]
    differ = row.both_first + row.both_second
    counts = [count(row.both), count(differ), ratio(differ, row.both)]
    cells = [row.judge, *counts, count(row.both_first), count(row.both_second)]
    rows = [cells] if row.both else []
    return Table("Where the two orders disagree", ["judge", *heads], rows, "l" + "r" * len(heads))


def _reasons(judge: str, title: str, why: str, of: str, counted: Mapping[str, int]) -> Table:
    """The most frequent reasons, and how often there was any other."""
    named = [item for item in counted.items() if item[0] != OTHERS]
    named = sorted(named, key=lambda item: (-item[1], item[0]))[:MOST_REASONS]
    others = sum(counted.values()) - sum(times for _, times in named)
    named += [(OTHERS, others)] if others else []
    cells = [[judge, reason, count(times)] for reason, times in named]
    return Table(title, ["judge", why, of], cells, "llr", lead=2)
