"""System level: how the systems' mean scores agree with their mean ratings.

The jackknife leaves out a tenth of the documents at a time. Without a single one of many, the order
of the systems is nearly always the same, and their correlation would seem certain.
"""

from collections.abc import Collection

import numpy as np
from scipy import sparse  # type: ignore[import-untyped, unused-ignore]

from .accuracy import MAX_COMPARED, accuracies, calibrated_lists
from .coefficients import COEFFICIENTS, Coefficient, column_correlations, quotient
from .jackknife import Estimates, jackknifed
from .pairs import Codes, Floats, PairTable

GROUPS = 10  # of documents: a divisor of MOST_GROUPS
ROUNDING_BITS = 40  # two means that agree in so many bits (a part in 10^12) are tied


def system_level(table: PairTable, wanted: Collection[Coefficient] = COEFFICIENTS) -> Estimates:
    """Accuracy is NaN where it is not wanted."""
    compared = table.compared
    groups = table.groups % GROUPS
    there = np.unique(groups)
    values = _means(table, groups)  # (columns, all documents and those without a group, systems)
    epsilons = np.full(len(compared), np.nan)
    if "accuracy" in wanted and table.system_count <= MAX_COMPARED:
        sides = values[:, 0]
        epsilons = np.array([calibrated_lists(sides[x], [sides[y]])[0] for x, y in compared])
    present = np.isfinite(values[0]).astype(np.float64)
    correlations = column_correlations(values, compared)
    accurate = accuracies(values, compared, present[:, None], epsilons)
    found = np.concatenate([correlations, accurate[:, None, :, 0]], axis=1)
    shape = len(compared), len(COEFFICIENTS)
    parts = np.full((*shape, GROUPS), np.nan)
    parts[..., there] = jackknifed(found[..., 0], found[..., 1:])
    return Estimates(
        level="system",
        values=found[..., 0],
        parts=parts,
        units=np.full(shape, table.system_count),
        skipped=np.full(shape, table.lost_systems),
        epsilons=epsilons,
    )


def _means(table: PairTable, groups: Codes) -> Floats:
    """Of each system, first of all documents, then without each group of them that there is.

    Without a group, a system that has all its texts there has none: NaN.
    """
    there, codes = np.unique(groups, return_inverse=True)
    shape, cells = (there.size, table.system_count), (codes[table.documents], table.systems)

    def left(column: Floats) -> Floats:
        own = sparse.csr_array((column, cells), shape=shape).toarray()
        whole = own.sum(axis=0)
        found: Floats = np.concatenate([whole[None], whole - own])
        return found

    counts = left(np.ones(table.documents.size))
    typical = [left(np.abs(column))[0] / counts[0] for column in table.values]
    return np.stack([
        settled_means(quotient(left(column), counts), size)
        for column, size in zip(table.values, typical, strict=True)
    ])  # fmt: skip


def settled_means(means: Floats, typical: Floats) -> Floats:
    """Without the last bits, where the order of summation alone would break or invent ties."""
    mantissa, exponent = np.frexp(means)
    rounded = np.ldexp(np.rint(np.ldexp(mantissa, ROUNDING_BITS)), exponent - ROUNDING_BITS)
    return np.where(np.abs(means) < np.ldexp(typical, -ROUNDING_BITS), 0.0, rounded)
