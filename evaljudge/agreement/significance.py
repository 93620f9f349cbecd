"""Which scorers do not differ from the best: every two compared by documents, each p adjusted.

    >>> against_best(documents, systems, scores, human, level="system").indistinguishable
    ('chrF', 'METEOR')

Two scorers are compared on the texts that both scored: Student's t of the differences of their
parts (see documents.py), so documents are what is counted, whichever texts each is good at. The
best was chosen by the data, so any two may be the two compared: Holm's correction is for all pairs
of scorers, and the best one's interval for the choice among all (1 - .05 / K).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from math import isnan

import numpy as np
from numpy.typing import ArrayLike

from .agree import estimates_of
from .coefficients import COEFFICIENTS, Correlation
from .documents import ALPHA, Level, interval, means, on_one_thread, p_value
from .pairs import Floats, Two


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
    """The best scorer at one level, and those not significantly worse."""

    axis: str = field(default="", kw_only=True)  # the human axis; empty until the caller names it
    level: Level
    coefficient: Correlation
    best: str  # the highest correlation, each scorer on what it scored
    value: float
    rivals: Sequence[Rival]  # every other scorer that has a correlation, in the order given
    indistinguishable: Sequence[str]  # rivals whose adjusted p is alpha or more
    undefined: Sequence[str]  # scorers without a correlation
    low: float | None = None  # interval of the best's value, widened for the choice among `chosen`
    high: float | None = None
    chosen: int = 1  # scorers with a correlation, of which the best is one


@dataclass(frozen=True, slots=True)
class Correlated:
    """One scorer on some texts, to be compared with another."""

    value: float
    parts: Floats
    n: int
    sampled: bool


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


def adjusted_pairs(
    names: Sequence[str], p_of: Callable[[str, str], float | None]
) -> dict[frozenset[str], float]:
    """The p of every two that can be tested, with Holm's correction for all of them."""
    ps = {frozenset(two): p for two in combinations(names, 2) if (p := p_of(*two)) is not None}
    return dict(zip(ps, holm(list(ps.values())), strict=True))


@on_one_thread
def against_best(
    documents: ArrayLike, systems: ArrayLike, scores: Mapping[str, ArrayLike], human: ArrayLike, *,
    level: Level, coefficient: Correlation = "spearman", seed: int = 0, alpha: float = ALPHA,
) -> Standing | None:  # fmt: skip
    """The best scorer, and every other one compared with it on the candidates both scored.

    None where no scorer has a correlation.
    """
    columns = {name: np.asarray(column, dtype=np.float64) for name, column in scores.items()}

    def measure(some: Mapping[str, Floats]) -> dict[str, Correlated]:
        compared = [(place, len(some)) for place in range(len(some))]
        tested = [*some.values(), human]
        (found,) = measured(documents, systems, tested, compared, (level,), coefficient, seed)
        return dict(zip(some, found, strict=True))

    whole = {name: side for name, side in measure(columns).items() if not np.isnan(side.value)}
    if not whole:
        return None
    best = max(whole, key=lambda name: whole[name].value)
    shared = _shared({name: columns[name] for name in whole}, whole, measure)
    beside = {frozenset(two): _beside(level, best, two, *pair) for two, pair in shared.items()}
    adjusted = adjusted_pairs(list(whole), lambda *two: beside[frozenset(two)].p)
    rivals = [
        replace(beside[two], scorer=name, p_holm=adjusted.get(two))
        for name in whole
        for two in [frozenset((name, best))]
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
        indistinguishable=tuple(
            r.scorer for r in rivals if r.p_holm is not None and r.p_holm >= alpha
        ),
        undefined=tuple(name for name in scores if name not in whole),
        low=low,
        high=high,
        chosen=len(whole),
    )


def measured(
    documents: ArrayLike, systems: ArrayLike, columns: Sequence[ArrayLike],
    compared: Sequence[Two], levels: Sequence[Level], coefficient: Correlation, seed: int,
) -> list[list[Correlated]]:  # fmt: skip
    """Each comparison, at each level."""
    at = COEFFICIENTS.index(coefficient)
    correlated: dict[int, list[Correlated]] = {}
    for place, local, estimates, _ in estimates_of(
        documents, systems, columns, compared,
        levels=levels, coefficients=(coefficient,), seed=seed,
    ):  # fmt: skip
        correlated[place] = [
            Correlated(
                float(level.values[local, at]),
                level.parts[local, at],
                int(level.units[local, at]),
                level.sampled,
            )
            for level in estimates
        ]
    in_order = [correlated[place] for place in range(len(compared))]
    return [[levels_of[number] for levels_of in in_order] for number in range(len(levels))]


def _shared(
    columns: Mapping[str, Floats],
    whole: Mapping[str, Correlated],
    measure: Callable[[Mapping[str, Floats]], dict[str, Correlated]],
) -> dict[tuple[str, str], tuple[Correlated, Correlated]]:
    """Every two scorers, each on the texts that both scored; measured once for the same texts."""
    present = {name: np.isfinite(column) for name, column in columns.items()}
    values, alike = {}, dict[bytes, list[tuple[str, str]]]()
    for left, right in combinations(columns, 2):
        if np.array_equal(present[left], present[right]):
            values[left, right] = whole[left], whole[right]
        else:
            both = np.packbits(present[left] & present[right]).tobytes()
            alike.setdefault(both, []).append((left, right))
    for pairs in alike.values():
        both = present[pairs[0][0]] & present[pairs[0][1]]
        names = dict.fromkeys(name for pair in pairs for name in pair)
        here = measure({name: np.where(both, columns[name], np.nan) for name in names})
        values |= {(left, right): (here[left], here[right]) for left, right in pairs}
    return values


def paired_values(
    level: Level, left: Correlated, right: Correlated
) -> tuple[float, float, Floats, int]:
    """Both values, the parts of their difference, and how many units are behind it.

    At sample level, on the documents where both have a correlation.
    """
    gaps = left.parts - right.parts
    if level != "sample":
        return left.value, right.value, gaps, left.n
    shared = np.isfinite(gaps)
    sides = (means(np.where(shared, side.parts, np.nan)) for side in (left, right))
    first, second = map(float, sides)
    return first, second, gaps, int(shared.sum())


def _beside(
    level: Level, best: str, names: tuple[str, str], left: Correlated, right: Correlated
) -> Rival:
    """The two that are named, of which the first is the rival unless it is the best."""
    first, second, gaps, n = paired_values(level, left, right)
    if isnan(first) or isnan(second):
        return Rival("", None, None, None, None, n, sampled=False)
    values = (second, first) if names[0] == best else (first, second)
    return Rival("", *values, p_value(first - second, gaps), None, n, left.sampled)
