"""Pairwise accuracy with tie calibration (Deutsch, Foster and Freitag 2023, "Ties Matter").

scores [1 2 2.1], human [1 2 2] -> epsilon 0.1: 2 and 2.1 are tied for both -> accuracy 3 of 3

A scorer rarely gives two texts the same number, people often do: so scores are tied where they
differ by at most epsilon, and epsilon is the smallest that makes most pairs agree in order or in
being tied. An epsilon of NaN says that nobody asked, or that there were too many pairs to look at:
then accuracy is NaN and costs nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .coefficients import BUDGET
from .orders import Compared, Singles, compared
from .pairs import Floats

MAX_COMPARED = 1000  # candidates of one document, or systems: every pair of them is looked at
DECIMALS = 9  # gains that agree in so many are equal, whatever the order of their sum


@dataclass(frozen=True, slots=True)
class Gaps:
    """How far apart the scores are, where that decides; each pair weighs `weight`."""

    tied: Singles
    concordant: Singles
    weight: float = 1.0


def gaps(pairs: Compared, weight: float = 1.0) -> Gaps:
    return Gaps(pairs.tied(), pairs.concordant(), weight)


def calibrated(parts: Sequence[Gaps]) -> float:
    """The smallest epsilon of the greatest accuracy, found by sorting the pairs once.

    Accuracy rises only where a pair that people tie becomes tied: nothing else is tried but 0.
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
    table = compared(x, y).agreeing(epsilon).astype(np.float64)
    return share(((weights @ table) * weights).sum(axis=2), weights.sum(axis=2))


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
    found = np.full(np.shape(agreed), np.nan)
    np.divide(agreed - sizes, sizes * (sizes - 1.0), out=found, where=sizes > 1)
    return found


def _within(epsilons: Singles, apart: Sequence[Singles], weights: Sequence[float]) -> Floats:
    """The weight of the distances up to each epsilon."""
    if not apart:
        return np.zeros(epsilons.size)
    distances = np.concatenate(apart)
    if len(set(weights)) == 1:
        ranked = np.sort(distances)
        return weights[0] * np.searchsorted(ranked, epsilons, side="right").astype(np.float64)
    order = np.argsort(distances, kind="stable")
    heaped = np.cumsum(np.repeat(weights, [part.size for part in apart])[order])
    reached = np.searchsorted(distances[order], epsilons, side="right")
    return np.append(0.0, heaped)[reached]
