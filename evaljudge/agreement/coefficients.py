"""Spearman, Kendall's tau-b and Pearson, in that order: of one list, and of many rows at once.

All three are one cosine, sum(ab) / sqrt(sum(aa) sum(bb)): of centred values (Pearson), of centred
mean ranks (Spearman), of the signs of all differences (tau-b). A vector that does not vary has no
direction: NaN.
"""

import numpy as np
from scipy import stats  # type: ignore[import-untyped, unused-ignore]

from .pairs import Floats

BUDGET = 2**18  # numbers in one temporary array: small enough to stay in cache
WIDE = 256  # from this many columns on, sorting each row beats comparing all its pairs


def correlations(x: Floats, y: Floats) -> Floats:
    """The three coefficients of one list of pairs."""
    return _narrow(x[None], y[None])[:, 0] if x.size < WIDE else _sorted(x, y)


def row_correlations(x: Floats, y: Floats) -> Floats:
    """(3, rows): the coefficients of each row; NaN marks an absent pair, alike in x and y."""
    rows, columns = x.shape
    found = np.full((3, rows), np.nan)
    step = 1 if columns >= WIDE else max(1, BUDGET // max(1, columns**2))
    for start in range(0, rows, step):
        part = slice(start, start + step)
        found[:, part] = (
            _present(x[part], y[part]) if columns >= WIDE else _narrow(x[part], y[part])
        )
    return found


def cosine(a: Floats, b: Floats, weights: Floats | float = 1.0) -> Floats:
    """Along the last axis; NaN where a or b is all zeros."""
    weighted_a, weighted_b = weights * a, weights * b
    lengths = (weighted_a * a).sum(axis=-1) * (weighted_b * b).sum(axis=-1)
    return ratio((weighted_a * b).sum(axis=-1), np.sqrt(lengths))


def ratio(above: Floats, below: Floats) -> Floats:
    """A correlation from its two halves: NaN where it is undefined, never past 1 by rounding."""
    found = np.full(np.shape(below), np.nan)
    np.divide(above, below, out=found, where=below > 0)
    return np.clip(found, -1.0, 1.0)


def _present(x: Floats, y: Floats) -> Floats:
    present = np.isfinite(x)
    return correlations(x[present], y[present])[:, None]


def _narrow(x: Floats, y: Floats) -> Floats:
    signs_x, signs_y = _signs(x), _signs(y)
    # A row sum counts the values below less those above: twice the centred mean rank.
    spearman = cosine(signs_x.sum(axis=2), signs_y.sum(axis=2))
    kendall = cosine(signs_x.reshape(len(x), -1), signs_y.reshape(len(y), -1))
    pearson = cosine(_centred(x), _centred(y))
    # Centring a constant leaves rounding noise; the signs know exactly.
    return np.stack([spearman, kendall, np.where(np.isnan(kendall), np.nan, pearson)])


def _signs(x: Floats) -> Floats:
    above = (x[:, :, None] > x[:, None, :]).astype(np.float64)
    return above - above.transpose(0, 2, 1)


def _centred(x: Floats) -> Floats:
    present = np.isfinite(x)
    counts = np.maximum(present.sum(axis=1, keepdims=True), 1)
    means = np.where(present, x, 0.0).sum(axis=1, keepdims=True) / counts
    return np.where(present, x - means, 0.0)


def _sorted(x: Floats, y: Floats) -> Floats:
    """In O(n log n)."""
    if x.min() == x.max() or y.min() == y.max():
        return np.full(3, np.nan)
    ranks_x, ranks_y = stats.rankdata(x), stats.rankdata(y)
    spearman = cosine(ranks_x - ranks_x.mean(), ranks_y - ranks_y.mean())
    kendall = stats.kendalltau(ranks_x, ranks_y, variant="b", method="asymptotic").statistic
    return np.array([spearman, kendall, cosine(x - x.mean(), y - y.mean())])
