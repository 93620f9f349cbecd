"""Do any number of raters give the same values, beyond chance? Krippendorff's alpha.

    >>> krippendorff_alpha([[1, 1], [1, 2], [2, 2], [3, nan]], [0, 0, 1, 1], metric="nominal")
    LabelAgreement(value=0.4444444444444444, low=..., high=..., n=3, skipped=1)

alpha = 1 - D_o / D_e: the mean squared distance between two values of one unit, over that between
any two values. A unit with m values counts m times, each of its m (m - 1) ordered pairs by
1 / (m - 1). Values are apart by 1 (nominal), by their difference (interval), or by how many values
lie from the middle of one value's heap to the middle of the other's (ordinal).
"""

from dataclasses import dataclass
from functools import partial
from itertools import permutations
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse  # type: ignore[import-untyped, unused-ignore]

from .labels import LabelAgreement
from .pairs import Codes, Floats
from .spread import quotient, spread

Metric = Literal["nominal", "ordinal", "interval"]


@dataclass(frozen=True, slots=True)
class Coincidences:
    """How often two values meet in a unit, by document: only those that ever do."""

    values: Floats
    counts: sparse.csr_array  # (documents, values)
    meetings: sparse.csr_array  # (documents, cells): each meeting weighs 1 / (m - 1)
    one: Codes  # each cell's two values
    other: Codes


def krippendorff_alpha(
    ratings: ArrayLike,
    documents: ArrayLike,
    *,
    metric: Metric,
    resamples: int = 1000,
    seed: int = 0,
) -> LabelAgreement:
    """From (units, raters), NaN where missing, and each unit's document. A unit with fewer than
    two values is skipped; raters need not be the same people in every unit.
    """
    table = np.asarray(ratings, dtype=np.float64)
    kept = np.isfinite(table).sum(axis=1) >= 2
    units, document = np.unique(np.asarray(documents)[kept], return_inverse=True)
    if not kept.any():
        return LabelAgreement(None, None, None, n=0, skipped=kept.size)
    met = _coincidences(table[kept], document, units.size)
    value, low, high = spread(partial(_alphas, met, metric), units.size, resamples, seed)
    n = int(np.count_nonzero(kept))
    return LabelAgreement(value, low, high, n=n, skipped=kept.size - n)


def _alphas(met: Coincidences, metric: Metric, drawn: Floats) -> Floats:
    counts: Floats = drawn @ met.counts
    total = counts.sum(axis=1)
    if metric == "nominal":
        apart: Floats | float = 1.0 * (met.one != met.other)
        expected = total**2 - (counts**2).sum(axis=1)
    else:
        places = _places(met.values, counts, metric)
        apart = (places[:, met.one] - places[:, met.other]) ** 2
        middles = quotient((counts * places).sum(axis=1), total)[:, None]
        expected = 2 * total * (counts * (places - middles) ** 2).sum(axis=1)
    observed = ((drawn @ met.meetings) * apart).sum(axis=1)
    # Values that are all one leave rounding noise; counting them does not.
    varied = np.count_nonzero(counts, axis=1) > 1
    return 1 - quotient(observed * (total - 1), np.where(varied, expected, 0.0))


def _places(values: Floats, counts: Floats, metric: Metric) -> Floats:
    if metric == "interval":
        return np.broadcast_to(values, counts.shape)
    return np.cumsum(counts, axis=1) - counts / 2


def _coincidences(table: Floats, document: Codes, documents: int) -> Coincidences:
    present = np.isfinite(table)
    given = present.sum(axis=1)
    values = np.unique(table[present])
    packed = np.sort(np.where(present, table, np.nan), axis=1)  # the absent come last
    codes = np.searchsorted(values, packed[:, : given.max(initial=0)])
    units, ones, others = _meetings(codes, given)
    cells, cell = np.unique(ones * values.size + others, return_inverse=True)
    unit, rater = np.nonzero(present)
    counted = np.searchsorted(values, table[unit, rater])
    return Coincidences(
        values=values,
        counts=_by_document(np.ones(unit.size), document[unit], counted, (documents, values.size)),
        meetings=_by_document(
            1.0 / (given[units] - 1), document[units], cell, (documents, cells.size)
        ),
        one=cells // values.size,
        other=cells % values.size,
    )


def _meetings(codes: Codes, given: Codes) -> tuple[Codes, Codes, Codes]:
    """Every ordered pair of values of one unit: the unit and both codes."""
    pairs = [
        (unit, codes[unit, one], codes[unit, other])
        for one, other in permutations(range(codes.shape[1]), 2)
        for unit in [np.flatnonzero(given > max(one, other))]
    ]
    none = np.empty(0, np.intp)
    units, ones, others = (np.concatenate([none, *side]) for side in zip(*pairs, strict=True))
    return units, ones, others


def _by_document(
    weights: Floats, documents: Codes, columns: Codes, shape: tuple[int, int]
) -> sparse.csr_array:
    return sparse.csr_array((weights, (documents, columns)), shape=shape)
