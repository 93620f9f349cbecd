"""What two scorers both scored and people rated, and one coefficient of it at one level.

documents [0 0 1], systems [0 1 0], first [.2 .4 nan], second [7 8 9], human [1 3 2]
-> the first two candidates, once with the first's scores and once with the second's
"""

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse  # type: ignore[import-untyped, unused-ignore]

from .coefficients import correlations
from .estimate import COEFFICIENTS, Level
from .pairs import Floats, Pairs, paired
from .sample import document_correlations

# The coefficients that two lists have alike, whichever comes first.
Correlation = Literal["spearman", "kendall", "pearson"]
CORRELATIONS: tuple[Correlation, ...] = ("spearman", "kendall", "pearson")
ROUNDING = 1e-12  # standard scores that differ by less are equal


def both_scored(
    documents: ArrayLike, systems: ArrayLike, first: ArrayLike, second: ArrayLike, human: ArrayLike
) -> tuple[Pairs, Pairs]:
    """The same candidates in the same order, with either's scores."""
    ones, others = (np.asarray(side, dtype=np.float64) for side in (first, second))
    if ones.shape != others.shape:
        raise ValueError("both scorers' scores must be lists of one length")
    absent = ~(np.isfinite(ones) & np.isfinite(others))
    one, other = (
        paired(documents, systems, np.where(absent, np.nan, side), human) for side in (ones, others)
    )
    again = (np.diff(one.documents) == 0) & (np.diff(one.systems) == 0)
    if again.any():
        raise ValueError("two rows have the same document and system")
    return one, other


def group_correlations(pairs: Pairs, level: Level, coefficient: Correlation) -> Floats:
    """One per document at sample level, else one alone; NaN where undefined."""
    index = COEFFICIENTS.index(coefficient)
    if level == "sample":
        found: Floats = document_correlations(pairs)[index]
        return found
    return correlations(*level_values(pairs, level))[index, None]


def level_values(pairs: Pairs, level: Level) -> tuple[Floats, Floats]:
    """The two lists that are correlated: of systems' means, or of all candidates."""
    if level == "summary":
        return pairs.scores, pairs.human
    scores, human = (
        system_means(pairs, standard(side)[None])[0] for side in (pairs.scores, pairs.human)
    )
    return scores, human


def system_means(pairs: Pairs, values: Floats) -> Floats:
    """(rows, candidates) of standard scores -> (rows, systems)."""
    size = pairs.systems.size
    members = sparse.csr_array(
        (np.ones(size), (np.arange(size), pairs.systems)), shape=(size, pairs.system_count)
    )
    means: Floats = (values @ members) / np.bincount(pairs.systems)
    return settled(means)


def settled(values: Floats) -> Floats:
    """Standard scores without rounding's last bits, which would break ties or invent them."""
    return np.rint(values / ROUNDING) * ROUNDING


def standard(values: Floats) -> Floats:
    """Zero mean and unit deviation; all zeros where nothing varies."""
    if values.size == 0 or values.min() == values.max():
        return np.zeros_like(values)
    scores: Floats = (values - values.mean()) / values.std()
    return scores
