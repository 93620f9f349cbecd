"""What a judge of role-players found in a run, as counts: of a shard at a time, then one row.

    sums = RoleSums()
    sums += shard_sums(verdicts)                 each shard's
    role_row("roles", sums)
    ->  RoleRow("roles", candidates=160, static=Sizes(158, 3.0, 3, 3),
                votes=[OrderRow("fixed", candidate=640, reference=420, failed=3, …)], …)

A document's readers, what was dropped and what was noted count once for it, whatever number of
candidates it has; where a run was extended, one that got new candidates stands in two shards, and
counts in both.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Literal, Self

from evaljudge.judges.roles.evidence import ORDERS, Order, Polled, RolePlayer, RoleVote, read_polled
from evaljudge.judges.shared.counting import Sizes, add, sizes
from evaljudge.records import Verdict

Place = Literal["first", "second"]


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


@dataclass(slots=True)
class OrderSums:
    """Of all roles' votes in one order."""

    candidate: int = 0
    reference: int = 0
    failed: int = 0
    confidence: float = 0.0
    confident: int = 0
    """Votes that have a confidence."""

    def __iadd__(self, other: OrderSums) -> Self:
        self.candidate += other.candidate
        self.reference += other.reference
        self.failed += other.failed
        self.confidence += other.confidence
        self.confident += other.confident
        return self


@dataclass(slots=True)
class RoleSums:
    """Of one judge."""

    candidates: int = 0
    documents: int = 0
    static: Counter[int] = field(default_factory=Counter)
    """How many candidates have so many."""
    dynamic: Counter[int] = field(default_factory=Counter)
    orders: dict[Order, OrderSums] = field(default_factory=dict)
    failed: Counter[str] = field(default_factory=Counter)
    both: int = 0
    """Votes of one role on one candidate in both orders."""
    same_place: Counter[Place] = field(default_factory=Counter)
    """Of them, which chose by place: another text, where the texts were exchanged."""
    without_readers: Counter[str] = field(default_factory=Counter)
    dropped: Counter[str] = field(default_factory=Counter)
    notes: Counter[str] = field(default_factory=Counter)
    roles: Counter[int] = field(default_factory=Counter)
    """How many documents have so many."""

    def __iadd__(self, other: RoleSums) -> Self:
        self.candidates += other.candidates
        self.documents += other.documents
        self.static.update(other.static)
        self.dynamic.update(other.dynamic)
        self.roles.update(other.roles)
        for order, one in other.orders.items():
            mine = self.of(order)
            mine += one
        self.both += other.both
        self.same_place.update(other.same_place)
        for reasons, others in (
            (self.failed, other.failed),
            (self.without_readers, other.without_readers),
            (self.dropped, other.dropped),
            (self.notes, other.notes),
        ):
            add(reasons, others)
        return self

    def of(self, order: Order) -> OrderSums:
        return self.orders.setdefault(order, OrderSums())


def shard_sums(verdicts: Iterable[Verdict]) -> RoleSums:
    """Verdicts of one document follow each other, as they are stored."""
    sums = RoleSums()
    for _, own in groupby(verdicts, lambda verdict: verdict.doc_id):
        polled = list(map(read_polled, own))
        _add_document(sums, polled)
        for one in polled:
            _add(sums, one)
    return sums


def _add_document(sums: RoleSums, polled: Sequence[Polled]) -> None:
    """All candidates of a document have its roles, but those that were not judged at all."""
    sums.documents += 1
    one = next((one for one in polled if not one.reason), polled[0])
    if one.roles:
        sums.roles[len(one.roles)] += 1
    if one.no_readers:
        add(sums.without_readers, {one.no_readers: 1})
    add(sums.dropped, Counter(why for _, why in one.dropped))
    add(sums.notes, {note: 1 for each in polled for note in each.notes})


def _add(sums: RoleSums, polled: Polled) -> None:
    sums.candidates += 1
    if polled.roles:
        static = sum(role.static for role in polled.roles)
        sums.static[static] += 1
        sums.dynamic[len(polled.roles) - static] += 1
    for role in polled.roles:
        for order, vote in role.votes.items():
            _add_vote(sums, order, vote)
        _add_both(sums, role)


def _add_vote(sums: RoleSums, order: Order, vote: RoleVote) -> None:
    mine = sums.of(order)
    mine.candidate += vote.choice == "candidate"
    mine.reference += vote.choice == "reference"
    if vote.choice is None:
        mine.failed += 1
        add(sums.failed, {vote.failed: 1})
    if vote.confidence is not None:
        mine.confidence += vote.confidence
        mine.confident += 1


def _add_both(sums: RoleSums, role: RolePlayer) -> None:
    """The candidate is the second text of `fixed` and the first of `swapped`."""
    choices = [role.votes[order].choice for order in ORDERS if order in role.votes]
    if len(choices) < len(ORDERS) or None in choices:
        return
    sums.both += 1
    if choices == ["reference", "candidate"]:
        sums.same_place["first"] += 1
    elif choices == ["candidate", "reference"]:
        sums.same_place["second"] += 1


def role_row(judge: str, sums: RoleSums) -> RoleRow:
    return RoleRow(
        judge=judge,
        candidates=sums.candidates,
        documents=sums.documents,
        static=sizes(sums.static),
        dynamic=sizes(sums.dynamic),
        votes=[_order_row(order, sums.orders[order]) for order in ORDERS if order in sums.orders],
        failed=dict(sums.failed),
        both=sums.both,
        both_first=sums.same_place["first"],
        both_second=sums.same_place["second"],
        without_readers=dict(sums.without_readers),
        dropped=dict(sums.dropped),
        notes=dict(sums.notes),
        roles=sizes(sums.roles),
        fewer=sums.roles.total() - sums.roles[max(sums.roles, default=0)],
    )


def _order_row(order: Order, sums: OrderSums) -> OrderRow:
    confidence = sums.confidence / sums.confident if sums.confident else None
    return OrderRow(order, sums.candidate, sums.reference, sums.failed, confidence)
