"""Which scorers do not differ from the best: every two compared by documents, each p adjusted.

    >>> against_best(documents, systems, scores, human, level="system").indistinguishable
    ('chrF', 'METEOR')

Two scorers are compared on the texts that both scored: Student's t of the differences of their
parts (see documents.py), so documents are what is counted, whichever texts each is good at. The
best was chosen by the data, so any two may be the two compared: Holm's correction is for all pairs
of scorers, and the best one's interval for the choice among all (1 - .05 / K).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations, permutations
from math import isnan
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike

from .agree import estimates
from .coefficients import Correlation
from .documents import ALPHA, Estimate, Level, interval, means, p_value
from .pairs import Floats

Key = TypeVar("Key")


@dataclass(frozen=True, slots=True)
class Rival:
    """A scorer beside the best one: on what both scored, do they differ by more than chance?"""

    scorer: str
    value: float | None  # both None where one is undefined on what both scored
    best_value: float | None
    p: float | None  # by documents, two-sided; None where there is too little to test
    p_holm: float | None  # adjusted for all pairs of scorers of this axis and level
    n: int
    sampled: bool
    p_williams: float | None = None  # no longer computed


@dataclass(frozen=True, slots=True)
class Challenger:
    """Another method than the column's best (or than the first named of several)."""

    name: str
    difference: float | None  # the best's less its own, on the documents that they share
    p: float | None  # two-sided; None: under two documents shared (average: on any one axis)
    p_holm: float | None  # adjusted for all pairs of methods of the column
    n: int  # documents shared (of the average: on any axis)


@dataclass(frozen=True, slots=True)
class Standing:
    axis: str = field(default="", kw_only=True)  # the human axis; empty until the caller names it
    level: Level
    coefficient: Correlation
    best: str  # the highest correlation, each scorer on what it scored
    value: float
    rivals: Sequence[Rival]  # every other scorer that has a correlation, in the order given
    indistinguishable: Sequence[str]  # rivals whose adjusted p is ALPHA or more
    undefined: Sequence[str]  # scorers without a correlation
    low: float | None  # interval of the best's value, widened for the choice among `chosen`
    high: float | None
    chosen: int  # scorers with a correlation, of which the best is one


def holm(ps: Sequence[float]) -> list[float]:
    """Adjusted for their number, so that the chance of any false alarm does not grow with it.

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    adjusted = [0.0] * len(ps)
    largest = 0.0
    for rank, index in enumerate(sorted(range(len(ps)), key=ps.__getitem__)):
        largest = max(largest, min(1.0, (len(ps) - rank) * ps[index]))
        adjusted[index] = largest
    return adjusted


def adjusted(ps: Mapping[Key, float | None]) -> dict[Key, float | None]:
    """Every p there is, with Holm's correction for all of them."""
    known = {key: p for key, p in ps.items() if p is not None}
    return dict.fromkeys(ps) | dict(zip(known, holm(list(known.values())), strict=True))


def against_best(
    documents: ArrayLike, systems: ArrayLike, scores: Mapping[str, ArrayLike], human: ArrayLike, *,
    level: Level, coefficient: Correlation = "spearman", seed: int = 0,
) -> Standing | None:  # fmt: skip
    names = dict(enumerate(scores))
    ratings = len(names)
    compared: list[tuple[int, ...]] = [(place, ratings) for place in names]
    compared += [(one, ratings, other) for one, other in permutations(names, 2)]
    measured = {
        tuple(names[column] for column in compared[place] if column != ratings): of_place[0]
        for place, of_place in estimates(
            documents, systems, [*scores.values(), human], compared, (level,), (coefficient,), seed
        )
    }
    whole = {name: measured[name,] for name in scores if not isnan(measured[name,].value)}
    if not whole:
        return None
    best = max(whole, key=lambda name: whole[name].value)

    def rival(name: str, other: str) -> Rival:
        return _rival(name, measured[name, other], measured[other, name])

    ps = adjusted({frozenset(two): rival(*two).p for two in combinations(whole, 2)})
    rivals = [
        replace(rival(name, best), p_holm=ps[frozenset((name, best))])
        for name in whole
        if name != best
    ]
    leader = whole[best]
    low, high = interval(leader.value, leader.parts, level, choices=len(whole))
    return Standing(
        level=level,
        coefficient=coefficient,
        best=best,
        value=leader.value,
        rivals=rivals,
        indistinguishable=tuple(r.scorer for r in rivals if (r.p_holm or 0.0) >= ALPHA),
        undefined=tuple(name for name in scores if name not in whole),
        low=low,
        high=high,
        chosen=len(whole),
    )


def paired_values(left: Estimate, right: Estimate) -> tuple[float, float, Floats, int]:
    """Both values, the parts of their difference, and how many units are behind it.

    At sample level, on the documents where both have a correlation.
    """
    gaps = left.parts - right.parts
    if left.level != "sample":
        return left.value, right.value, gaps, left.n
    shared = np.isfinite(gaps)
    sides = (means(np.where(shared, side.parts, np.nan)) for side in (left, right))
    first, second = map(float, sides)
    return first, second, gaps, int(shared.sum())


def _rival(name: str, its: Estimate, best: Estimate) -> Rival:
    value, best_value, gaps, n = paired_values(its, best)
    if isnan(value) or isnan(best_value):
        return Rival(name, None, None, None, None, n, sampled=False)
    return Rival(name, value, best_value, p_value(value - best_value, gaps), None, n, its.sampled)
