"""Spearman, Kendall's tau-b, Pearson and Kendall's tau-c, in that order: of one list or of many.

The first three are one cosine, sum(ab) / sqrt(sum(aa) sum(bb)): of centred mean ranks (Spearman),
of the signs of all differences (tau-b), of centred values (Pearson). Tau-c (Stuart's) divides the
same balance of signs by its greatest value for lists of n with m distinct values in the poorer
one, n^2 (m - 1) / m. A vector that does not vary has no direction: NaN.

Pairwise accuracy with tie calibration (Deutsch, Foster and Freitag 2023, "Ties Matter").

scores [1 2 2.1], human [1 2 2] -> epsilon 0.1: 2 and 2.1 are tied for both -> accuracy 3 of 3

A scorer rarely gives two texts the same number, but people often do. So scores are tied where they
differ by at most epsilon: the smallest with which most pairs agree in order or in being tied. An
epsilon of NaN means that accuracy was not asked for, or that there are too many pairs: it is NaN.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from evaljudge.agreement.pairs import Floats, Two

Coefficient = Literal["spearman", "kendall", "pearson", "kendall_c", "accuracy"]
SystemCoefficient = Literal["soft_accuracy"]
"""Coefficients of the system level only: see soft.py."""
Correlation = Literal["spearman", "kendall", "pearson"]
"""The coefficients of two lists that are the same whichever list comes first."""
COEFFICIENTS: tuple[Coefficient, ...] = get_args(Coefficient)
CORRELATIONS: tuple[Correlation, ...] = get_args(Correlation)
BUDGET = 2**18  # numbers in one temporary array: small enough to stay in cache
WIDE = 256  # from this many columns on, sorting each row beats comparing all its pairs
COUNT = 4


def correlations(x: Floats, y: Floats) -> Floats:
    if x.size >= WIDE:
        return _sorted(x, y)
    return _compared(np.stack([x[None], y[None]]), [(0, 1)])[0, :, 0]


@dataclass(frozen=True, slots=True)
class Side:
    """Lists of scores, or of ratings; NaN is absent."""

    signs: NDArray[np.int8]  # (lists, columns, columns), of the differences
    ranks: Floats  # (lists, columns): twice the centred mean ranks
    untied: Floats  # (lists): ordered pairs
    distinct: Floats  # (lists): values
    centred: Floats  # (lists, columns): values

    @classmethod
    def of(cls, x: Floats) -> "Side":
        present, compared = np.isfinite(x), signs(x[:, :, None], x[:, None, :])
        # each value counts where it comes first
        is_first = ~np.triu(x[:, :, None] == x[:, None, :], 1).any(axis=1)
        values, sizes = np.where(present, x, 0.0), present.sum(axis=1, keepdims=True)
        means = values.sum(axis=1, keepdims=True) / np.maximum(sizes, 1)
        return cls(
            signs=compared,
            # Sums of signs count what is above less what is below: twice the centred mean rank.
            ranks=compared.sum(axis=1, dtype=np.float64),
            untied=np.abs(compared).sum(axis=(1, 2), dtype=np.float64),
            distinct=(is_first & present).sum(axis=1, dtype=np.float64),
            centred=np.where(present, values - means, 0.0),
        )


def row_correlations(x: Floats, y: Floats) -> Floats:
    """The coefficients of each row (4, rows); NaN marks an absent pair, alike in x and y."""
    return column_correlations(np.stack([x, y]), [(0, 1)])[0]


def column_correlations(values: Floats, compared: Sequence[Two]) -> Floats:
    """The coefficients (comparisons, 4, rows), likewise, from (columns, rows, pairs)."""
    columns, rows, pairs = values.shape
    present = np.isfinite(values[0])
    coefficients = np.full((len(compared), COUNT, rows), np.nan)
    step = 1 if pairs >= WIDE else max(1, 2 * BUDGET // max(1, columns * pairs**2))
    for start in range(0, rows, step):
        part = slice(start, start + step)
        if pairs >= WIDE:
            lists = values[:, start, present[start]]
            for place, (left, right) in enumerate(compared):
                coefficients[place, :, start] = correlations(lists[left], lists[right])
        else:
            coefficients[:, :, part] = _compared(values[:, part], compared)
    return coefficients


def _compared(values: Floats, compared: Sequence[Two]) -> Floats:
    """The coefficients (comparisons, 4, lists) from (columns, lists, pairs)."""
    sides = [Side.of(column) for column in values]
    sizes = np.isfinite(values[0]).sum(axis=1)
    return np.stack([_of_sides(sides[left], sides[right], sizes) for left, right in compared])


def _of_sides(x: Side, y: Side, sizes: NDArray[np.int_]) -> Floats:
    spearman = cosine(x.ranks, y.ranks)
    balance = (x.signs * y.signs).sum(axis=(1, 2), dtype=np.float64)
    kendall = ratio(balance, np.sqrt(x.untied * y.untied))
    # Centring a constant leaves rounding noise; the signs know exactly.
    linear = np.where(np.isnan(kendall), np.nan, cosine(x.centred, y.centred))
    kendall_c = stuart(balance, sizes, x.distinct, y.distinct)
    return np.stack([spearman, kendall, linear, kendall_c])


def spearmans(x: Floats, y: Floats) -> Floats:
    """Along the last axis; NaN where x or y does not vary."""
    return cosine(centred_ranks(x), centred_ranks(y))


def centred_ranks(values: Floats) -> Floats:
    """Along the last axis: mean ranks less their mean, [5 7 7] -> [-1 .5 .5]."""
    from scipy.stats import rankdata  # here, since it takes long to import

    return rankdata(values, axis=-1) - (values.shape[-1] + 1) / 2


def pearson(x: Floats, y: Floats) -> float:
    """Pearson's correlation of lists that are not constant."""
    return float(cosine(x - x.mean(), y - y.mean()))


def cosine(a: Floats, b: Floats) -> Floats:
    """Along the last axis; NaN where a or b is all zeros."""
    lengths = (a * a).sum(axis=-1) * (b * b).sum(axis=-1)
    return ratio((a * b).sum(axis=-1), np.sqrt(lengths))


def stuart(
    balance: Floats, sizes: NDArray[np.int_], distinct_x: Floats, distinct_y: Floats
) -> Floats:
    """Tau-c from concordant less discordant ordered pairs."""
    distinct = np.maximum(np.minimum(distinct_x, distinct_y), 1.0)
    return ratio(balance, sizes**2 * (distinct - 1.0) / distinct)


def ratio(above: Floats, below: Floats) -> Floats:
    """A correlation as a quotient, which rounding never takes past 1."""
    return np.clip(quotient(above, below), -1.0, 1.0)


def quotient(above: Floats, below: Floats) -> Floats:
    """The quotient; NaN where there is nothing to divide by."""
    quotients = np.full(np.shape(below), np.nan)
    np.divide(above, below, out=quotients, where=below > 0)
    return quotients


def signs(x: Floats | NDArray[np.int16], y: Floats | NDArray[np.int16]) -> NDArray[np.int8]:
    """The signs of x - y; 0 where either is absent."""
    compared: NDArray[np.int8] = (x > y).view(np.int8)
    compared -= (x < y).view(np.int8)
    return compared


def _sorted(x: Floats, y: Floats) -> Floats:
    from scipy import stats  # here, since it takes long to import

    if x.min() == x.max() or y.min() == y.max():
        return np.full(COUNT, np.nan)
    kendall, kendall_c = (
        stats.kendalltau(x, y, variant=variant, method="asymptotic").statistic
        for variant in ("b", "c")
    )
    return np.array([spearmans(x, y), kendall, pearson(x, y), kendall_c])


Singles = NDArray[np.float32]
MAX_COMPARED = 1000  # candidates of one document, or systems: every pair of them is looked at
DECIMALS = 9  # gains that agree in so many are equal, whatever the order of their sum


@dataclass(frozen=True, slots=True)
class Gaps:
    """The distances of scores on which epsilon decides; each pair weighs `weight`."""

    tied: Singles  # distances of pairs that people tie: they agree from this epsilon on
    concordant: Singles  # distances of pairs that agree until epsilon reaches them
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class Ordering:
    """How scores, or ratings, order every two candidates of a list, or of each of many lists.

    Distances are in single precision: 0.3 is as far from 0.2 as 0.2 from 0.1.
    """

    signs: NDArray[np.int8]  # (lists, candidates, candidates), of the differences
    apart: Singles  # distances, in the same shape

    @classmethod
    def of(cls, x: Floats) -> "Ordering":
        return cls(signs(x[..., None], x[..., None, :]), distances(x))

    def agreeing(self, human: NDArray[np.int8], epsilon: float) -> NDArray[np.bool_]:
        """Pairs on whose order both agree, or that both tie; `human`: signs."""
        return self.signs * (self.apart > np.float32(epsilon)) == human

    def gaps(self, human: NDArray[np.int8], weight: float = 1.0) -> Gaps:
        """The distances of pairs that people tie, and of concordant pairs; `human`: signs."""
        once = np.triu(np.ones(self.signs.shape[-2:], np.bool_), 1)
        tied, concordant = once & (human == 0), once & (self.signs * human > 0)
        return Gaps(self.apart[tied], self.apart[concordant], weight)


def distances(x: Floats) -> Singles:
    apart = np.empty((*x.shape, x.shape[-1]), np.float32)
    np.subtract(x[..., None], x[..., None, :], out=apart)
    return np.abs(apart, out=apart)


def calibrated(parts: Sequence[Gaps]) -> float:
    """The smallest epsilon of the greatest accuracy, found by sorting the pairs once.

    Accuracy rises only where a pair that people tie becomes tied: only those and 0 are tried.
    """
    weights = [part.weight for part in parts]
    tied, concordant = [part.tied for part in parts], [part.concordant for part in parts]
    epsilons = np.unique(np.concatenate([np.zeros(1, np.float32), *tied]))
    gains = _within(epsilons, tied, weights) - _within(epsilons, concordant, weights)
    return float(epsilons[np.argmax(np.round(gains, DECIMALS))])


def accuracies(values: Floats, compared: Sequence[Two], epsilons: Floats) -> Floats:
    """The accuracies (comparisons, lists) from (columns, lists, pairs); NaN marks an absent pair,
    alike in all columns."""
    columns, lists, pairs = values.shape
    shares = np.full((len(compared), lists), np.nan)
    step = max(1, 2 * BUDGET // max(1, columns * pairs**2))
    for start in range(0, lists, step):
        part = slice(start, start + step)
        present = np.isfinite(values[0, part])
        both = present[:, :, None] & present[:, None, :]
        orders = [Ordering.of(column) for column in values[:, part]]
        for place, (x, y) in enumerate(compared):
            agreeing = both & orders[x].agreeing(orders[y].signs, epsilons[place])
            agreed = agreeing.sum(axis=(1, 2), dtype=np.float64)
            shares[place, part] = share(agreed, present.sum(axis=1, dtype=np.float64))
    return shares


def share(agreed: Floats, sizes: Floats) -> Floats:
    """The share of ordered pairs that agree, without each candidate's agreement with itself."""
    return quotient(agreed - sizes, sizes * (sizes - 1.0))


def _within(epsilons: Singles, apart: Sequence[Singles], weights: Sequence[float]) -> Floats:
    """The weight of the distances up to each epsilon."""
    total = np.zeros(epsilons.size)
    for weight in sorted(set(weights)):
        alike = [part for part, its in zip(apart, weights, strict=True) if its == weight]
        distances = np.sort(np.concatenate(alike))
        total += weight * np.searchsorted(distances, epsilons, side="right")
    return total
