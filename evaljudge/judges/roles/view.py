"""Single texts on the page and in a terminal: what each role chose, and why.

    Fixed: of 3 roles, 2 chose the candidate, 1 the reference.
    Critic    the candidate (confidence 0.820)    “It is easy to read.”

The template (view.html.j2) needs no script: reasons are in `details` elements.
"""

from __future__ import annotations

from collections.abc import Mapping
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
class ShownPolled:
    polled: Polled

    @property
    def tallies(self) -> list[str]:
        return [_tally(self.polled, order) for order in self.polled.orders]

    @property
    def origin(self) -> str:
        """Where the reference comes from; empty where there is none."""
        return REFERENCES.get(self.polled.reference_from, self.polled.reference_from)

    @property
    def orders(self) -> list[str]:
        return [HEADS[order] for order in self.polled.orders]

    @property
    def roles(self) -> list[tuple[RolePlayer, list[Ballot | None]]]:
        """Each role with a ballot for each order; None where the role was not asked."""
        orders = self.polled.orders
        return [(role, [_ballot(role, order) for order in orders]) for role in self.polled.roles]

    @property
    def plain(self) -> list[str]:
        return [f"{order}: {_chance(p)}" for order, p in self.polled.plain.items()]

    @property
    def dropped(self) -> list[tuple[str, str]]:
        return [(role.type, role.reason) for role in self.polled.dropped]


def pictured_evidence(judged: JudgedCandidate) -> View:
    return View(TEMPLATE, ShownPolled(read_polled(judged.verdict.evidence)))


def shown_evidence(judged: JudgedCandidate) -> Section:
    polled = ShownPolled(read_polled(judged.verdict.evidence))
    rows = [[role.type, *map(_cell, ballots)] for role, ballots in polled.roles]
    title = "Whom each role chose"
    table = Table(title, ["role", *polled.orders], rows, "l" * (1 + len(polled.orders)))
    reasons = [
        f"{role.type} ({order}): {ballot.reason}"
        for role, ballots in polled.roles
        for order, ballot in zip(polled.polled.orders, ballots, strict=True)
        if ballot and ballot.reason
    ]
    reference = f"Reference ({polled.origin}): {harmless(polled.polled.reference)}"
    return Section(
        title,
        polled.tallies,
        [table] if rows else [],
        [
            *reasons,
            *([reference] if polled.origin else []),
            *(f"One plain question, without roles: {line}" for line in polled.plain),
            *(f"Role that was not asked: {role}: {why}" for role, why in polled.dropped),
            *polled.polled.notes,
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
    mine, other = (sum(vote.choice == c for vote in votes) for c in ("candidate", "reference"))
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
    notes = vote.failed or "", "; ".join(figures), vote.reason or ""
    return Ballot(CHOICES[vote.choice], *notes)


def _chance(p: float | Failed) -> str:
    return f"no p: {p.reason}" if isinstance(p, Failed) else f"p {correlation(p)}"
