"""System level: the correlation of the systems' mean score with their mean rating."""

from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy import sparse  # type: ignore[import-untyped, unused-ignore]

from .coefficients import row_correlations
from .estimate import Estimate
from .pairs import Floats, Pairs

ROUNDING_BITS = 40  # two means that agree in so many bits (a part in 10^12) are tied


@dataclass(frozen=True, slots=True)
class Sums:
    """One side (scores or ratings), summed for each document and system: a sparse table."""

    table: sparse.csr_array
    typical: Floats  # each system's mean magnitude: what rounding errors are relative to


def system_level(pairs: Pairs) -> Estimate:
    counts = _table(pairs, np.ones(pairs.documents.size))
    replicate = partial(
        mean_correlations, _sums(pairs, pairs.scores), _sums(pairs, pairs.human), counts
    )
    return Estimate(
        level="system",
        values=replicate(np.ones((1, pairs.document_count)))[:, 0],
        units=(pairs.system_count,) * 3,
        skipped=(pairs.lost_systems,) * 3,
        replicate=replicate,
    )


def mean_correlations(
    scores: Sums, human: Sums, counts: sparse.csr_array, weights: Floats
) -> Floats:
    """(3, resamples): a system that a resample lacks is absent from its row."""
    drawn = weights @ counts
    return row_correlations(_means(scores, drawn, weights), _means(human, drawn, weights))


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
