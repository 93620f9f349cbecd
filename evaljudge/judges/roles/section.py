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
SIZES = (
    "Voted on: candidates that roles were asked about; of those the median, the fewest and the "
    "most roles. Static roles are the task's own; dynamic ones are readers that the model invented "
    "for the document."
)
VOTES = (
    "Fixed: the reference is the first text and the candidate the second; swapped: the other way "
    "round. Shares are of the votes. Without: roles whose vote could not be had; the score of the "
    "others is scaled up to all roles. Confidence: the mean of what votes have; a vote's is e to "
    "the mean log-probability of the words that the role said."
)
BOTH = (
    "Of roles that voted on a candidate in both orders: how many chose another text when the two "
    "were exchanged, and which place they chose both times. Such a vote went by the place and not "
    "by the text; near 0% is good."
)
UNEQUAL = (
    "Sums of votes over different numbers of roles have different maxima: a document with fewer "
    "roles cannot score as high. Compare candidates of different documents by the judge's .mean, "
    "the mean over roles."
)
READERS = "Where many documents have no readers, static roles alone decide."
QUOTED = "“…” stands for words of a reply or a role, which differ from one to the next."
ABSOLUTE = (
    "The size of Pearson's correlation without its sign, as the paper on role-players reports it; "
    "negative: the correlation is below 0, so that the scorer orders against people. Its "
    "interval loses the sign with it: one that holds 0 begins at 0. A size is never below 0, so "
    "that of scores that mean nothing is above 0 too."
)
PAPER = (
    "The paper does not name its level, and its candidates of SummEval are each document's two "
    "best and two worst summaries, which raises a correlation: its figures are of other pairs."
)
TEXTS = "Single texts with every role's vote and reason stand at the end of index.html."

WITHOUT_VOTE = ("Without a vote", "why without a vote", "votes")
WITHOUT_READERS = ("Documents without readers", "why without readers", "documents")
NOT_ASKED = ("Roles that were not asked", "why not asked", "roles")
NOTED = ("Noted of documents", "noted", "documents")
"""Of tables of reasons: the title, and the heads that tell them apart where no title is shown."""


@dataclass(frozen=True, slots=True)
class OrderRow:
    """All roles' votes with the texts in one order; `failed` ones chose neither."""

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
        (SIZES, _sizes(row)),
        (UNEQUAL, _unequal(row)),
        (VOTES, _votes(row)),
        ("", _reasons(row.judge, *WITHOUT_VOTE, row.failed)),
        (BOTH, _both(row)),
        (READERS, _reasons(row.judge, *WITHOUT_READERS, row.without_readers)),
        ("", _reasons(row.judge, *NOT_ASKED, row.dropped)),
        ("", _reasons(row.judge, *NOTED, row.notes)),
        (ABSOLUTE, people),
    ]
    present = [(note, table) for note, table in parts if table.rows]
    notes = [note for note, _ in present if note]
    notes += [PAPER] if people.rows else []
    notes += [f"{SAMPLED} {SAMPLED_NOTE}"] if any(one.sampled for one in pearson) else []
    notes += [QUOTED] if any("“…”" in r[1] for _, table in present for r in table.rows) else []
    notes += [TEXTS] if with_texts else []
    return Section(ROLES, [], [table for _, table in present], notes)


def absolute_pearson(rows: Sequence[AgreementRow]) -> Table:
    """A row for each scorer and axis, a column for each level."""
    found = {(row.scorer, row.axis, row.level): row for row in rows}
    there = [level for level in LEVELS if any(level == known for _, _, known in found)]
    cells = [
        [scorer, axis, *_at_levels([found.get((scorer, axis, level)) for level in there])]
        for scorer, axis in dict.fromkeys((scorer, axis) for scorer, axis, _ in found)
    ]
    heads = ["scorer", "axis", *(f"|Pearson| {level}" for level in there), "n"]
    title = "Absolute Pearson correlation with people"
    return Table(title, heads, cells, "ll" + "r" * (len(heads) - 2), lead=2)


def _at_levels(rows: Sequence[AgreementRow | None]) -> list[str]:
    values = [NONE if row is None else _absolute(row) for row in rows]
    return [*values, together(row.n for row in rows if row)]


def _absolute(row: AgreementRow) -> str:
    if row.value is None:
        return NONE
    size = bracketed(abs(row.value), *folded(row.low, row.high), row.sampled)
    return f"{size} {NEGATIVE}" if round(row.value, 3) < 0 else size


def folded(low: float | None, high: float | None) -> tuple[float | None, float | None]:
    """The sizes of all numbers from low to high: (-0.2, 0.1) -> (0.0, 0.2)."""
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
    cells = [[row.judge, one.order, *_shares(one)] for one in row.votes]
    return Table("Votes", ["judge", "order", *heads], cells, "ll" + "r" * len(heads), lead=2)


def _shares(row: OrderRow) -> list[str]:
    of = row.candidate + row.reference
    shares = (ratio(row.candidate, of), ratio(row.reference, of))
    return [count(of), *shares, count(row.failed), correlation(row.confidence)]


def _both(row: RoleRow) -> Table:
    heads = ["votes in both", "differ", "share", "always the first", "always the second"]
    differ = row.both_first + row.both_second
    counts = [count(row.both), count(differ), ratio(differ, row.both)]
    cells = [row.judge, *counts, count(row.both_first), count(row.both_second)]
    rows = [cells] if row.both else []
    return Table("Where the two orders disagree", ["judge", *heads], rows, "l" + "r" * len(heads))


def _reasons(judge: str, title: str, why: str, of: str, counted: Mapping[str, int]) -> Table:
    cells = [[judge, *cells] for cells in _ranked(counted)]
    return Table(title, ["judge", why, of], cells, "llr", lead=2)


def _ranked(reasons: Mapping[str, int]) -> list[list[str]]:
    """The most frequent ones, and how often there was any other."""
    named = [item for item in reasons.items() if item[0] != OTHERS]
    named = sorted(named, key=lambda item: (-item[1], item[0]))[:MOST_REASONS]
    others = sum(reasons.values()) - sum(times for _, times in named)
    return [[reason, count(times)] for reason, times in named] + (
        [[OTHERS, count(others)]] if others else []
    )
