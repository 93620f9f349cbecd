"""What the role-players of a run said: counts of each shard, their sum, and the report.

| judge | order | votes | for the candidate | for the reference | without | confidence |
| ----- | ----- | ----: | ----------------: | ----------------: | ------: | ---------: |
| roles | fixed | 1,060 |             60.3% |             39.6% |       3 |      0.742 |

A document's readers, dropped roles and notes count once, whatever its number of candidates. Where a
run was extended, a document that got new candidates is in two shards, and counts twice.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from evaljudge.judges.collector import Found, JudgeFindings, SeenShard
from evaljudge.judges.roles.evidence import ORDERS, read_polled
from evaljudge.judges.shared.counting import (
    OTHERS,
    Reasons,
    Sizes,
    Sums,
    share_bar,
    size_columns,
    sizes,
    table,
)
from evaljudge.sections import Bars, Section, Table
from evaljudge.sections.figures import ratio
from evaljudge.settings import yaml_beside

MOST_REASONS = 5
REASONS = ("failed", "without_readers", "dropped", "notes")
"""The fields of a row that count reasons."""
ROLES = "What the role-players say"
NOTES: Mapping[str, str] = yaml_beside(__file__, "notes.yaml")


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


def counted(shard: SeenShard) -> Sums:
    """Verdicts of one document follow each other, as they are stored.

    All candidates of a document have its roles, except those that were not judged at all.
    `static`, `dynamic`: how many candidates have so many such roles; `roles`: how many documents.
    `choices`: what a role chose in both orders, where it voted in both.
    """
    counters = ("static", "dynamic", "roles", "votes", "confidence", "confident", "choices")
    sums: Sums = {"candidates": 0, "documents": 0, **{name: Counter() for name in counters}}
    sums |= {name: Reasons() for name in REASONS}
    for _, verdicts in groupby(shard.verdicts, lambda verdict: verdict.doc_id):
        polls = [(verdict.reason, read_polled(verdict.evidence)) for verdict in verdicts]
        reason, first = next((poll for poll in polls if not poll[0]), polls[0])
        sums["documents"] += 1
        sums["candidates"] += len(polls)
        sums["roles"].update([len(first.roles)] if first.roles else [])
        sums["without_readers"] += Counter(filter(None, [reason or first.no_readers]))
        sums["dropped"] += Counter(dropped.reason for dropped in first.dropped)
        sums["notes"] += dict.fromkeys((note for _, each in polls for note in each.notes), 1)
        for _, polled in polls:
            if polled.roles:
                static = sum(role.static for role in polled.roles)
                sums["static"][static] += 1
                sums["dynamic"][len(polled.roles) - static] += 1
            for role in polled.roles:
                for order, vote in role.votes.items():
                    sums["votes"][order, vote.choice] += 1
                    if vote.choice is None:
                        sums["failed"] += Counter([vote.failed or ""])
                    if vote.confidence is not None:
                        sums["confidence"][order] += vote.confidence
                        sums["confident"][order] += 1
                choices = tuple(vote.choice for vote in role.votes.values() if vote.choice)
                if len(choices) == len(ORDERS):
                    sums["choices"][choices] += 1
    return sums


def role_row(judge: str, sums: Sums) -> RoleRow:
    votes, choices, roles = sums["votes"], sums["choices"], sums["roles"]
    return RoleRow(
        judge=judge,
        candidates=sums["candidates"],
        documents=sums["documents"],
        static=sizes(sums["static"]),
        dynamic=sizes(sums["dynamic"]),
        votes=[
            OrderRow(
                order,
                candidate=votes[order, "candidate"],
                reference=votes[order, "reference"],
                failed=votes[order, None],
                confidence=sums["confidence"][order] / n if n else None,
            )
            for order in ORDERS
            if any(order == asked for asked, _ in votes)
            for n in [sums["confident"][order]]
        ],
        both=choices.total(),
        # the first text is the reference where the order is fixed, the candidate where swapped
        both_first=choices["reference", "candidate"],
        both_second=choices["candidate", "reference"],
        roles=sizes(roles),
        fewer=roles.total() - roles[max(roles, default=0)],
        **{name: dict(sums[name]) for name in REASONS},
    )


def report(judge: str, sums: Sums, found: Found) -> JudgeFindings:
    row = role_row(judge, sums or counted(SeenShard([], [])))
    return JudgeFindings([section(row)], {"roles": [row]})


def section(row: RoleRow) -> Section:
    differ = row.both_first + row.both_second
    parts = [
        ("sizes", table(
            "How many roles", [row], "judge", "documents", "candidates",
            ("voted on", lambda r: r.static.of),
            *size_columns("static", "static"), *size_columns("dynamic", "dynamic"), words=1,
        )),
        ("unequal", table(
            "Where the number of roles differs", [row] if row.fewer else [], "judge",
            ("documents with roles", lambda r: r.roles.of),
            ("with fewer than the most", "fewer"),
            ("share", lambda r: ratio(r.fewer, r.roles.of)),
            *size_columns("", "roles")[1:], words=1,
        )),
        ("votes", table(
            "Votes", row.votes, ("judge", lambda _: row.judge), "order",
            ("votes", lambda r: r.candidate + r.reference),
            ("for the candidate", lambda r: ratio(r.candidate, r.candidate + r.reference)),
            ("for the reference", lambda r: ratio(r.reference, r.candidate + r.reference)),
            ("without", "failed"), "confidence",
        )),
        ("", _reasons(row, row.failed, "Without a vote", "why without a vote", "votes")),
        ("both", table(
            "Where the two orders disagree", [row] if row.both else [], "judge",
            ("votes in both", "both"), ("differ", lambda _: differ),
            ("share", lambda r: ratio(differ, r.both)),
            ("always the first", "both_first"), ("always the second", "both_second"), words=1,
        )),
        ("readers", _reasons(row, row.without_readers, "Documents without readers",
                             "why without readers", "documents")),
        ("", _reasons(row, row.dropped, "Roles that were not asked", "why not asked", "roles")),
        ("", _reasons(row, row.notes, "Noted of documents", "noted", "documents")),
    ]  # fmt: skip
    present = [(note, part) for note, part in parts if part.rows]
    notes = [NOTES[note] for note, _ in present if note]
    is_quoted = any("“…”" in cells[1] for _, part in present for cells in part.rows)
    notes += [NOTES["quoted"]] if is_quoted else []
    bars = [share_bar(row.judge, differ, row.both)] if row.both else []
    picture = Bars("Position", "Votes that go by the place", NOTES["by place"], bars)
    return Section(ROLES, [], [part for _, part in present], notes, [picture] if bars else [])


def _reasons(row: RoleRow, times_of: Mapping[str, int], title: str, why: str, of: str) -> Table:
    """The most frequent reasons, and how often there was any other."""
    named = [item for item in times_of.items() if item[0] != OTHERS]
    named = sorted(named, key=lambda item: (-item[1], item[0]))[:MOST_REASONS]
    others = sum(times_of.values()) - sum(times for _, times in named)
    named += [(OTHERS, others)] if others else []
    columns = [("judge", lambda _: row.judge), (why, lambda r: r[0]), (of, lambda r: r[1])]
    return table(title, named, *columns)
