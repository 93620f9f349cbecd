"""System level: how the systems' mean scores agree with their mean ratings."""

from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy import sparse  # type: ignore[import-untyped, unused-ignore]

from .accuracy import MAX_COMPARED, calibrated, gaps, row_accuracies
from .coefficients import row_correlations
from .estimate import COEFFICIENTS, Draws, Estimate
from .orders import compared
from .pairs import Floats, Pairs

ROUNDING_BITS = 40  # two means that agree in so many bits (a part in 10^12) are tied


@dataclass(frozen=True, slots=True)
class Sums:
    """One side (scores or ratings), summed for each document and system: a sparse table."""

    table: sparse.csr_array
    typical: Floats  # each system's mean magnitude: what rounding errors are relative to


@dataclass(frozen=True, slots=True)
class Sides:
    scores: Sums
    human: Sums
    counts: sparse.csr_array

    def means(self, weights: Floats) -> tuple[Floats, Floats]:
        """(resamples, systems), from how often each document was drawn; NaN without a pair."""
        drawn = weights @ self.counts
        return _means(self.scores, drawn, weights), _means(self.human, drawn, weights)


def system_level(pairs: Pairs, *, accuracy: bool = True) -> Estimate:
    """Without `accuracy`, its value is NaN."""
    sides = Sides(
        _sums(pairs, pairs.scores),
        _sums(pairs, pairs.human),
        _table(pairs, np.ones(pairs.documents.size)),
    )
    once = Draws(np.ones((1, pairs.document_count)), np.ones((1, pairs.system_count)))
    epsilon = _epsilon(*sides.means(once.documents)) if accuracy else np.nan
    replicate = partial(mean_coefficients, sides, epsilon)
    return Estimate(
        level="system",
        values=replicate(once)[:, 0],
        units=(pairs.system_count,) * len(COEFFICIENTS),
        skipped=(pairs.lost_systems,) * len(COEFFICIENTS),
        epsilon=epsilon,
        replicate=replicate,
    )


def mean_coefficients(sides: Sides, epsilon: float, draws: Draws) -> Floats:
    """(5, resamples): a system that a resample lacks is absent from its row."""
    scores, human = sides.means(draws.documents)
    correlations = row_correlations(scores, human, draws.systems)
    weights = np.where(np.isfinite(scores), draws.systems, 0.0)
    accuracies = row_accuracies(scores, human, weights, epsilon)
    return np.vstack([correlations, accuracies])


def _epsilon(scores: Floats, human: Floats) -> float:
    if scores.size > MAX_COMPARED:
        return np.nan
    return calibrated([gaps(compared(scores[0], human[0]))])


def _sums(pairs: Pairs, values: Floats) -> Sums:
    counts = np.bincount(pairs.systems, minlength=pairs.system_count)
    totals = np.bincount(pairs.systems, weights=np.abs(values), minlength=pairs.system_count)
    return Sums(_table(pairs, values), totals / counts)


def _table(pairs: Pairs, values: Floats) -> sparse.csr_array:
    shape = (pairs.document_count, pairs.system_count)
    return sparse.csr_array((values, (pairs.documents, pairs.systems)), shape=shape)


def _means(sums: Sums, drawn: Floats, weights: Floats) -> Floats:
    means = np.full(drawn.shape, np.nan)
    np.divide(weights @ sums.table, drawn, out=means, where=drawn > 0)
    return _settled(means, sums.typical)


def _settled(means: Floats, typical: Floats) -> Floats:
    """Without the last bits, where the order of summation alone would break or invent ties."""
    mantissa, exponent = np.frexp(means)
    rounded = np.ldexp(np.rint(np.ldexp(mantissa, ROUNDING_BITS)), exponent - ROUNDING_BITS)
    return np.where(np.abs(means) < np.ldexp(typical, -ROUNDING_BITS), 0.0, rounded)
