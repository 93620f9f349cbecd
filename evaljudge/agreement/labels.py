"""Do two raters give the same labels, beyond chance? Cohen's kappa, plain or weighted.

    >>> cohen_kappa([1, 1, 2, 2], [1, 1, 2, 1], documents=[0, 0, 1, 1])
    LabelAgreement(value=0.5, low=0.0, high=0.5, n=4, skipped=0)

kappa = 1 - D_o / D_e: the mean distance between the two labels of a unit, over the mean distance
had each rater dealt the same labels at random. Where neither varies there is no D_e and no kappa.
Intervals resample documents, as everywhere in the package.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from .pairs import Codes, Floats
from .spread import quotient, spread

Weights = Literal["linear", "quadratic"]


@dataclass(frozen=True, slots=True)
class LabelAgreement:
    value: float | None  # None where undefined
    low: float | None  # 95% bootstrap interval over documents
    high: float | None
    n: int  # units behind the value
    skipped: int  # units left out


def cohen_kappa(
    a: ArrayLike,
    b: ArrayLike,
    documents: ArrayLike,
    *,
    weights: Weights | None = None,
    labels: Sequence[float] | None = None,
    resamples: int = 1000,
    seed: int = 0,
) -> LabelAgreement:
    """From one row per unit: two labels (numbers; NaN where missing) and the document's code.

    `labels` are all there are, in their order, which is what weights go by: by default, those
    that occur, by size. A label that is none of them is missing. A unit without two is skipped.
    """
    columns = [np.asarray(side, dtype=np.float64) for side in (a, b)]
    order = np.unique(np.concatenate(columns)) if labels is None else np.asarray(labels, np.float64)
    order = order[np.isfinite(order)]
    ones, others = (_positions(column, order) for column in columns)
    kept = (ones >= 0) & (others >= 0)
    ones, others = ones[kept], others[kept]
    units, document = np.unique(np.asarray(documents)[kept], return_inverse=True)
    distances = _distances(order.size, weights)
    statistic = partial(
        _kappas,
        _counted(document, ones, units.size, order.size),
        _counted(document, others, units.size, order.size),
        np.bincount(document, distances[ones, others], units.size).astype(np.float64),
        distances,
    )
    value, low, high = spread(statistic, units.size, resamples, seed)
    return LabelAgreement(value, low, high, n=ones.size, skipped=kept.size - ones.size)


def _kappas(
    ones: Floats, others: Floats, observed: Floats, distances: Floats, drawn: Floats
) -> Floats:
    """1 - D_o / D_e, where D_o = observed / units and D_e = expected / units squared."""
    first, second = drawn @ ones, drawn @ others
    expected = ((first @ distances) * second).sum(axis=1)
    return 1 - quotient((drawn @ observed) * first.sum(axis=1), expected)


def _distances(size: int, weights: Weights | None) -> Floats:
    places = np.arange(size, dtype=np.float64)
    apart: Floats = np.abs(places[:, None] - places)
    if weights is None:
        return np.minimum(apart, 1.0)
    return apart if weights == "linear" else apart**2


def _positions(column: Floats, order: Floats) -> Codes:
    """Each label's place in the order; -1 where it has none."""
    found = column[:, None] == order
    return (
        np.where(found.any(axis=1), found.argmax(axis=1), -1)
        if order.size
        else np.full(column.size, -1)
    )


def _counted(document: Codes, codes: Codes, documents: int, size: int) -> Floats:
    """(documents, labels): how often each label was given."""
    flat = np.bincount(document * size + codes, minlength=documents * size)
    return flat.reshape(documents, size).astype(np.float64)
