"""Pairwise accuracy with tie calibration (Deutsch, Foster and Freitag 2023, "Ties Matter").

scores [1 2 2.1], human [1 2 2] -> epsilon 0.1: 2 and 2.1 are tied for both -> accuracy 3 of 3

A scorer rarely gives two texts the same number, but people often do. So scores are tied where they
differ by at most epsilon: the smallest with which most pairs agree in order or in being tied. An
epsilon of NaN means that accuracy was not asked for, or that there are too many pairs: it is NaN.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from .coefficients import BUDGET, quotient, signs
from .pairs import Codes, Floats, Two

Singles = NDArray[np.float32]
MAX_COMPARED = 1000  # candidates of one document, or systems: every pair of them is looked at
NEARER = np.arange(-4, 1)  # a sixteenth of the range of the scores, an eighth, ..., all
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

    def halved(self) -> "Ordering":
        """Every two candidates once, in one row for each list."""
        size = self.signs.shape[-1]
        once = np.flatnonzero(np.triu(np.ones((size, size), np.bool_), 1))
        lists = *self.signs.shape[:-2], size**2
        signs, apart = self.signs.reshape(lists), self.apart.reshape(lists)
        return Ordering(signs.take(once, axis=-1), apart.take(once, axis=-1))

    def agreeing(self, human: NDArray[np.int8], epsilon: float) -> NDArray[np.bool_]:
        """Pairs on whose order both agree, or that both tie; `human`: signs."""
        return self.signs * (self.apart > np.float32(epsilon)) == human

    def gaps(self, human: "Ordering", weight: float = 1.0) -> Gaps:
        """The distances of pairs that people tie, and of concordant pairs, each pair once."""
        tied, concordant = human.signs == 0, self.signs * human.signs > 0
        return Gaps(self.apart[tied], self.apart[concordant], weight)


def distances(x: Floats) -> Singles:
    """The distance between every two scores of each list."""
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


def calibrated_lists(x: Floats, ratings: Sequence[Floats]) -> list[float]:
    """The epsilons of `calibrated` for one list of scores with each of the ratings.

    No more than all pairs that people tie can be gained, and what is lost up to an epsilon is lost
    with any larger one. So pairs that are far apart need no look once these cannot do better.
    """
    epsilons, order = [0.0] * len(ratings), np.argsort(x)
    if x.size < 2:
        return epsilons
    x, pending = x[order], {place: y[order] for place, y in enumerate(ratings)}
    for reach in np.ldexp(x[-1] - x[0], NEARER):
        if not pending:
            break
        limit = np.float32(reach)
        near = NearPairs.of(x, limit)
        for place, y in list(pending.items()):
            gaps = near.gaps(y)
            tied = gaps.tied[gaps.tied <= limit]
            epsilon = epsilons[place] = calibrated([replace(gaps, tied=tied)])
            lost = np.count_nonzero((gaps.concordant > epsilon) & (gaps.concordant <= limit))
            times = np.unique(y, return_counts=True)[1]
            if np.count_nonzero(tied <= epsilon) + lost >= (times * (times - 1) // 2).sum():
                del pending[place]
    return epsilons


@dataclass(frozen=True, slots=True)
class NearPairs:
    """All pairs of sorted scores up to a limit apart, and perhaps some more."""

    later: Codes  # how many pairs each score begins
    other: Codes  # the place of the larger score of each pair
    apart: Singles
    is_larger: NDArray[np.bool_]  # or equal

    @classmethod
    def of(cls, x: Floats, limit: np.float32) -> "NearPairs":
        places = np.arange(x.size)
        beyond = np.searchsorted(x, x + np.nextafter(limit, np.float32(np.inf)), side="right")
        later = beyond - places - 1
        other = np.arange(later.sum()) + np.repeat(beyond - np.cumsum(later), later)
        ahead = x[other] - np.repeat(x, later)
        return cls(later, other, ahead.astype(np.float32), ahead > 0)

    def gaps(self, y: Floats) -> Gaps:
        ahead = y[self.other] - np.repeat(y, self.later)
        return Gaps(self.apart[ahead == 0], self.apart[(ahead > 0) & self.is_larger])


def accuracies(
    values: Floats, compared: Sequence[Two], weights: Floats, epsilons: Floats
) -> Floats:
    """The accuracies (comparisons, lists, resamples) from (columns, lists, pairs).

    Weights are whole, (lists, resamples, pairs); what is absent (NaN) must weigh nothing.
    """
    shares = np.full((len(compared), *weights.shape[:2]), np.nan)
    if np.isnan(epsilons).all():
        return shares
    columns, lists, pairs = values.shape
    step = max(1, 2 * BUDGET // max(1, columns * pairs**2))
    for start in range(0, lists, step):
        part = slice(start, start + step)
        orders = [Ordering.of(column) for column in values[:, part]]
        sizes = weights[part].sum(axis=2)
        for place, (x, y) in enumerate(compared):
            agreeing = orders[x].agreeing(orders[y].signs, epsilons[place]).astype(np.float64)
            agreed = ((weights[part] @ agreeing) * weights[part]).sum(axis=2)
            shares[place, part] = share(agreed, sizes)
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
