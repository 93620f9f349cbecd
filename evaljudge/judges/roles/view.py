"""Single texts on the page and in a terminal: what each role chose, and why.

    shown_polled(read_polled(evidence))
    ->  ShownPolled(tallies=["Fixed: of 3 roles, 2 chose the candidate, 1 …"],
                    roles=[ShownRole("Critic", "Checks the writing.", "static, of the task",
                                     [Ballot("the candidate", figures="confidence 0.820", …)]), …])

The template (view.html.j2) needs no script: reasons are in `details` elements.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from evaljudge.judges.plugin import JudgedCandidate
from evaljudge.judges.roles.evidence import Order, Polled, RolePlayer, read_polled
from evaljudge.model.asks import Failed
from evaljudge.sections import Section, Table, View
from evaljudge.sections.figures import correlation, count
from evaljudge.text import harmless

TEMPLATE = Path(__file__).with_name("view.html.j2")
HEADS: Mapping[Order, str] = {
    "fixed": "fixed: the reference first",
    "swapped": "swapped: the candidate first",
}
REFERENCES = {
    "": "",
    "human": "a person’s",
    "written": "written by the model",
    "level": "the synthetic one of a level",
}
CHOICES = {"candidate": "the candidate", "reference": "the reference", None: "no vote"}


@dataclass(frozen=True, slots=True)
class Ballot:
    """What one role said in one order; `figures`, `failed` and `reason` may hold outside words."""

    choice: str
    failed: str = ""
    figures: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True)
class ShownRole:
    type: str
    description: str
    origin: str
    ballots: Sequence[Ballot | None]
    """One for each of the text's orders; None where the role was not asked."""


@dataclass(frozen=True, slots=True)
class ShownPolled:
    tallies: Sequence[str]
    origin: str
    """Where the reference comes from; empty where there is none."""
    reference: str
    orders: Sequence[str]
    roles: Sequence[ShownRole]
    plain: Sequence[str]
    dropped: Sequence[tuple[str, str]]
    notes: Sequence[str]


def shown_polled(polled: Polled) -> ShownPolled:
    return ShownPolled(
        tallies=[_tally(polled, order) for order in polled.orders],
        origin=REFERENCES.get(polled.reference_from, polled.reference_from),
        reference=harmless(polled.reference),
        orders=[HEADS[order] for order in polled.orders],
        roles=[
            ShownRole(
                role.type,
                role.description,
                "static, of the task" if role.static else "dynamic, a reader of this document",
                [_ballot(role, order) for order in polled.orders],
            )
            for role in polled.roles
        ],
        plain=[f"{order}: {_chance(p)}" for order, p in polled.plain.items()],
        dropped=[(role.type, role.reason) for role in polled.dropped],
        notes=polled.notes,
    )


def pictured_evidence(judged: JudgedCandidate) -> View:
    return View(TEMPLATE, shown_polled(read_polled(judged.verdict.evidence)))


def shown_evidence(judged: JudgedCandidate) -> Section:
    one = shown_polled(read_polled(judged.verdict.evidence))
    rows = [[role.type, *map(_cell, role.ballots)] for role in one.roles]
    title = "Whom each role chose"
    table = Table(title, ["role", *one.orders], rows, "l" * (1 + len(one.orders)))
    reasons = [
        f"{role.type} ({order.partition(':')[0]}): {ballot.reason}"
        for role in one.roles
        for order, ballot in zip(one.orders, role.ballots, strict=True)
        if ballot and ballot.reason
    ]
    return Section(
        title,
        one.tallies,
        [table] if rows else [],
        [
            *reasons,
            *([f"Reference ({one.origin}): {one.reference}"] if one.origin else []),
            *(f"One plain question, without roles: {line}" for line in one.plain),
            *(f"Role that was not asked: {role}: {why}" for role, why in one.dropped),
            *one.notes,
        ],
    )


def _cell(ballot: Ballot | None) -> str:
    """`the candidate (confidence 0.820)`."""
    if ballot is None:
        return "not asked"
    failed = f": {ballot.failed}" if ballot.failed else ""
    return f"{ballot.choice}{failed}" + (f" ({ballot.figures})" if ballot.figures else "")


def _tally(polled: Polled, order: Order) -> str:
    """`Fixed: of 5 roles, 3 chose the candidate, 1 the reference; 1 gave no vote.`"""
    votes = [role.votes[order] for role in polled.roles if order in role.votes]
    mine, other = (sum(vote.choice == one for vote in votes) for one in ("candidate", "reference"))
    roles = f"{count(len(votes))} role{'' if len(votes) == 1 else 's'}"
    chosen = f"of {roles}, {count(mine)} chose the candidate, {count(other)} the reference"
    none = len(votes) - mine - other
    return f"{order.capitalize()}: {chosen}{f'; {count(none)} gave no vote' if none else ''}."


def _ballot(role: RolePlayer, order: Order) -> Ballot | None:
    vote, exact = role.votes.get(order), role.exact.get(order)
    if vote is None and exact is None:
        return None
    figures = []
    if vote and vote.confidence is not None:
        figures.append(f"confidence {correlation(vote.confidence)}")
    if exact is not None:
        figures.append(_chance(exact))
    if vote is None:
        return Ballot("not asked to vote", figures="; ".join(figures))
    said = vote.failed or "", "; ".join(figures), vote.reason or ""
    return Ballot(CHOICES[vote.choice], *said)


def _chance(p: float | Failed) -> str:
    return f"no p: {p.reason}" if isinstance(p, Failed) else f"p {correlation(p)}"
