"""Do raters give the same labels, beyond chance? Cohen's kappa of two, Krippendorff's alpha of any.

    >>> cohen_kappa([1, 2, 2, 1], [1, 2, 1, 1], documents=[0, 0, 1, 1])
    LabelAgreement(value=0.5, low=0.5, high=1.0, n=4, skipped=0, agreed=0.75, base_rate=0.75)

kappa = 1 - D_o / D_e: the mean distance between the two labels of a unit, over the mean distance
if each rater gave the same labels at random. The distance is 1 (plain), the labels' difference
(linear) or its square (quadratic). Where either rater gives one label throughout, agreement and
chance are equal: kappa is None, and so it is where more than MOST_LABELS labels occur, which are
measurements.

    >>> krippendorff_alpha([[1, 1], [1, 2], [2, 2], [3, nan]], [0, 0, 1, 1], metric="nominal")
    LabelAgreement(value=0.4444444444444444, ..., n=3, skipped=1, agreed=0.67, base_rate=0.5)

alpha = 1 - D_o / D_e: the mean squared distance between two values of one unit, over that between
any two values. A unit with m values counts m times, each of its m (m - 1) ordered pairs by
1 / (m - 1). The distance of two values is 1 (nominal), their difference (interval), or the
difference of their mean ranks (ordinal).

Intervals resample documents, as everywhere in the package.
"""

from dataclasses import dataclass, field
from functools import partial
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from .coefficients import quotient
from .documents import spread
from .pairs import Codes, Floats

Weights = Literal["linear", "quadratic"]
Metric = Literal["nominal", "ordinal", "interval"]
MOST_LABELS = 100  # every two of them are compared


@dataclass(frozen=True, slots=True)
class LabelAgreement:
    of: str = field(default="", kw_only=True)  # a scorer, or "human"; these three the caller names
    axis: str = field(default="", kw_only=True)
    coefficient: str = field(default="", kw_only=True)
    value: float | None  # None where undefined
    low: float | None  # 95% bootstrap interval over documents
    high: float | None
    n: int  # units behind the value
    skipped: int  # units left out
    agreed: float | None = None  # share of pairs of labels of one unit that are the same
    base_rate: float | None = None  # share of people's commonest label: it alone makes many agree
    documents: int = 0  # those of the units


def cohen_kappa(
    a: ArrayLike, b: ArrayLike, documents: ArrayLike, *,
    weights: Weights | None = None, resamples: int = 1000, seed: int = 0,
) -> LabelAgreement:  # fmt: skip
    """Cohen's kappa from one row per unit: two labels (numbers; NaN where missing; people's second)
    and the document's code."""
    ones, others = (np.asarray(side, dtype=np.float64) for side in (a, b))
    kept = np.isfinite(ones) & np.isfinite(others)
    units, document = np.unique(np.asarray(documents)[kept], return_inverse=True)
    n = int(np.count_nonzero(kept))
    skipped = kept.size - n
    labels, codes = np.unique(np.stack([ones[kept], others[kept]]), return_inverse=True)
    if not 0 < labels.size <= MOST_LABELS:
        return LabelAgreement(None, None, None, n=n, skipped=skipped)
    distances = _distances(labels, weights)
    first, second = codes.reshape(2, n)
    agreed, base_rate = float(np.mean(first == second)), float(np.bincount(second).max() / n)
    counts = (_counted(document, first, labels.size), _counted(document, second, labels.size))
    observed = np.bincount(document, distances[first, second]).astype(np.float64)
    statistic = partial(_kappas, counts, observed, distances)
    estimate = spread(statistic, units.size, resamples, seed, width=labels.size)
    return LabelAgreement(*estimate, n, skipped, agreed, base_rate, documents=units.size)


def _kappas(
    counts: tuple[Floats, Floats], observed: Floats, distances: Floats, drawn: Floats
) -> Floats:
    """1 - D_o / D_e, where D_o = observed / units and D_e = expected / units squared."""
    first, second = drawn @ counts[0], drawn @ counts[1]
    expected = ((first @ distances) * second).sum(axis=1)
    varied = np.minimum(np.count_nonzero(first, axis=1), np.count_nonzero(second, axis=1)) > 1
    return 1 - quotient((drawn @ observed) * first.sum(axis=1), np.where(varied, expected, 0.0))


def _distances(labels: Floats, weights: Weights | None) -> Floats:
    apart: Floats = np.abs(labels[:, None] - labels)
    if weights is None:
        return (apart > 0).astype(np.float64)
    return apart if weights == "linear" else apart**2


def _counted(document: Codes, codes: Codes, size: int) -> Floats:
    """(documents, labels): how often each label was given."""
    documents = int(document.max()) + 1
    flat = np.bincount(document * size + codes, minlength=documents * size)
    return flat.reshape(documents, size).astype(np.float64)


@dataclass(frozen=True, slots=True)
class Coincidences:
    """How often two values meet in a unit, by document: only those that differ and ever do."""

    values: Floats
    counts: sparse.csr_array  # (documents, values)
    meetings: sparse.csr_array  # (documents, cells): a meeting, both ways, weighs 2 / (m - 1)
    left: Codes  # each cell's two values
    right: Codes


def krippendorff_alpha(
    ratings: ArrayLike, documents: ArrayLike, *,
    metric: Metric, resamples: int = 1000, seed: int = 0,
) -> LabelAgreement:  # fmt: skip
    """Krippendorff's alpha from (units, raters), NaN where missing, and each unit's document. A
    unit with fewer than two values is skipped; raters need not be the same people in every unit."""
    table = np.asarray(ratings, dtype=np.float64)
    kept = np.isfinite(table).sum(axis=1) >= 2
    units, document = np.unique(np.asarray(documents)[kept], return_inverse=True)
    if not kept.any():
        return LabelAgreement(None, None, None, n=0, skipped=kept.size)
    coincidences = _coincidences(table[kept], document, units.size)
    width = max(coincidences.values.size, coincidences.left.size)
    estimate = spread(partial(_alphas, coincidences, metric), units.size, resamples, seed, width)
    n, counts = int(np.count_nonzero(kept)), coincidences.counts.sum(axis=0)
    return LabelAgreement(
        *estimate,
        n=n,
        skipped=kept.size - n,
        agreed=float(1 - coincidences.meetings.sum() / counts.sum()),
        base_rate=float(counts.max() / counts.sum()),
        documents=units.size,
    )


def _alphas(coincidences: Coincidences, metric: Metric, drawn: Floats) -> Floats:
    counts: Floats = drawn @ coincidences.counts
    total = counts.sum(axis=1)
    if metric == "nominal":
        apart: Floats | float = 1.0
        expected = total**2 - (counts**2).sum(axis=1)
    else:
        mean_ranks = np.cumsum(counts, axis=1) - counts / 2
        places = coincidences.values[None] if metric == "interval" else mean_ranks
        apart = (places[:, coincidences.left] - places[:, coincidences.right]) ** 2
        middles = quotient((counts * places).sum(axis=1), total)[:, None]
        expected = 2 * total * (counts * (places - middles) ** 2).sum(axis=1)
    observed = ((drawn @ coincidences.meetings) * apart).sum(axis=1)
    # Values that are all one leave rounding noise; counting them does not.
    varied = np.count_nonzero(counts, axis=1) > 1
    return 1 - quotient(observed * (total - 1), np.where(varied, expected, 0.0))


def _coincidences(table: Floats, document: Codes, documents: int) -> Coincidences:
    unit, rater = np.nonzero(np.isfinite(table))
    values, codes = np.unique(table[unit, rater], return_inverse=True)
    used, times = np.unique(unit * values.size + codes, return_counts=True)
    units, ones, others, meetings = _meetings(used // values.size, used % values.size, times)
    cells, cell = np.unique(ones * values.size + others, return_inverse=True)
    weights = 2.0 * meetings / (np.bincount(unit)[units] - 1)
    counted = np.ones(unit.size), (document[unit], codes)
    parts = weights, (document[units], cell)
    return Coincidences(
        values=values,
        counts=sparse.csr_array(counted, shape=(documents, values.size)),
        meetings=sparse.csr_array(parts, shape=(documents, cells.size)),
        left=cells // values.size,
        right=cells % values.size,
    )


def _meetings(unit: Codes, codes: Codes, times: Codes) -> Codes:
    """Every two different values of one unit: the unit, both codes, and how often they meet."""
    pairs = [np.empty((4, 0), np.intp)]
    for apart in range(1, np.bincount(unit).max()):
        left = np.flatnonzero(unit[apart:] == unit[:-apart])
        right = left + apart
        pairs.append(np.stack([unit[left], codes[left], codes[right], times[left] * times[right]]))
    return np.concatenate(pairs, axis=1)
