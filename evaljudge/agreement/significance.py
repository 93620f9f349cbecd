"""Which scorers cannot be told from the best: many comparisons, and what that costs each.

>>> holm([0.01, 0.04, 0.03])
[0.03, 0.06, 0.06]
>>> against_best(documents, systems, scores, human, level="system").indistinguishable
('chrF', 'METEOR')
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from .compare import Comparison, compare
from .estimate import Level
from .exchange import Exchange
from .pairs import paired
from .shared import Correlation, group_correlations
from .threads import on_one_thread


@dataclass(frozen=True, slots=True)
class Rival:
    """A scorer beside the best, which is the comparison's `first`."""

    name: str
    comparison: Comparison
    p_holm: float | None  # of the permutation test, adjusted for all rivals; None where that is


@dataclass(frozen=True, slots=True)
class Standing:
    level: Level
    coefficient: Correlation
    best: str | None  # the highest correlation, each scorer on what it scored; None: all undefined
    value: float | None
    rivals: tuple[Rival, ...]  # every other scorer that has a correlation, in the order given
    indistinguishable: tuple[str, ...]  # rivals whose adjusted p is alpha or more
    untested: tuple[str, ...]  # rivals without a p: too little scored in common with the best
    undefined: tuple[str, ...]  # scorers without a correlation


def holm(ps: Sequence[float]) -> list[float]:
    """Adjusted for their number, so that the chance of any false alarm stays what it was."""
    adjusted = [0.0] * len(ps)
    largest = 0.0
    for rank, index in enumerate(sorted(range(len(ps)), key=ps.__getitem__)):
        largest = max(largest, min(1.0, (len(ps) - rank) * ps[index]))
        adjusted[index] = largest
    return adjusted


@on_one_thread
def against_best(
    documents: ArrayLike,
    systems: ArrayLike,
    scores: Mapping[str, ArrayLike],
    human: ArrayLike,
    *,
    level: Level,
    coefficient: Correlation = "spearman",
    exchange: Exchange = "both",
    permutations: int = 1000,
    seed: int = 0,
    alpha: float = 0.05,
) -> Standing:
    """The best scorer, and every other one compared with it on the candidates both scored."""
    values: dict[str, float | None] = {}
    for name, column in scores.items():
        found = group_correlations(paired(documents, systems, column, human), level, coefficient)
        found = found[np.isfinite(found)]
        values[name] = float(found.mean()) if found.size else None
    ranked = {name: value for name, value in values.items() if value is not None}
    undefined = tuple(name for name in values if name not in ranked)
    if not ranked:
        return Standing(level, coefficient, None, None, (), (), (), undefined)
    best = max(ranked, key=ranked.__getitem__)
    rivals = _adjusted(
        {
            name: compare(
                documents,
                systems,
                scores[best],
                scores[name],
                human,
                level=level,
                coefficient=coefficient,
                exchange=exchange,
                permutations=permutations,
                seed=seed,
            )
            for name in ranked
            if name != best
        }
    )
    return Standing(
        level=level,
        coefficient=coefficient,
        best=best,
        value=ranked[best],
        rivals=rivals,
        indistinguishable=tuple(
            r.name for r in rivals if r.p_holm is not None and r.p_holm >= alpha
        ),
        untested=tuple(r.name for r in rivals if r.p_holm is None),
        undefined=undefined,
    )


def _adjusted(comparisons: Mapping[str, Comparison]) -> tuple[Rival, ...]:
    tested = {
        name: comparison.p_permutation
        for name, comparison in comparisons.items()
        if comparison.p_permutation is not None
    }
    adjusted = dict(zip(tested, holm(list(tested.values())), strict=True))
    return tuple(Rival(name, found, adjusted.get(name)) for name, found in comparisons.items())
