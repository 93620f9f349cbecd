"""What the role-players of a run said: counts of each shard, their sum, and the report.

    role_row("roles", shard_sums(verdicts))
    ->  RoleRow("roles", candidates=160, static=Sizes(158, 3.0, 3, 3),
                votes=[OrderRow("fixed", candidate=640, reference=420, failed=3, …)], …)

| judge | order | votes | for the candidate | for the reference | without | confidence |
| ----- | ----- | ----: | ----------------: | ----------------: | ------: | ---------: |
| roles | fixed | 1,060 |             60.3% |             39.6% |       3 |      0.742 |

| scorer | axis    |   |Pearson| sample   |       |Pearson| summary        |           n |
| ------ | ------- | -------------------: | -----------------------------: | ----------: |
| roles  | fluency | 0.210 [0.101, 0.334] | 0.052 [0.000, 0.104]† negative | 100 / 1,600 |

A document's readers, dropped roles and notes count once, whatever its number of candidates. Where a
run was extended, a document that got new candidates is in two shards, and counts twice.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Self

import yaml

from evaljudge.agreement import LEVELS, Agreement
from evaljudge.judges.collector import Found, JudgeFindings, SeenShard
from evaljudge.judges.roles.evidence import ORDERS, Choice, Order, read_polled
from evaljudge.judges.shared.counting import OTHERS, Reasons, Sizes, Summed, share_bar, sized, sizes
from evaljudge.records import Verdict
from evaljudge.sections import Bars, Section, Table
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


def roles(row: RoleRow, agreement: Sequence[Agreement]) -> Section:
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
    return Section(ROLES, [], [table for _, table in present], notes, _by_place(row))


def _by_place(row: RoleRow) -> list[Bars]:
    if not row.both:
        return []
    reading = (
        "Share of votes, asked in both orders, that went by the place and not by the text. Short "
        "is good. The line is Wilson's 95% interval, too narrow where roles vote alike."
    )
    bar = share_bar(row.judge, row.both_first + row.both_second, row.both)
    return [Bars("Position", "Votes that go by the place", reading, [bar])]


def absolute_pearson(rows: Sequence[Agreement]) -> Table:
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


def _absolute(row: Agreement | None) -> str:
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


class RoleFindings:
    """Counts of the votes."""

    def __init__(self, judge: str, scorers: tuple[str, ...]) -> None:
        self._judge, self._scorers = judge, scorers
        self._sums = RoleSums()

    def see(self, shard: SeenShard) -> None:
        self._sums += shard_sums(shard.verdicts)

    def __iadd__(self, other: RoleFindings) -> Self:
        self._sums += other._sums
        return self

    def findings(self, found: Found) -> JudgeFindings:
        row = role_row(self._judge, self._sums)
        own = [one for one in found.agreement if one.scorer in self._scorers]
        return JudgeFindings([roles(row, own)], {"roles": [row]})


@dataclass
class RoleSums(Summed):
    candidates: int = 0
    documents: int = 0
    static: Counter[int] = field(default_factory=Counter)
    """The number of candidates with so many static roles."""
    dynamic: Counter[int] = field(default_factory=Counter)
    votes: Counter[tuple[Order, Choice | None]] = field(default_factory=Counter)
    confidence: Counter[Order] = field(default_factory=Counter)
    """The sum over the votes that have one."""
    confident: Counter[Order] = field(default_factory=Counter)
    failed: Reasons = field(default_factory=Reasons)
    choices: Counter[tuple[Choice, ...]] = field(default_factory=Counter)
    """What a role chose in both orders, where it voted in both."""
    without_readers: Reasons = field(default_factory=Reasons)
    dropped: Reasons = field(default_factory=Reasons)
    notes: Reasons = field(default_factory=Reasons)
    roles: Counter[int] = field(default_factory=Counter)
    """The number of documents with so many roles."""


def shard_sums(verdicts: Iterable[Verdict]) -> RoleSums:
    """Verdicts of one document follow each other, as they are stored.

    All candidates of a document have its roles, except those that were not judged at all.
    """
    sums = RoleSums()
    for _, own in groupby(verdicts, lambda verdict: verdict.doc_id):
        told = [(verdict.reason, read_polled(verdict.evidence)) for verdict in own]
        reason, one = next((known for known in told if not known[0]), told[0])
        sums.documents += 1
        sums.roles.update([len(one.roles)] if one.roles else [])
        sums.without_readers += Counter(filter(None, [reason or one.no_readers]))
        sums.dropped += Counter(dropped.reason for dropped in one.dropped)
        sums.notes += dict.fromkeys((note for _, each in told for note in each.notes), 1)
        for _, one in told:
            sums.candidates += 1
            if one.roles:
                static = sum(role.static for role in one.roles)
                sums.static[static] += 1
                sums.dynamic[len(one.roles) - static] += 1
            for role in one.roles:
                for order, vote in role.votes.items():
                    sums.votes[order, vote.choice] += 1
                    if vote.choice is None:
                        sums.failed += Counter([vote.failed or ""])
                    if vote.confidence is not None:
                        sums.confidence[order] += vote.confidence  # type: ignore[assignment]  # a float
                        sums.confident[order] += 1
                choices = tuple(vote.choice for vote in role.votes.values() if vote.choice)
                if len(choices) == len(ORDERS):
                    sums.choices[choices] += 1
    return sums


def role_row(judge: str, sums: RoleSums) -> RoleRow:
    asked = [order for order in ORDERS if any(order == other for other, _ in sums.votes)]
    return RoleRow(
        judge=judge,
        candidates=sums.candidates,
        documents=sums.documents,
        static=sizes(sums.static),
        dynamic=sizes(sums.dynamic),
        votes=[
            OrderRow(
                order,
                candidate=sums.votes[order, "candidate"],
                reference=sums.votes[order, "reference"],
                failed=sums.votes[order, None],
                confidence=sums.confidence[order] / n if (n := sums.confident[order]) else None,
            )
            for order in asked
        ],
        failed=dict(sums.failed),
        both=sums.choices.total(),
        # the first text is the reference where the order is fixed, the candidate where swapped
        both_first=sums.choices["reference", "candidate"],
        both_second=sums.choices["candidate", "reference"],
        without_readers=dict(sums.without_readers),
        dropped=dict(sums.dropped),
        notes=dict(sums.notes),
        roles=sizes(sums.roles),
        fewer=sums.roles.total() - sums.roles[max(sums.roles, default=0)],
    )
