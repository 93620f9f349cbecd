"""Which scorers cannot be told from the best: many comparisons, each p adjusted for it.

>>> holm([0.01, 0.04, 0.03])
[0.03, 0.06, 0.06]
>>> against_best(documents, systems, scores, human, level="system").indistinguishable
('chrF', 'METEOR')
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np
from numpy.typing import ArrayLike

from .bootstrap import Level, on_one_thread
from .coefficients import BUDGET, Correlation
from .compare import EQUAL, Comparison, compare, group_correlations
from .exchange import Exchange
from .pairs import Floats, paired

FEWEST_SHARED = 2  # documents


@dataclass(frozen=True, slots=True)
class Rival:
    """A scorer beside the best one: on what both scored, do they differ by more than chance?"""

    scorer: str
    value: float | None  # both None where one is undefined on what both scored
    best_value: float | None
    p: float | None  # permutation test, two-sided; None where there is too little to test
    p_holm: float | None  # adjusted for all rivals of this axis and level
    p_williams: float | None
    n: int
    sampled: bool


@dataclass(frozen=True, slots=True)
class Challenger:
    """Another method than the column's best (or than the first named of several)."""

    name: str
    difference: float | None  # the best's less its own, on the documents that they share
    p: float | None  # two-sided; None: under two documents shared (average: on any one axis)
    p_holm: float | None  # adjusted for all challengers of the column
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


def holm(ps: Sequence[float]) -> list[float]:
    """Adjusted for their number, so that the chance of any false alarm does not grow with it."""
    adjusted = [0.0] * len(ps)
    largest = 0.0
    for rank, index in enumerate(sorted(range(len(ps)), key=ps.__getitem__)):
        largest = max(largest, min(1.0, (len(ps) - rank) * ps[index]))
        adjusted[index] = largest
    return adjusted


@on_one_thread
def against_best(
    documents: ArrayLike, systems: ArrayLike, scores: Mapping[str, ArrayLike], human: ArrayLike, *,
    level: Level, coefficient: Correlation = "spearman", exchange: Exchange = "both",
    permutations: int = 1000, seed: int = 0, alpha: float = 0.05,
) -> Standing | None:  # fmt: skip
    """The best scorer, and every other one compared with it on the candidates both scored.

    None where no scorer has a correlation.
    """
    values: dict[str, float] = {}
    for name, column in scores.items():
        found = group_correlations(paired(documents, systems, column, human), level, coefficient)
        found = found[np.isfinite(found)]
        if found.size:
            values[name] = float(found.mean())
    if not values:
        return None
    best = max(values, key=values.__getitem__)
    with_best = partial(
        compare, documents, systems, scores[best], human=human, level=level,
        coefficient=coefficient, exchange=exchange, permutations=permutations, seed=seed,
    )  # fmt: skip
    rivals = _adjusted({name: with_best(scores[name]) for name in values if name != best})
    return Standing(
        level=level,
        coefficient=coefficient,
        best=best,
        value=values[best],
        rivals=rivals,
        indistinguishable=tuple(
            r.scorer for r in rivals if r.p_holm is not None and r.p_holm >= alpha
        ),
        undefined=tuple(name for name in scores if name not in values),
    )


def challengers(gaps: Mapping[str, Floats], permutations: int, seed: int) -> tuple[Challenger, ...]:
    """Is the best better, document by document? A sign-flip test of each other method.

    `gaps`: (axes, documents) of the best's correlations less each method's; NaN where either is
    undefined. Signs are drawn for whole documents, on all axes together.

    [[.3 .1 .2] [.1 nan .3]] -> the mean over axes of the mean over documents is 0.2; each document
    adds [.075 .0167 .1083], and 2 of their 8 choices of signs give as much: with all tried, p 0.25
    """
    shared = {name: np.isfinite(gap).sum(axis=1) for name, gap in gaps.items()}
    shares = {name: _shares(gap) for name, gap in gaps.items() if shared[name].min() > 0}
    tested = [name for name in shares if shared[name].min() >= FEWEST_SHARED and permutations > 0]
    ps = dict(zip(tested, _ps([shares[name] for name in tested], permutations, seed), strict=True))
    adjusted = dict(zip(ps, holm(list(ps.values())), strict=True))
    return tuple(
        Challenger(
            name=name,
            difference=float(shares[name].sum()) if name in shares else None,
            p=ps.get(name),
            p_holm=adjusted.get(name),
            n=int(np.isfinite(gap).any(axis=0).sum()),
        )
        for name, gap in gaps.items()
    )


def _shares(gap: Floats) -> Floats:
    """What each document adds to the statistic; its sign turns this as a whole."""
    defined = np.isfinite(gap)
    shares: Floats = np.where(defined, gap, 0.0) / defined.sum(axis=1, keepdims=True)
    added: Floats = shares.mean(axis=0)
    return added


def _ps(shares: Sequence[Floats], permutations: int, seed: int) -> list[float]:
    """All see the same signs."""
    if not shares:
        return []
    table = np.stack(shares, axis=1)
    least = np.abs(table.sum(axis=0)) - EQUAL
    times = np.zeros(len(shares), dtype=np.intp)
    stream = np.random.default_rng(seed)
    block = max(1, BUDGET // len(table))
    for start in range(0, permutations, block):
        draws = stream.random((min(block, permutations - start), len(table)), np.float32)
        times += (np.abs(np.where(draws < 0.5, -1.0, 1.0) @ table) > least).sum(axis=0)
    return [(1 + int(count)) / (1 + permutations) for count in times]


def _adjusted(comparisons: Mapping[str, Comparison]) -> tuple[Rival, ...]:
    ps = {
        name: two.p_permutation
        for name, two in comparisons.items()
        if two.p_permutation is not None
    }
    adjusted = dict(zip(ps, holm(list(ps.values())), strict=True))
    return tuple(
        Rival(
            scorer=name,
            value=two.second,
            best_value=two.first,
            p=two.p_permutation,
            p_holm=adjusted.get(name),
            p_williams=two.p_williams,
            n=two.n,
            sampled=two.sampled,
        )
        for name, two in comparisons.items()
    )
