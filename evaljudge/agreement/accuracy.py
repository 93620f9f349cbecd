"""Pairwise accuracy with tie calibration (Deutsch, Foster and Freitag 2023, "Ties Matter").

scores [1 2 2.1], human [1 2 2] -> epsilon 0.1: 2 and 2.1 are tied for both -> accuracy 3 of 3

A scorer rarely gives two texts the same number, but people often do. So scores are tied where they
differ by at most epsilon: the smallest with which most pairs agree in order or in being tied. An
epsilon of NaN means that accuracy was not asked for, or that there are too many pairs: it is NaN.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .coefficients import BUDGET, quotient, signs
from .pairs import Floats, Two

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
