"""How axes go together: every pair of a scorer's own axes, or of the human ones.

    >>> among(documents, systems, {"relevance": [5, 4, ...], "fluency": [3, 4, ...]})[0]
    AxisPair(axis='relevance', other='fluency', level='sample', coefficient='spearman', ...)

Axes that cannot be told apart measure one thing under two names. The package's policy holds.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations

from numpy.typing import ArrayLike

from .agree import agreements
from .estimate import Coefficient, Level
from .shared import CORRELATIONS


@dataclass(frozen=True, slots=True)
class AxisPair:
    axis: str
    other: str
    level: Level
    coefficient: Coefficient
    value: float | None  # None where undefined
    low: float | None  # 95% bootstrap interval over documents
    high: float | None
    n: int  # documents (sample), systems (system) or candidates (summary) behind the value
    sampled: bool = False  # the interval comes from a seeded sample of documents


def among(
    documents: ArrayLike,
    systems: ArrayLike,
    values: Mapping[str, ArrayLike],
    *,
    resamples: int = 1000,
    seed: int = 0,
) -> list[AxisPair]:
    """Every pair at every level, from one row per candidate; NaN where an axis has no value."""
    return [
        AxisPair(
            axis=axis,
            other=other,
            level=found.level,
            coefficient=found.coefficient,
            value=found.value,
            low=found.low,
            high=found.high,
            n=found.n,
            sampled=found.sampled,
        )
        for axis, other in combinations(values, 2)
        for found in agreements(
            documents,
            systems,
            values[axis],
            values[other],
            coefficients=CORRELATIONS,
            resamples=resamples,
            seed=seed,
        )
    ]
