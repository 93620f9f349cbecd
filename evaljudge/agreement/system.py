"""System level: how the systems' mean scores agree with their mean ratings."""

from dataclasses import dataclass

import numpy as np
from scipy import sparse  # type: ignore[import-untyped, unused-ignore]

from .accuracy import MAX_COMPARED, accuracies, calibrated_lists
from .bootstrap import Draws, Estimates
from .coefficients import COEFFICIENTS, column_correlations, quotient
from .pairs import Floats, Pairs, PairTable

ROUNDING = 1e-12  # standard scores that differ by less are equal
ROUNDING_BITS = 40  # two means that agree in so many bits (a part in 10^12) are tied


@dataclass(frozen=True, slots=True)
class SystemSums:
    """A column, summed for each document and system: a sparse table."""

    table: sparse.csr_array
    typical: Floats  # each system's mean magnitude: what rounding errors are relative to

    def means(self, drawn: Floats, weights: Floats) -> Floats:
        """(resamples, systems), from how often each document was drawn; NaN without a pair."""
        return settled_means(quotient(weights @ self.table, drawn), self.typical)


def system_level(table: PairTable, *, accuracy: bool = True) -> Estimates:
    """Without `accuracy`, its value is NaN."""
    sums = [_sums(table, column) for column in table.values]
    counts = _by_document(table, np.ones(table.documents.size))
    compared = table.compared

    def means(weights: Floats) -> Floats:
        """(columns, resamples, systems)"""
        drawn = weights @ counts
        return np.stack([side.means(drawn, weights) for side in sums])

    def replicate(draws: Draws) -> Floats:
        """(comparisons, 5, resamples): a system that a resample lacks is absent from its row."""
        values = means(draws.documents)
        weights = np.where(np.isfinite(values[0]), draws.systems, 0.0)
        correlations = column_correlations(values, compared, draws.systems)
        accurate = accuracies(values, compared, weights[:, None], epsilons)
        return np.concatenate([correlations, accurate[:, None, :, 0]], axis=1)

    once = Draws(np.ones((1, table.document_count)), np.ones((1, table.system_count)))
    epsilons = np.full(len(compared), np.nan)
    if accuracy and table.system_count <= MAX_COMPARED:
        sides = means(once.documents)[:, 0]
        epsilons = np.array([calibrated_lists(sides[x], [sides[y]])[0] for x, y in compared])
    shape = len(compared), len(COEFFICIENTS)
    return Estimates(
        level="system",
        values=replicate(once)[..., 0],
        units=np.full(shape, table.system_count),
        skipped=np.full(shape, table.lost_systems),
        epsilons=epsilons,
        replicate=replicate,
    )


def settled_means(means: Floats, typical: Floats) -> Floats:
    """Without the last bits, where the order of summation alone would break or invent ties."""
    mantissa, exponent = np.frexp(means)
    rounded = np.ldexp(np.rint(np.ldexp(mantissa, ROUNDING_BITS)), exponent - ROUNDING_BITS)
    return np.where(np.abs(means) < np.ldexp(typical, -ROUNDING_BITS), 0.0, rounded)


def _sums(table: PairTable, values: Floats) -> SystemSums:
    counts = np.bincount(table.systems, minlength=table.system_count)
    totals = np.bincount(table.systems, weights=np.abs(values), minlength=table.system_count)
    return SystemSums(_by_document(table, values), totals / counts)


def _by_document(table: PairTable, values: Floats) -> sparse.csr_array:
    shape = (table.document_count, table.system_count)
    return sparse.csr_array((values, (table.documents, table.systems)), shape=shape)


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
