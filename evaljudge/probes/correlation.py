"""One correlation of two grids (documents × systems, NaN where absent), without an interval.

The same values as evaljudge.agreement's, by the policy it declares, at a fraction of the cost:
a probe asks for thousands.

    correlation([[1, 2, 3], [1, 3, 2]], [[1, 2, 3], [1, 2, 3]], "sample", "spearman") -> 0.75
"""

from __future__ import annotations

import numpy as np

from evaljudge.agreement import COEFFICIENTS, Correlation, Level
from evaljudge.agreement.coefficients import correlations, quotient, row_correlations
from evaljudge.agreement.pairs import Floats, exponent_of
from evaljudge.agreement.system import settled_means


def correlation(x: Floats, y: Floats, level: Level, coefficient: Correlation) -> float:
    """NaN where it is undefined."""
    both = np.isfinite(x) & np.isfinite(y)
    x, y = scaled(np.where(both, x, np.nan)), scaled(np.where(both, y, np.nan))
    index = COEFFICIENTS.index(coefficient)
    if level == "summary":
        return float(correlations(x[both], y[both])[index])
    if level == "system":
        everything = np.ones((1, len(x)))
        return float(row_correlations(means(x, everything), means(y, everything))[index, 0])
    by_document = row_correlations(x, y)[index]
    defined = by_document[np.isfinite(by_document)]
    return float(defined.mean()) if defined.size else np.nan


def spread(
    correlations: Floats, band: tuple[float, float]
) -> tuple[float | None, float | None, float | None, int]:
    """The mean and two percentiles of those that are defined, and how many these are."""
    defined = correlations[np.isfinite(correlations)]
    if not defined.size:
        return None, None, None, 0
    low, high = np.percentile(defined, band)
    return float(defined.mean()), float(low), float(high), defined.size


def means(grid: Floats, weights: Floats) -> Floats:
    """(subsets, systems): each system's mean over weighted documents; NaN where it has none."""
    present = np.isfinite(grid)
    counts = weights @ present
    filled = np.where(present, grid, 0.0)
    typical = quotient(weights @ np.abs(filled), counts)
    return settled_means(quotient(weights @ filled, counts), typical)


def scaled(grid: Floats) -> Floats:
    """Divided by a power of two so that none exceeds 1."""
    found: Floats = np.ldexp(grid, -exponent_of(grid))
    return found
