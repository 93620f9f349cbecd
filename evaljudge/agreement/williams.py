"""Williams' test: do two correlations that share one variable differ?

Of 103 people, r(1,2) = 0.4 and r(1,3) = 0.5 where r(2,3) = 0.1 -> t(100) = -0.89, p = 0.37

(Williams 1959; Steiger 1980, formula 7; Graham and Baldwin 2014 for metrics of translation.)
"""

from math import isfinite, sqrt

from scipy import stats  # type: ignore[import-untyped, unused-ignore]

NOTHING = 1e-12  # a divisor no larger is rounding


def williams(first: float, second: float, between: float, n: int) -> float | None:
    """The two-sided p: `first` and `second` with the shared variable, `between` each other."""
    if n < 4 or not all(map(isfinite, (first, second, between))):
        return None
    squares = first**2 + second**2 + between**2
    determinant = max(0.0, 1 - squares + 2 * first * second * between)
    mean = (first + second) / 2
    below = 2 * determinant * (n - 1) / (n - 3) + mean**2 * (1 - between) ** 3
    if below < NOTHING:
        return None
    t = (first - second) * sqrt((n - 1) * (1 + between) / below)
    return float(2 * stats.t.sf(abs(t), n - 3))
