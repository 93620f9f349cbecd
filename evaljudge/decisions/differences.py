"""How much higher the second of two tables of scores is, on the texts that both have.

    paired_difference([[4, 3], [5, nan]], [[4, 4], [3, 2]])
    -> PairedDifference(first=4.25, second=3.5, difference=-0.75, low=-16.6, high=15.1, p=0.66,
                        n=2, texts=3, changed=2)

The tables may be two runs of one scorer, or two systems of one run (a column each). A document is
the unit: the texts of a document are averaged first, so each document weighs the same, however
many texts it has. The interval and the p are Student's, of the documents' mean differences: with
few documents a normal or a percentile bootstrap interval is too narrow, and this one is not.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

import numpy as np
from numpy.typing import ArrayLike

from evaljudge.agreement.rated import Floats

ROUNDING = 1e-12  # a standard error that is no larger, relative to the value, is rounding
Maybe = float | None
"""None where undefined."""


@dataclass(frozen=True, slots=True)
class PairedDifference:
    first: float | None  # means over documents; None where no text has both scores
    second: float | None
    difference: float | None  # second - first
    low: float | None  # 95% interval over documents; None with fewer than two, and see `student`
    high: float | None
    p: float | None  # two-sided
    error: float | None  # the standard error of the difference
    n: int  # documents
    texts: int
    changed: int  # texts whose two scores differ


def paired_difference(first: ArrayLike, second: ArrayLike) -> PairedDifference:
    """From two tables (documents, systems); NaN where there is no score."""
    tables = [np.asarray(table, dtype=np.float64) for table in (first, second)]
    both = np.isfinite(tables[0]) & np.isfinite(tables[1])
    texts = both.sum(axis=1)
    kept = texts > 0
    one, other = (np.where(both, table, 0.0)[kept] for table in tables)
    gaps = (other - one).sum(axis=1) / texts[kept]
    difference, low, high, p = mean_with_interval(gaps)
    return PairedDifference(
        first=_mean(one.sum(axis=1) / texts[kept]),
        second=_mean(other.sum(axis=1) / texts[kept]),
        difference=difference,
        low=low,
        high=high,
        p=p,
        error=float(gaps.std(ddof=1)) / sqrt(gaps.size) if gaps.size > 1 else None,
        n=gaps.size,
        texts=int(texts.sum()),
        changed=int(np.count_nonzero(one != other)),
    )


def p_lower(found: PairedDifference, tolerance: float) -> float | None:
    """That the difference is not below -tolerance, one-sided; None of fewer than two documents.

    Where every document changed by the same, it is that of their signs alone.
    """
    from scipy.special import stdtr

    if found.difference is None or found.error is None:
        return None
    beyond = found.difference + tolerance
    if found.error <= ROUNDING * max(abs(found.difference), tolerance):
        return float(0.5**found.n) if beyond < -ROUNDING * tolerance else 1.0
    return float(stdtr(found.n - 1, beyond / found.error))


def _mean(values: Floats) -> float | None:
    return float(values.mean()) if values.size else None


def mean_with_interval(values: Floats) -> tuple[Maybe, Maybe, Maybe, Maybe]:
    """The mean of independent values, its 95% interval, and the p of the mean being 0."""
    if not values.size:
        return None, None, None, None
    mean = float(values.mean())
    if values.size < 2:
        return mean, None, None, None
    return mean, *student(mean, float(values.std(ddof=1)) / sqrt(values.size), values.size)


def student(value: float, error: float, units: int) -> tuple[Maybe, Maybe, Maybe]:
    """The 95% interval of a value with this standard error, and the p of its being 0.

    Where nothing changed, the interval is 0 alone. Where every unit changed by the same, it is not
    defined: how far other units would be from these is not known.
    """
    from scipy.special import stdtr, stdtrit

    if error <= ROUNDING * abs(value):
        return (None, None, None) if value else (0.0, 0.0, 1.0)
    margin = error * float(stdtrit(units - 1, 0.975))
    return value - margin, value + margin, float(2 * stdtr(units - 1, -abs(value) / error))
