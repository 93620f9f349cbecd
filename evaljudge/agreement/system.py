"""System level: how the systems' mean scores agree with their mean ratings."""

from dataclasses import dataclass

import numpy as np
from scipy import sparse  # type: ignore[import-untyped, unused-ignore]

from .accuracy import MAX_COMPARED, calibrated, pair_orders, row_accuracies
from .bootstrap import Draws, Estimate
from .coefficients import COEFFICIENTS, quotient, row_correlations
from .pairs import Floats, Pairs

ROUNDING = 1e-12  # standard scores that differ by less are equal
ROUNDING_BITS = 40  # two means that agree in so many bits (a part in 10^12) are tied


@dataclass(frozen=True, slots=True)
class SystemSums:
    """One side (scores or ratings), summed for each document and system: a sparse table."""

    table: sparse.csr_array
    typical: Floats  # each system's mean magnitude: what rounding errors are relative to

    def means(self, drawn: Floats, weights: Floats) -> Floats:
        """(resamples, systems), from how often each document was drawn; NaN without a pair."""
        return settled_means(quotient(weights @ self.table, drawn), self.typical)


def system_level(pairs: Pairs, *, accuracy: bool = True) -> Estimate:
    """Without `accuracy`, its value is NaN."""
    scores, human = _sums(pairs, pairs.scores), _sums(pairs, pairs.human)
    counts = _table(pairs, np.ones(pairs.documents.size))

    def means(weights: Floats) -> tuple[Floats, Floats]:
        drawn = weights @ counts
        return scores.means(drawn, weights), human.means(drawn, weights)

    def replicate(draws: Draws) -> Floats:
        """(5, resamples): a system that a resample lacks is absent from its row."""
        x, y = means(draws.documents)
        weights = np.where(np.isfinite(x), draws.systems, 0.0)
        correlations = row_correlations(x, y, draws.systems)
        return np.vstack([correlations, row_accuracies(x, y, weights, epsilon)])

    once = Draws(np.ones((1, pairs.document_count)), np.ones((1, pairs.system_count)))
    epsilon = _epsilon(*means(once.documents)) if accuracy else np.nan
    return Estimate(
        level="system",
        values=replicate(once)[:, 0],
        units=(pairs.system_count,) * len(COEFFICIENTS),
        skipped=(pairs.lost_systems,) * len(COEFFICIENTS),
        epsilon=epsilon,
        replicate=replicate,
    )


def settled_means(means: Floats, typical: Floats) -> Floats:
    """Without the last bits, where the order of summation alone would break or invent ties."""
    mantissa, exponent = np.frexp(means)
    rounded = np.ldexp(np.rint(np.ldexp(mantissa, ROUNDING_BITS)), exponent - ROUNDING_BITS)
    return np.where(np.abs(means) < np.ldexp(typical, -ROUNDING_BITS), 0.0, rounded)


def _epsilon(scores: Floats, human: Floats) -> float:
    if scores.size > MAX_COMPARED:
        return np.nan
    return calibrated([pair_orders(scores[0], human[0]).gaps()])


def _sums(pairs: Pairs, values: Floats) -> SystemSums:
    counts = np.bincount(pairs.systems, minlength=pairs.system_count)
    totals = np.bincount(pairs.systems, weights=np.abs(values), minlength=pairs.system_count)
    return SystemSums(_table(pairs, values), totals / counts)


def _table(pairs: Pairs, values: Floats) -> sparse.csr_array:
    shape = (pairs.document_count, pairs.system_count)
    return sparse.csr_array((values, (pairs.documents, pairs.systems)), shape=shape)


def system_means(pairs: Pairs, values: Floats) -> Floats:
    """(rows, candidates) of standard scores -> (rows, systems)."""
    return settled(member_means(pairs, values))


def member_means(pairs: Pairs, values: Floats) -> Floats:
    """The same with their last bits."""
    means: Floats = values @ member_shares(pairs)
    return means


def member_shares(pairs: Pairs) -> sparse.csr_array:
    """(candidates, systems): what each candidate is of its system's mean."""
    size = pairs.systems.size
    shares = 1 / np.bincount(pairs.systems)[pairs.systems]
    cells = (np.arange(size), pairs.systems)
    return sparse.csr_array((shares, cells), shape=(size, pairs.system_count))


def settled(values: Floats) -> Floats:
    """Standard scores without the last bits, which would break ties or invent them."""
    return np.rint(values / ROUNDING) * ROUNDING


def standard(values: Floats) -> Floats:
    """Zero mean and unit deviation; all zeros where nothing varies."""
    if values.size == 0 or values.min() == values.max():
        return np.zeros_like(values)
    scores: Floats = (values - values.mean()) / values.std()
    return scores
