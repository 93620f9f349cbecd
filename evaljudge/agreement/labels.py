"""Do two raters give the same labels, beyond chance? Cohen's kappa, plain or weighted.

    >>> cohen_kappa([1, 2, 2, 1], [1, 2, 1, 1], documents=[0, 0, 1, 1])
    LabelAgreement(value=0.5, low=0.5, high=1.0, n=4, skipped=0)

kappa = 1 - D_o / D_e: the mean distance between the two labels of a unit, over the mean distance
if each rater gave the same labels at random. Labels are apart by 1 (plain), by their difference
(linear) or by its square (quadratic): 1, 2 and 5 are labels of the scale 1..5. Where either rater
gives one label throughout, agreement cannot be told from chance: kappa is None, and so it is of
such a resample. It is None too where more than MOST_LABELS labels occur: those are measurements.
Intervals resample documents, as everywhere in the package.
"""

from dataclasses import dataclass, field
from functools import partial
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from .bootstrap import spread
from .coefficients import quotient
from .pairs import Codes, Floats

Weights = Literal["linear", "quadratic"]
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


def cohen_kappa(
    a: ArrayLike, b: ArrayLike, documents: ArrayLike, *,
    weights: Weights | None = None, resamples: int = 1000, seed: int = 0,
) -> LabelAgreement:  # fmt: skip
    """From one row per unit: two labels (numbers; NaN where missing) and the document's code.

    A unit without two is skipped.
    """
    ones, others = (np.asarray(side, dtype=np.float64) for side in (a, b))
    kept = np.isfinite(ones) & np.isfinite(others)
    units, document = np.unique(np.asarray(documents)[kept], return_inverse=True)
    n = int(np.count_nonzero(kept))
    skipped = kept.size - n
    labels, codes = np.unique(np.stack([ones[kept], others[kept]]), return_inverse=True)
    if not 1 < labels.size <= MOST_LABELS:
        return LabelAgreement(None, None, None, n=n, skipped=skipped)
    distances = _distances(labels, weights)
    first, second = codes.reshape(2, n)
    counts = (_counted(document, first, labels.size), _counted(document, second, labels.size))
    observed = np.bincount(document, distances[first, second]).astype(np.float64)
    statistic = partial(_kappas, counts, observed, distances)
    found = spread(statistic, units.size, resamples, seed, width=labels.size)
    return LabelAgreement(*found, n=n, skipped=skipped)


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
