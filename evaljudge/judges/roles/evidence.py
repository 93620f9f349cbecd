"""What the roles said about one text, read from its verdict's evidence, and shown to people.

    {"roles": [{"type": "Critic", "description": "Checks the writing.", "static": True,
                "votes": {"fixed": {"choice": "candidate", "confidence": 0.82, "reason": "…"}}}],
     "reference": {"from": "human", "text": "A flood."}, "dropped": [["Readers", "…"]], …}
    ->  Polled(
            roles=[RolePlayer("Critic", "Checks the writing.", True,
                              {"fixed": RoleVote("candidate", 0.82, "…")}, exact={})],
            reference="A flood.", reference_from="human", dropped=[DroppedRole("Readers", "…")], …)

`fixed`: the reference is the first text and the candidate the second; `swapped`: the other way. The
fields are also the columns of a table of verdicts. On the page and in a terminal:

    Fixed: of 3 roles, 2 chose the candidate, 1 the reference.
    Critic    the candidate (confidence 0.820)    “It is easy to read.”
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from evaljudge.judges.plugin import JudgedCandidate
from evaljudge.judges.roles.briefs import Role, notes_in, readers_in
from evaljudge.model.asks import Failed
from evaljudge.sections import Section, Table, View
from evaljudge.sections.figures import correlation, count
from evaljudge.text import harmless

Order = Literal["fixed", "swapped"]
Choice = Literal["candidate", "reference"]
ORDERS: tuple[Order, ...] = ("fixed", "swapped")
NO_READERS = "readers could not be had: "  # the beginning of the note that says why


@dataclass(frozen=True, slots=True)
class RoleVote:
    """One role's choice in one order; `failed` says why there is none."""

    choice: Choice | None = None
    confidence: float | None = None
    reason: str | None = None
    failed: str | None = None


@dataclass(frozen=True, slots=True)
class RolePlayer(Role):
    static: bool
    votes: Mapping[Order, RoleVote]
    exact: Mapping[Order, float | Failed]
    """p(candidate), where the model's own probabilities were asked for."""


@dataclass(frozen=True, slots=True)
class DroppedRole:
    type: str
    reason: str


@dataclass(frozen=True, slots=True)
class Polled:
    roles: Sequence[RolePlayer]
    reference: str
    reference_from: str  # empty where there is none
    plain: Mapping[Order, float | Failed]
    """p(candidate) by one question without roles, where that was asked."""
    dropped: Sequence[DroppedRole]
    notes: Sequence[str]

    @property
    def orders(self) -> list[Order]:
        asked = {order for role in self.roles for order in (*role.votes, *role.exact)}
        return [order for order in ORDERS if order in asked]

    @property
    def nobody(self) -> str:
        return ": ".join(["nobody votes", *self.notes[:1]])

    @property
    def no_readers(self) -> str:
        """Why no role was invented for the document; empty where one was."""
        if any(not role.static for role in self.roles):
            return ""
        reasons = [n.removeprefix(NO_READERS) for n in self.notes if n.startswith(NO_READERS)]
        none = "every one was dropped" if self.dropped else "none were asked for"
        return "; ".join(reasons) or none

    @property
    def tallies(self) -> list[str]:
        return [_tally(self, order) for order in self.orders]

    @property
    def origin(self) -> str:
        """Where the reference comes from; empty where there is none."""
        return REFERENCES.get(self.reference_from, self.reference_from)

    @property
    def chances(self) -> list[str]:
        return [f"{order}: {_chance(p)}" for order, p in self.plain.items()]

    @property
    def not_asked(self) -> list[tuple[str, str]]:
        return [(role.type, role.reason) for role in self.dropped]

    def ballots(self, role: RolePlayer) -> list["Ballot"]:
        return [_ballot(role, order) for order in self.orders]


def read_polled(evidence: Mapping[str, Any]) -> Polled:
    """Empty for the evidence of a text that was not judged."""
    roles = []
    for role in evidence.get("roles", ()):
        votes = {order: RoleVote(**vote) for order, vote in role["votes"].items()}
        about = (role["type"], role["description"], role["static"])
        roles.append(RolePlayer(*about, votes, _chances(role.get("exact", {}))))
    reference = evidence.get("reference", {"from": "", "text": ""})
    return Polled(
        roles,
        reference["text"],
        reference["from"],
        plain=_chances(evidence.get("plain", {})),
        dropped=[DroppedRole(*dropped) for dropped in evidence.get("dropped", ())],
        notes=evidence.get("notes", ()),
    )


def _chances(asked: Mapping[Order, Any]) -> dict[Order, float | Failed]:
    return {
        order: Failed(p["failed"]) if isinstance(p, Mapping) else float(p)
        for order, p in asked.items()
    }


@dataclass(frozen=True, slots=True)
class RolesBrief:
    """`readers` and `notes` of the part `readers`, `text` of the part `reference`."""

    readers: Sequence[Role] | None = None
    notes: Sequence[str] | None = None
    text: str | None = None


def read_brief(content: Mapping[str, Any]) -> RolesBrief:
    if "text" in content:
        return RolesBrief(text=content["text"])
    return RolesBrief(readers_in(content), notes_in(content))


TEMPLATE = Path(__file__).with_name("view.html.j2")
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


def pictured_evidence(judged: JudgedCandidate) -> View:
    return View(TEMPLATE, read_polled(judged.verdict.evidence))


def shown_evidence(judged: JudgedCandidate) -> Section:
    polled, title = read_polled(judged.verdict.evidence), "Whom each role chose"
    rows = [[role.type, *map(_cell, polled.ballots(role))] for role in polled.roles]
    table = Table(title, ["role", *polled.orders], rows, "l" * (1 + len(polled.orders)))
    notes = [
        f"{role.type} ({order}): {ballot.reason}"
        for role in polled.roles
        for order, ballot in zip(polled.orders, polled.ballots(role), strict=True)
        if ballot.reason
    ]
    if polled.origin:
        notes.append(f"Reference ({polled.origin}): {harmless(polled.reference)}")
    notes += [f"One plain question, without roles: {line}" for line in polled.chances]
    notes += [f"Role that was not asked: {role}: {why}" for role, why in polled.not_asked]
    return Section(title, polled.tallies, [table] if rows else [], [*notes, *polled.notes])


def _cell(ballot: Ballot) -> str:
    """`the candidate (confidence 0.820)`."""
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


def _ballot(role: RolePlayer, order: Order) -> Ballot:
    vote, exact = role.votes.get(order), role.exact.get(order)
    confidence = vote.confidence if vote else None
    figures = [] if confidence is None else [f"confidence {correlation(confidence)}"]
    figures += [] if exact is None else [_chance(exact)]
    if vote is None:
        return Ballot("not asked to vote" if figures else "not asked", figures="; ".join(figures))
    return Ballot(CHOICES[vote.choice], vote.failed or "", "; ".join(figures), vote.reason or "")


def _chance(p: float | Failed) -> str:
    return f"no p: {p.reason}" if isinstance(p, Failed) else f"p {correlation(p)}"
