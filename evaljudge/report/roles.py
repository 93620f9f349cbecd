"""What the role-players of a run said, and how far their scores agree with people.

| judge | order | votes | for the candidate | for the reference | without | confidence |
| ----- | ----- | ----: | ----------------: | ----------------: | ------: | ---------: |
| roles | fixed | 1,060 |             60.3% |             39.6% |       3 |      0.742 |

| scorer | axis    |   |Pearson| sample   |       |Pearson| summary        |           n |
| ------ | ------- | -------------------: | -----------------------------: | ----------: |
| roles  | fluency | 0.210 [0.101, 0.334] | 0.052 [0.000, 0.104]† negative | 100 / 1,600 |

The texts themselves are on the page (see role_view.py).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from evaljudge.analysis.findings import AgreementRow, Findings
from evaljudge.report.figures import (
    MOST_REASONS,
    NONE,
    SAMPLED,
    bracketed,
    correlation,
    count,
    ratio,
    sized,
    together,
)
from evaljudge.report.judged import OrderRow, RoleRow
from evaljudge.report.levels import LEVELS, SAMPLED_NOTE
from evaljudge.sections import Section, Table

OTHERS = "other reasons"
"""What none of the most frequent ones is; counts may hold it already."""
ROLES = "What the role-players say"
NEGATIVE = "negative"
SCORERS = ("", ".mean", ".exact", ".plain")
"""What a judge's scorers have behind its name."""
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


def roles(findings: Findings) -> Section:
    rows, people = findings.roles, absolute_pearson(findings)
    told = [
        (SIZES, _sizes(rows)),
        (UNEQUAL, _unequal(rows)),
        (VOTES, _votes(rows)),
        ("", _reasons(rows, *WITHOUT_VOTE, lambda row: row.failed)),
        (BOTH, _both(rows)),
        (READERS, _reasons(rows, *WITHOUT_READERS, lambda row: row.without_readers)),
        ("", _reasons(rows, *NOT_ASKED, lambda row: row.dropped)),
        ("", _reasons(rows, *NOTED, lambda row: row.notes)),
        (ABSOLUTE, people),
    ]
    present = [(note, table) for note, table in told if table.rows]
    notes = [note for note, _ in present if note]
    notes += [PAPER] if people.rows else []
    notes += [f"{SAMPLED} {SAMPLED_NOTE}"] if any(r.sampled for r in _pearson(findings)) else []
    notes += [QUOTED] if any("“…”" in row[1] for _, table in present for row in table.rows) else []
    notes += [TEXTS] if findings.role_views else []
    return Section(ROLES, [], [table for _, table in present], notes)


def absolute_pearson(findings: Findings) -> Table:
    """Of the scorers of these judges; a column for each level."""
    found = {(row.scorer, row.axis, row.level): row for row in _pearson(findings)}
    there = [level for level in LEVELS if any(level == known for _, _, known in found)]
    cells = [
        [scorer, axis, *_at_levels([found.get((scorer, axis, level)) for level in there])]
        for scorer, axis in dict.fromkeys((scorer, axis) for scorer, axis, _ in found)
    ]
    heads = ["scorer", "axis", *(f"|Pearson| {level}" for level in there), "n"]
    title = "Absolute Pearson correlation with people"
    return Table(title, heads, cells, "ll" + "r" * (len(heads) - 2), lead=2)


def _pearson(findings: Findings) -> list[AgreementRow]:
    scorers = {row.judge + which for row in findings.roles for which in SCORERS}
    rows = (row for row in findings.agreement if row.coefficient == "pearson")
    return [row for row in rows if row.scorer in scorers]


def _at_levels(rows: Sequence[AgreementRow | None]) -> list[str]:
    told = [NONE if row is None else _absolute(row) for row in rows]
    return [*told, together(row.n for row in rows if row)]


def _absolute(row: AgreementRow) -> str:
    if row.value is None:
        return NONE
    told = bracketed(abs(row.value), *folded(row.low, row.high), row.sampled)
    return f"{told} {NEGATIVE}" if round(row.value, 3) < 0 else told


def folded(low: float | None, high: float | None) -> tuple[float | None, float | None]:
    """The sizes of all numbers from low to high: (-0.2, 0.1) -> (0.0, 0.2)."""
    if low is None or high is None:
        return None, None
    least, most = sorted((abs(low), abs(high)))
    return (0.0 if low <= 0 <= high else least), most


def _sizes(rows: Sequence[RoleRow]) -> Table:
    heads = ["documents", "candidates", "voted on", "static", "fewest", "most", "dynamic",
             "fewest", "most"]  # fmt: skip
    cells = [
        [
            row.judge,
            *map(count, (row.documents, row.candidates, row.static.of)),
            *sized(row.static),
            *sized(row.dynamic),
        ]
        for row in rows
    ]
    return Table("How many roles", ["judge", *heads], cells, "l" + "r" * len(heads))


def _unequal(rows: Sequence[RoleRow]) -> Table:
    """Of judges whose documents have different numbers of roles."""
    heads = ["documents with roles", "with fewer than the most", "share", "fewest", "most"]
    cells = [
        [
            row.judge,
            *map(count, (row.roles.of, row.fewer)),
            ratio(row.fewer, row.roles.of),
            *sized(row.roles)[1:],
        ]
        for row in rows
        if row.fewer
    ]
    return Table("Where the number of roles differs", ["judge", *heads], cells, "l" + "r" * 5)


def _votes(rows: Sequence[RoleRow]) -> Table:
    heads = ["votes", "for the candidate", "for the reference", "without", "confidence"]
    cells = [[row.judge, one.order, *_shares(one)] for row in rows for one in row.votes]
    return Table("Votes", ["judge", "order", *heads], cells, "ll" + "r" * len(heads), lead=2)


def _shares(row: OrderRow) -> list[str]:
    of = row.candidate + row.reference
    shares = (ratio(row.candidate, of), ratio(row.reference, of))
    return [count(of), *shares, count(row.failed), correlation(row.confidence)]


def _both(rows: Sequence[RoleRow]) -> Table:
    heads = ["votes in both", "differ", "share", "always the first", "always the second"]
    cells = [
        [
            row.judge,
            *(count(row.both), count(row.both_first + row.both_second)),
            ratio(row.both_first + row.both_second, row.both),
            *map(count, (row.both_first, row.both_second)),
        ]
        for row in rows
        if row.both
    ]
    return Table("Where the two orders disagree", ["judge", *heads], cells, "l" + "r" * len(heads))


def _reasons(
    rows: Sequence[RoleRow],
    title: str,
    why: str,
    of: str,
    counted: Callable[[RoleRow], Mapping[str, int]],
) -> Table:
    cells = [[row.judge, *cells] for row in rows for cells in _ranked(counted(row))]
    return Table(title, ["judge", why, of], cells, "llr", lead=2)


def _ranked(reasons: Mapping[str, int]) -> list[list[str]]:
    """The most frequent ones, and how often there was any other."""
    named = [item for item in reasons.items() if item[0] != OTHERS]
    named = sorted(named, key=lambda item: (-item[1], item[0]))[:MOST_REASONS]
    others = sum(reasons.values()) - sum(times for _, times in named)
    return [[reason, count(times)] for reason, times in named] + (
        [[OTHERS, count(others)]] if others else []
    )
