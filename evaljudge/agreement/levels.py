"""Sample level and system level: within documents, and between systems.

documents [0 0 0 1 1 1], scores [1 2 3 1 3 2], human [1 2 3 1 2 3]
-> at sample level Spearman 1 and 0.5 -> 0.75

At system level the jackknife leaves out a tenth of the documents at a time. Without a single one
of many, the order of the systems is nearly always the same, and their correlation would seem
certain.
"""

from collections.abc import Collection, Sequence

import numpy as np
from scipy import sparse

from evaljudge.agreement.coefficients import MAX_COMPARED, Gaps, Ordering, accuracies, calibrated

from .coefficients import BUDGET, COEFFICIENTS, Coefficient, column_correlations, quotient
from .documents import Estimates, jackknifed, means
from .pairs import Codes, Floats, PairTable, Two, stacked

GROUPS = 10  # groups of documents: a divisor of MOST_GROUPS
ROUNDING_BITS = 40  # two means that agree in so many bits (a part in 10^12) are tied


def sample_level(
    table: PairTable, seed: int = 0, wanted: Collection[Coefficient] = COEFFICIENTS
) -> Estimates:
    """Accuracy, the slowest coefficient, is NaN where it is not wanted."""
    epsilons = _epsilons(table) if "accuracy" in wanted else np.full(len(table.compared), np.nan)
    parts = by_document(table, epsilons)
    units = np.isfinite(parts).sum(axis=2)
    return Estimates(
        level="sample",
        values=means(parts),
        parts=parts,
        units=units,
        skipped=table.document_count + table.lost_documents - units,
        epsilons=epsilons,
    )


def document_correlations(table: PairTable, coefficient: Coefficient) -> Floats:
    """The correlations (comparisons, documents)."""
    no_accuracy = np.full(len(table.compared), np.nan)
    return by_document(table, no_accuracy)[:, COEFFICIENTS.index(coefficient)]


def by_document(table: PairTable, epsilons: Floats) -> Floats:
    """The coefficients (comparisons, 5, documents)."""
    values_of = np.full((len(table.compared), len(COEFFICIENTS), table.document_count), np.nan)
    for chosen, cells in stacked(table):
        values_of[:, :, chosen] = _coefficients(table.values[:, cells], table.compared, epsilons)
    return values_of


def _coefficients(values: Floats, compared: Sequence[Two], epsilons: Floats) -> Floats:
    """The coefficients (comparisons, 5, lists) from (columns, lists, pairs); NaN marks an absent
    pair, alike in all columns."""
    coefficients = np.full((len(compared), len(COEFFICIENTS), values.shape[1]), np.nan)
    coefficients[:, :-1] = column_correlations(values, compared)
    if values.shape[2] <= MAX_COMPARED and np.isfinite(epsilons).any():
        coefficients[:, -1] = accuracies(values, compared, epsilons)
    return coefficients


def _epsilons(table: PairTable) -> Floats:
    """Every document weighs the same, whatever its number of pairs."""
    gaps: list[list[Gaps]] = [[] for _ in table.compared]
    for chosen, cells in stacked(table):
        columns = cells.shape[1]
        if not 1 < columns <= MAX_COMPARED:
            continue
        weight = 2.0 / (columns * (columns - 1))
        step = max(1, BUDGET // columns**2)
        for start in range(0, chosen.size, step):
            values = table.values[:, cells[start : start + step]]
            orders = [Ordering.of(column) for column in values]
            for parts, (left, right) in zip(gaps, table.compared, strict=True):
                parts.append(orders[left].gaps(orders[right].signs, weight))
    return np.array([calibrated(parts) for parts in gaps])


def system_level(
    table: PairTable, seed: int = 0, wanted: Collection[Coefficient] = COEFFICIENTS
) -> Estimates:
    compared = table.compared
    groups = table.groups % GROUPS
    there = np.unique(groups)
    values = _means(table, groups)  # (columns, all documents and those without a group, systems)
    epsilons = np.full(len(compared), np.nan)
    if "accuracy" in wanted and table.system_count <= MAX_COMPARED:
        orders = [Ordering.of(side) for side in values[:, 0]]
        epsilons = np.array([calibrated([orders[x].gaps(orders[y].signs)]) for x, y in compared])
    coefficients = _coefficients(values, compared, epsilons)
    shape = len(compared), len(COEFFICIENTS)
    parts = np.full((*shape, GROUPS), np.nan)
    parts[..., there] = jackknifed(coefficients[..., 0], coefficients[..., 1:])
    return Estimates(
        level="system",
        values=coefficients[..., 0],
        parts=parts,
        units=np.full(shape, table.system_count),
        skipped=np.full(shape, table.lost_systems),
        epsilons=epsilons,
    )


def _means(table: PairTable, groups: Codes) -> Floats:
    """Each system's means: first over all documents, then with each group of documents left out.

    Without a group, a system that has all its texts there has none: NaN.
    """
    there, codes = np.unique(groups, return_inverse=True)
    shape, cells = (there.size, table.system_count), (codes[table.documents], table.systems)

    def left(column: Floats) -> Floats:
        sums = sparse.csr_array((column, cells), shape=shape).toarray()
        whole = sums.sum(axis=0)
        return np.concatenate([whole[None], whole - sums])

    counts = left(np.ones(table.documents.size))
    typical = [left(np.abs(column))[0] / counts[0] for column in table.values]
    return np.stack([
        settled_means(quotient(left(column), counts), size)
        for column, size in zip(table.values, typical, strict=True)
    ])  # fmt: skip


def settled_means(means: Floats, typical: Floats) -> Floats:
    """The means without their last bits, where rounding in sums would break or invent ties."""
    mantissa, exponent = np.frexp(means)
    rounded = np.ldexp(np.rint(np.ldexp(mantissa, ROUNDING_BITS)), exponent - ROUNDING_BITS)
    return np.where(np.abs(means) < np.ldexp(typical, -ROUNDING_BITS), 0.0, rounded)
