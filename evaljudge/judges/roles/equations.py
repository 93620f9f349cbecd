"""The equations of the paper, and other scores from the same poll.

General Public    Summary 2 (the candidate)   e^-.3 = .74       .74 + .82 = 1.56
Critic            Summary 1 (the reference)
Residents         Summary 2 (the candidate)   e^-.2 = .82       their mean over roles: .52
"""

from __future__ import annotations

from collections.abc import Sequence
from math import exp, fsum
from statistics import fmean

from evaljudge.judges.roles.evidence import Polled, RoleVote
from evaljudge.model.asks import Failed, Token


def confidence(said: Sequence[Token]) -> float:
    """Equation (3): exp of the mean log-probability of what a role said."""
    return exp(fmean(token.logprob for token in said))


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
