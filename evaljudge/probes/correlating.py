"""One correlation of two grids (documents × systems, NaN where absent), without an interval.

The same values as evaljudge.agreement's, by the policy it declares, at a fraction of the cost:
a study asks for thousands.

    correlation([[1, 2, 3], [1, 3, 2]], [[1, 2, 3], [1, 2, 3]], "sample", "spearman") -> 0.75
"""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np

from evaljudge.agreement import LEVELS, Level
from evaljudge.agreement.coefficients import correlations, row_correlations
from evaljudge.errors import UserError, unknown
from evaljudge.probes.matrix import Floats

Coefficient = Literal["spearman", "kendall", "pearson"]
COEFFICIENTS: tuple[Coefficient, ...] = get_args(Coefficient)
"""Named as row_correlations orders its first rows."""
ROUNDING_BITS = 40  # means that agree in so many bits are tied, as in evaljudge.agreement


def level_named(name: str) -> Level:
    for level in LEVELS:
        if level == name:
            return level
    raise UserError(f"--level: {unknown('level', name, LEVELS)}")


def coefficient_named(name: str) -> Coefficient:
    for coefficient in COEFFICIENTS:
        if coefficient == name:
            return coefficient
    raise UserError(f"--coefficient: {unknown('coefficient', name, COEFFICIENTS)}")


def correlation(x: Floats, y: Floats, level: Level, coefficient: Coefficient) -> float:
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


def means(grid: Floats, weights: Floats) -> Floats:
    """(subsets, systems): each system's mean over weighted documents; NaN where it has none."""
    present = np.isfinite(grid)
    counts = weights @ present
    filled = np.where(present, grid, 0.0)
    found, typical = _ratio(weights @ filled, counts), _ratio(weights @ np.abs(filled), counts)
    return _settled(found, typical)


def scaled(grid: Floats) -> Floats:
    """Divided by a power of two so that none exceeds 1: exact, and squares cannot overflow."""
    _, exponent = np.frexp(np.max(np.abs(grid), initial=0.0, where=np.isfinite(grid)))
    found: Floats = np.ldexp(grid, -exponent)
    return found


def _ratio(above: Floats, below: Floats) -> Floats:
    found = np.full(below.shape, np.nan)
    np.divide(above, below, out=found, where=below > 0)
    return found


def _settled(found: Floats, typical: Floats) -> Floats:
    """Without the last bits, where the order of summation alone would break or invent ties."""
    mantissa, exponent = np.frexp(found)
    rounded = np.ldexp(np.rint(np.ldexp(mantissa, ROUNDING_BITS)), exponent - ROUNDING_BITS)
    return np.where(np.abs(found) < np.ldexp(typical, -ROUNDING_BITS), 0.0, rounded)
