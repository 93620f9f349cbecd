"""One coefficient of pairs at one level, without intervals, and the standard scores behind it."""

import numpy as np
from scipy import sparse  # type: ignore[import-untyped, unused-ignore]

from .bootstrap import Level
from .coefficients import COEFFICIENTS, Correlation, correlations
from .pairs import Floats, Pairs
from .sample import document_correlations

ROUNDING = 1e-12  # standard scores that differ by less are equal


def group_correlations(pairs: Pairs, level: Level, coefficient: Correlation) -> Floats:
    """One per document at sample level, else a single one; NaN where undefined."""
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
    """Standard scores without the last bits, which would break ties or invent them."""
    return np.rint(values / ROUNDING) * ROUNDING


def standard(values: Floats) -> Floats:
    """Zero mean and unit deviation; all zeros where nothing varies."""
    if values.size == 0 or values.min() == values.max():
        return np.zeros_like(values)
    scores: Floats = (values - values.mean()) / values.std()
    return scores
