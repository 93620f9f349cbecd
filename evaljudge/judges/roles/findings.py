"""What the role-players of a run said: counts of each shard, their sum, and the report.

    sums = RoleSums()
    sums += shard_sums(verdicts)                 each shard's
    role_row("roles", sums)
    ->  RoleRow("roles", candidates=160, static=Sizes(158, 3.0, 3, 3),
                votes=[OrderRow("fixed", candidate=640, reference=420, failed=3, …)], …)

A document's readers, dropped roles and notes count once, whatever its number of candidates. Where a
run was extended, a document that got new candidates is in two shards, and counts twice.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import groupby, islice
from pathlib import Path
from typing import Self

from evaljudge.judges.collector import Found, JudgeFindings, SeenShard
from evaljudge.judges.roles.evidence import (
    ORDERS,
    Choice,
    Order,
    Polled,
    PolledText,
    read_polled,
)
from evaljudge.judges.roles.section import OrderRow, RoleRow, roles
from evaljudge.judges.roles.view import ShownPolled, shown_polled
from evaljudge.judges.shared.counting import Reasons, Summed, sizes
from evaljudge.records import Verdict
from evaljudge.sections import View

TEMPLATE = Path(__file__).with_name("view.html.j2")


class RoleFindings:
    """Counts of the votes; and the first candidates' votes, for the page."""

    def __init__(self, judge: str, scorers: tuple[str, ...]) -> None:
        self._judge, self._scorers = judge, scorers
        self._sums, self._shown = RoleSums(), list[ShownPolled]()

    def see(self, shard: SeenShard) -> None:
        self._sums += shard_sums(shard.verdicts)
        for verdict in islice(shard.verdicts, shard.shown):
            text = shard.texts[verdict.doc_id, verdict.system]
            known = PolledText(verdict.doc_id, verdict.system, text, read_polled(verdict))
            self._shown.append(shown_polled(known))

    def __iadd__(self, other: RoleFindings) -> Self:
        self._sums += other._sums
        self._shown += other._shown
        return self

    def findings(self, found: Found) -> JudgeFindings:
        row = role_row(self._judge, self._sums)
        own = [one for one in found.agreement if one.scorer in self._scorers]
        title = f"Texts and their role-players: {self._judge}"
        views = [View(title, TEMPLATE, self._shown, row.candidates)] if self._shown else []
        section = roles(row, own, with_texts=bool(views))
        return JudgeFindings([section], {"roles": [row]}, views=views)


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
        polled = list(map(read_polled, own))
        one = next((one for one in polled if not one.reason), polled[0])
        sums.documents += 1
        sums.roles.update([len(one.roles)] if one.roles else [])
        sums.without_readers += Counter(filter(None, [one.no_readers]))
        sums.dropped += Counter(why for _, why in one.dropped)
        sums.notes += dict.fromkeys((note for each in polled for note in each.notes), 1)
        for one in polled:
            _add(sums, one)
    return sums


def _add(sums: RoleSums, polled: Polled) -> None:
    sums.candidates += 1
    if polled.roles:
        static = sum(role.static for role in polled.roles)
        sums.static[static] += 1
        sums.dynamic[len(polled.roles) - static] += 1
    for role in polled.roles:
        for order, vote in role.votes.items():
            sums.votes[order, vote.choice] += 1
            if vote.choice is None:
                sums.failed += Counter([vote.failed])
            if vote.confidence is not None:
                sums.confidence[order] += vote.confidence  # type: ignore[assignment]  # a float
                sums.confident[order] += 1
        choices = tuple(vote.choice for vote in role.votes.values() if vote.choice)
        if len(choices) == len(ORDERS):
            sums.choices[choices] += 1


def role_row(judge: str, sums: RoleSums) -> RoleRow:
    asked = [order for order in ORDERS if any(order == other for other, _ in sums.votes)]
    return RoleRow(
        judge=judge,
        candidates=sums.candidates,
        documents=sums.documents,
        static=sizes(sums.static),
        dynamic=sizes(sums.dynamic),
        votes=[_order_row(order, sums) for order in asked],
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


def _order_row(order: Order, sums: RoleSums) -> OrderRow:
    confident = sums.confident[order]
    confidence = sums.confidence[order] / confident if confident else None
    candidate, reference = sums.votes[order, "candidate"], sums.votes[order, "reference"]
    return OrderRow(order, candidate, reference, sums.votes[order, None], confidence)
