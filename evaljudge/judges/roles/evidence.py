"""What the roles said about one text, read from its verdict's evidence, and the paper's equations.

    {"roles": [{"type": "Critic", "description": "Checks the writing.", "static": True,
                "votes": {"fixed": {"choice": "candidate", "confidence": 0.82, "reason": "…"}}}],
     "reference": {"from": "human", "text": "A flood."}, "dropped": [["Readers", "…"]], …}
    ->  Polled(
            roles=[RolePlayer("Critic", "Checks the writing.", True,
                              {"fixed": RoleVote("candidate", 0.82, "…")}, exact={})],
            reference="A flood.", reference_from="human", dropped=[DroppedRole("Readers", "…")], …)

`fixed`: the reference is the first text and the candidate the second; `swapped`: the other way. The
fields are also the columns of a table of verdicts. The scores are made of

    General Public    Summary 2 (the candidate)   e^-.3 = .74       .74 + .82 = 1.56
    Critic            Summary 1 (the reference)
    Residents         Summary 2 (the candidate)   e^-.2 = .82       their mean over roles: .52
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import exp, fsum
from statistics import fmean
from typing import Any, Literal

from evaljudge.judges.roles.briefs import Role, notes_in, readers_in
from evaljudge.model.asks import Failed, Token

Order = Literal["fixed", "swapped"]
Choice = Literal["candidate", "reference"]
ORDERS: tuple[Order, ...] = ("fixed", "swapped")
NO_READERS = "readers could not be had: "
"""The beginning of the note that says why."""


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
    """A role that was not asked, and why."""

    type: str
    reason: str


@dataclass(frozen=True, slots=True)
class Polled:
    roles: Sequence[RolePlayer]
    reference: str
    reference_from: str
    """Empty where there is none."""
    plain: Mapping[Order, float | Failed]
    """p(candidate) by one question without roles, where that was asked."""
    dropped: Sequence[DroppedRole]
    notes: Sequence[str]

    @property
    def orders(self) -> list[Order]:
        """The orders in which any role was asked."""
        asked = {order for role in self.roles for order in (*role.votes, *role.exact)}
        return [order for order in ORDERS if order in asked]

    @property
    def no_readers(self) -> str:
        """Why no role was invented for the document; empty where one was."""
        if any(not role.static for role in self.roles):
            return ""
        reasons = [n.removeprefix(NO_READERS) for n in self.notes if n.startswith(NO_READERS)]
        none = "every one was dropped" if self.dropped else "none were asked for"
        return "; ".join(reasons) or none


def read_polled(evidence: Mapping[str, Any]) -> Polled:
    """Empty for the evidence of a text that was not judged."""
    reference = evidence.get("reference", {"from": "", "text": ""})
    return Polled(
        roles=[
            RolePlayer(
                role["type"],
                role["description"],
                role["static"],
                {order: RoleVote(**vote) for order, vote in role["votes"].items()},
                _chances(role.get("exact", {})),
            )
            for role in evidence.get("roles", ())
        ],
        reference=reference["text"],
        reference_from=reference["from"],
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


# the equations of the paper, and other scores from the same poll


def confidence(tokens: Sequence[Token]) -> float:
    """Equation (3): exp of the mean log-probability of what a role said."""
    return exp(fmean(token.logprob for token in tokens))


def sum_of_votes(polled: Polled) -> float | Failed:
    """Equation (4), the mean over the orders that were asked."""
    orders = polled.roles[0].votes if polled.roles else ()
    sums = [_sum_of_order([role.votes[order] for role in polled.roles]) for order in orders]
    return _mean(sums, _nobody(polled))


def _sum_of_order(votes: Sequence[RoleVote]) -> float | Failed:
    """Scaled to the number of roles, where some gave no vote that can be read."""
    read = [vote for vote in votes if vote.choice]
    if not read:
        return Failed(f"nobody voted: {votes[0].failed}")
    total = fsum(vote.confidence or 0.0 for vote in read if vote.choice == "candidate")
    return total * len(votes) / len(read)


def mean_of_votes(polled: Polled) -> float | Failed:
    total = sum_of_votes(polled)
    return total if isinstance(total, Failed) else total / len(polled.roles)


def mean_of_chances(polled: Polled) -> float | Failed:
    """Over the roles, where each was asked for p(candidate)."""
    chances = [p for role in polled.roles for p in role.exact.values()]
    return _mean(chances, _nobody(polled))


def plain_chance(polled: Polled) -> float | Failed:
    """p(candidate) by the question without roles."""
    return _mean(list(polled.plain.values()), "it was not asked")


def _nobody(polled: Polled) -> str:
    return ": ".join(["nobody votes", *polled.notes[:1]])


def _mean(values: Sequence[float | Failed], none: str) -> float | Failed:
    """The mean of the values; where all failed, the first reason; `none`: why there is no value."""
    there = [value for value in values if not isinstance(value, Failed)]
    failed = next((value for value in values if isinstance(value, Failed)), Failed(none))
    return fsum(there) / len(there) if there else failed
