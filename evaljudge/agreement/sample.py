"""Sample level: the mean over documents of the statistic across a document's candidates.

documents [0 0 0 1 1 1], scores [1 2 3 1 3 2], human [1 2 3 1 2 3]
-> Spearman 1 and 0.5 -> 0.75
"""

from collections.abc import Collection

import numpy as np

from .accuracy import MAX_COMPARED, Gaps, Ordering, accuracies, calibrated
from .coefficients import BUDGET, COEFFICIENTS, Coefficient, column_correlations, row_correlations
from .jackknife import Estimates, means
from .pairs import Floats, Pairs, PairTable, stacked, stacks


def sample_level(table: PairTable, wanted: Collection[Coefficient] = COEFFICIENTS) -> Estimates:
    """Accuracy, the slowest coefficient, is NaN where it is not wanted."""
    epsilons = _epsilons(table) if "accuracy" in wanted else np.full(len(table.compared), np.nan)
    by_document = _by_document(table, epsilons)
    units = np.isfinite(by_document).sum(axis=2)
    return Estimates(
        level="sample",
        values=means(by_document),
        parts=by_document,
        units=units,
        skipped=table.document_count + table.lost_documents - units,
        epsilons=epsilons,
    )


def document_correlations(pairs: Pairs) -> Floats:
    """(4, documents)"""
    found = np.full((4, pairs.document_count), np.nan)
    for stack in stacks(pairs):
        found[:, stack.documents] = row_correlations(stack.scores, stack.human)
    return found


def _by_document(table: PairTable, epsilons: Floats) -> Floats:
    """(comparisons, 5, documents)"""
    found = np.full((len(table.compared), len(COEFFICIENTS), table.document_count), np.nan)
    for chosen, cells in stacked(table):
        values = table.values[:, cells]
        found[:, :-1, chosen] = column_correlations(values, table.compared)
        if cells.shape[1] <= MAX_COMPARED:
            once = np.ones((chosen.size, 1, cells.shape[1]))
            found[:, -1, chosen] = accuracies(values, table.compared, once, epsilons)[..., 0]
    return found


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
            orders = [Ordering.of(column).halved() for column in values]
            for found, (one, other) in zip(gaps, table.compared, strict=True):
                found.append(orders[one].gaps(orders[other], weight))
    return np.array([calibrated(found) for found in gaps])
