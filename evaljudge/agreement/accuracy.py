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
from .pairs import Floats

Singles = NDArray[np.float32]
MAX_COMPARED = 1000  # candidates of one document, or systems: every pair of them is looked at
DECIMALS = 9  # gains that agree in so many are equal, whatever the order of their sum


@dataclass(frozen=True, slots=True)
class Gaps:
    """The distances of scores on which epsilon decides; each pair weighs `weight`."""

    tied: Singles  # of the pairs that people tie: they agree from this epsilon on
    concordant: Singles  # of the pairs that agree until epsilon reaches them
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class PairOrders:
    """How scorer and people order every two candidates: (candidates, candidates) of one list, or
    (lists, candidates, candidates) of many.

    Distances are in single precision: 0.3 is as far from 0.2 as 0.2 from 0.1.
    """

    scores: NDArray[np.int8]  # signs of the differences
    human: NDArray[np.int8]
    apart: Singles  # distances of scores

    def balance(self) -> NDArray[np.int8]:
        """1 for a concordant pair, -1 for a discordant one."""
        return self.scores * self.human

    def agreeing(self, epsilon: float) -> NDArray[np.bool_]:
        """Pairs on whose order both agree, or that both tie."""
        agreed: NDArray[np.bool_] = self.scores * (self.apart > np.float32(epsilon)) == self.human
        return agreed

    def gaps(self, weight: float = 1.0) -> Gaps:
        tied, concordant = (
            self.apart[np.triu(kept, 1)] for kept in (self.human == 0, self.balance() > 0)
        )
        return Gaps(tied, concordant, weight)


def pair_orders(x: Floats, y: Floats) -> PairOrders:
    apart = np.empty((*x.shape, x.shape[-1]), np.float32)
    np.subtract(x[..., None], x[..., None, :], out=apart)
    return PairOrders(
        scores=signs(x[..., None], x[..., None, :]),
        human=signs(y[..., None], y[..., None, :]),
        apart=np.abs(apart, out=apart),
    )


def calibrated(parts: Sequence[Gaps]) -> float:
    """The smallest epsilon of the greatest accuracy, found by sorting the pairs once.

    Accuracy rises only where a pair that people tie becomes tied: only those and 0 are tried.
    """
    weights = [part.weight for part in parts]
    tied, concordant = [part.tied for part in parts], [part.concordant for part in parts]
    epsilons = np.unique(np.concatenate([np.zeros(1, np.float32), *tied]))
    gains = _within(epsilons, tied, weights) - _within(epsilons, concordant, weights)
    return float(epsilons[np.argmax(np.round(gains, DECIMALS))])


def repeated_accuracies(x: Floats, y: Floats, weights: Floats, epsilon: float) -> Floats:
    """(lists, resamples) from (lists, columns), and whole (lists, resamples, columns)."""
    if np.isnan(epsilon):
        return np.full(weights.shape[:2], np.nan)
    agreeing = pair_orders(x, y).agreeing(epsilon).astype(np.float64)
    return share(((weights @ agreeing) * weights).sum(axis=2), weights.sum(axis=2))


def row_accuracies(x: Floats, y: Floats, weights: Floats, epsilon: float) -> Floats:
    """One per row; what is absent (NaN) must weigh nothing."""
    found = np.full(len(x), np.nan)
    step = max(1, BUDGET // max(1, x.shape[1] ** 2))
    for start in range(0, len(x), step):
        part = slice(start, start + step)
        found[part] = repeated_accuracies(x[part], y[part], weights[part, None], epsilon)[:, 0]
    return found


def share(agreed: Floats, sizes: Floats) -> Floats:
    """Of the ordered pairs of two; every candidate's agreement with itself is taken away."""
    return quotient(agreed - sizes, sizes * (sizes - 1.0))


def _within(epsilons: Singles, apart: Sequence[Singles], weights: Sequence[float]) -> Floats:
    """The weight of the distances up to each epsilon."""
    total = np.zeros(epsilons.size)
    for weight in sorted(set(weights)):
        alike = [part for part, its in zip(apart, weights, strict=True) if its == weight]
        distances = np.sort(np.concatenate(alike))
        total += weight * np.searchsorted(distances, epsilons, side="right")
    return total
