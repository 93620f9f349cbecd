"""Sample level: the mean over documents of the statistic across a document's candidates.

documents [0 0 0 1 1 1], scores [1 2 3 1 3 2], human [1 2 3 1 2 3]
-> Spearman 1 and 0.5 -> 0.75
"""

import numpy as np

from .accuracy import MAX_COMPARED, Gaps, Ordering, accuracies, calibrated
from .bootstrap import Draws, Estimates, Resampled
from .coefficients import (
    BUDGET,
    COEFFICIENTS,
    column_correlations,
    compared_correlations,
    quotient,
    row_correlations,
)
from .pairs import Floats, Pairs, PairTable, stacked, stacks


def sample_level(
    table: PairTable, resampled: Resampled = "documents", *, accuracy: bool = True
) -> Estimates:
    """Without `accuracy`, the slowest coefficient, its value is NaN."""
    epsilons = _epsilons(table) if accuracy else np.full(len(table.compared), np.nan)
    by_document = _by_document(table, epsilons)
    units = np.isfinite(by_document).sum(axis=2)

    def replicate(draws: Draws) -> Floats:
        if resampled == "documents":
            return weighted_means(by_document, draws.documents)
        if np.bincount(table.documents).max(initial=0) > MAX_COMPARED:
            return np.full((*by_document.shape[:2], len(draws)), np.nan)
        return redrawn_means(table, epsilons, draws)

    once = np.ones((1, table.document_count))
    return Estimates(
        level="sample",
        values=weighted_means(by_document, once)[..., 0],
        units=units,
        skipped=table.document_count + table.lost_documents - units,
        epsilons=epsilons,
        replicate=replicate,
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


def weighted_means(by_document: Floats, weights: Floats) -> Floats:
    """(…, resamples) from (…, documents): undefined documents do not weigh."""
    defined = np.isfinite(by_document)
    sums = np.where(defined, by_document, 0.0) @ weights.T
    return quotient(sums, defined.astype(np.float64) @ weights.T)


def redrawn_means(table: PairTable, epsilons: Floats, draws: Draws) -> Floats:
    """(comparisons, 5, resamples), each document's candidates weighing what their systems were
    drawn."""
    sums = np.zeros((len(table.compared), len(COEFFICIENTS), len(draws)))
    counts = np.zeros_like(sums)
    for chosen, cells in stacked(table):
        columns = cells.shape[1]
        step = max(1, BUDGET // (columns * max(columns, len(draws))))
        for start in range(0, chosen.size, step):
            part = slice(start, start + step)
            drawn = np.moveaxis(draws.systems[:, table.systems[cells[part]]], 0, 1)
            drawn = np.ascontiguousarray(drawn)
            values = table.values[:, cells[part]]
            correlations = compared_correlations(values, table.compared, drawn)
            accurate = accuracies(values, table.compared, drawn, epsilons)
            found = np.concatenate([correlations, accurate[:, None]], axis=1)
            defined, weights = np.isfinite(found), draws.documents[:, chosen[part]].T
            sums += (np.where(defined, found, 0.0) * weights).sum(axis=2)
            counts += (defined * weights).sum(axis=2)
    return quotient(sums, counts)


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
