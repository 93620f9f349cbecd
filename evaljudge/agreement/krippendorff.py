"""Do any number of raters give the same values, beyond chance? Krippendorff's alpha.

    >>> krippendorff_alpha([[1, 1], [1, 2], [2, 2], [3, nan]], [0, 0, 1, 1], metric="nominal")
    LabelAgreement(value=0.4444444444444444, low=..., high=..., n=3, skipped=1)

alpha = 1 - D_o / D_e: the mean squared distance between two values of one unit, over that between
any two values. A unit with m values counts m times, each of its m (m - 1) ordered pairs by
1 / (m - 1). The distance of two values is 1 (nominal), their difference (interval), or the
difference of their mean ranks (ordinal).
"""

from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse  # type: ignore[import-untyped, unused-ignore]

from .bootstrap import spread
from .coefficients import quotient
from .labels import LabelAgreement
from .pairs import Codes, Floats

Metric = Literal["nominal", "ordinal", "interval"]


@dataclass(frozen=True, slots=True)
class Coincidences:
    """How often two values meet in a unit, by document: only those that differ and ever do."""

    values: Floats
    counts: sparse.csr_array  # (documents, values)
    meetings: sparse.csr_array  # (documents, cells): a meeting, both ways, weighs 2 / (m - 1)
    one: Codes  # each cell's two values
    other: Codes


def krippendorff_alpha(
    ratings: ArrayLike, documents: ArrayLike, *,
    metric: Metric, resamples: int = 1000, seed: int = 0,
) -> LabelAgreement:  # fmt: skip
    """From (units, raters), NaN where missing, and each unit's document. A unit with fewer than
    two values is skipped; raters need not be the same people in every unit.
    """
    table = np.asarray(ratings, dtype=np.float64)
    kept = np.isfinite(table).sum(axis=1) >= 2
    units, document = np.unique(np.asarray(documents)[kept], return_inverse=True)
    if not kept.any():
        return LabelAgreement(None, None, None, n=0, skipped=kept.size)
    met = _coincidences(table[kept], document, units.size)
    width = max(met.values.size, met.one.size)
    found = spread(partial(_alphas, met, metric), units.size, resamples, seed, width)
    n = int(np.count_nonzero(kept))
    return LabelAgreement(*found, n=n, skipped=kept.size - n)


def _alphas(met: Coincidences, metric: Metric, drawn: Floats) -> Floats:
    counts: Floats = drawn @ met.counts
    total = counts.sum(axis=1)
    if metric == "nominal":
        apart: Floats | float = 1.0
        expected = total**2 - (counts**2).sum(axis=1)
    else:
        mean_ranks = np.cumsum(counts, axis=1) - counts / 2
        places = met.values[None] if metric == "interval" else mean_ranks
        apart = (places[:, met.one] - places[:, met.other]) ** 2
        middles = quotient((counts * places).sum(axis=1), total)[:, None]
        expected = 2 * total * (counts * (places - middles) ** 2).sum(axis=1)
    observed = ((drawn @ met.meetings) * apart).sum(axis=1)
    # Values that are all one leave rounding noise; counting them does not.
    varied = np.count_nonzero(counts, axis=1) > 1
    return 1 - quotient(observed * (total - 1), np.where(varied, expected, 0.0))


def _coincidences(table: Floats, document: Codes, documents: int) -> Coincidences:
    unit, rater = np.nonzero(np.isfinite(table))
    values, codes = np.unique(table[unit, rater], return_inverse=True)
    given, times = np.unique(unit * values.size + codes, return_counts=True)
    units, ones, others, meetings = _meetings(given // values.size, given % values.size, times)
    cells, cell = np.unique(ones * values.size + others, return_inverse=True)
    weights = 2.0 * meetings / (np.bincount(unit)[units] - 1)
    counted = np.ones(unit.size), (document[unit], codes)
    met = weights, (document[units], cell)
    return Coincidences(
        values=values,
        counts=sparse.csr_array(counted, shape=(documents, values.size)),
        meetings=sparse.csr_array(met, shape=(documents, cells.size)),
        one=cells // values.size,
        other=cells % values.size,
    )


def _meetings(unit: Codes, codes: Codes, times: Codes) -> Codes:
    """Every two different values of one unit: the unit, both codes, and how often they meet.

    From each unit's distinct values, the units one after another.
    """
    found = [np.empty((4, 0), np.intp)]
    for apart in range(1, np.bincount(unit).max()):
        one = np.flatnonzero(unit[apart:] == unit[:-apart])
        other = one + apart
        found.append(np.stack([unit[one], codes[one], codes[other], times[one] * times[other]]))
    return np.concatenate(found, axis=1)
