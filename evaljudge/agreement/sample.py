"""Sample level: the mean over documents of the statistic across a document's candidates.

documents [0 0 0 1 1 1], scores [1 2 3 1 3 2], human [1 2 3 1 2 3]
-> Spearman 1 and 0.5 -> 0.75
"""

import numpy as np

from .accuracy import MAX_COMPARED, Gaps, calibrated, gaps, repeated_accuracies, row_accuracies
from .coefficients import BUDGET, repeated_correlations, row_correlations
from .estimate import COEFFICIENTS, Draws, Estimate, Replicate, Resampled
from .orders import compared
from .pairs import Floats, Pairs
from .tables import Table, tables


def sample_level(
    pairs: Pairs, resampled: Resampled = "documents", *, accuracy: bool = True
) -> Estimate:
    """Without `accuracy`, the dearest coefficient, its value is NaN."""
    epsilon = _epsilon(pairs) if accuracy else np.nan
    by_document = np.vstack([document_correlations(pairs), document_accuracies(pairs, epsilon)])
    units = tuple(int(count) for count in np.isfinite(by_document).sum(axis=1))
    documents = pairs.document_count + pairs.lost_documents
    return Estimate(
        level="sample",
        values=weighted_means(by_document, np.ones((1, pairs.document_count)))[:, 0],
        units=units,
        skipped=tuple(documents - count for count in units),
        epsilon=epsilon,
        replicate=_replicate(pairs, resampled, by_document, epsilon),
    )


def document_correlations(pairs: Pairs) -> Floats:
    """(4, documents); documents with equally many pairs form one table and are done at once."""
    found = np.full((4, pairs.document_count), np.nan)
    for table in tables(pairs):
        found[:, table.documents] = row_correlations(table.scores, table.human)
    return found


def document_accuracies(pairs: Pairs, epsilon: float) -> Floats:
    found = np.full(pairs.document_count, np.nan)
    for table in tables(pairs, MAX_COMPARED):
        once = np.ones_like(table.scores)
        found[table.documents] = row_accuracies(table.scores, table.human, once, epsilon)
    return found


def weighted_means(by_document: Floats, weights: Floats) -> Floats:
    """(5, resamples): undefined documents do not weigh."""
    defined = np.isfinite(by_document)
    sums = np.where(defined, by_document, 0.0) @ weights.T
    return _means(sums, defined.astype(np.float64) @ weights.T)


def redrawn_means(pairs: Pairs, epsilon: float, draws: Draws) -> Floats:
    """(5, resamples), each document's candidates weighing what their systems were drawn."""
    sums = np.zeros((len(COEFFICIENTS), len(draws)))
    counts = np.zeros_like(sums)
    for table in tables(pairs):
        columns = table.systems.shape[1]
        for part in table.parts(max(1, BUDGET // (columns * max(columns, len(draws))))):
            found = _redrawn(part, epsilon, draws.systems)
            defined, weights = np.isfinite(found), draws.documents[:, part.documents].T
            sums += (np.where(defined, found, 0.0) * weights).sum(axis=1)
            counts += (defined * weights).sum(axis=1)
    return _means(sums, counts)


def _redrawn(table: Table, epsilon: float, drawn_systems: Floats) -> Floats:
    """(5, documents, resamples)."""
    weights = np.ascontiguousarray(np.moveaxis(drawn_systems[:, table.systems], 0, 1))
    correlations = repeated_correlations(table.scores, table.human, weights)
    accuracies = repeated_accuracies(table.scores, table.human, weights, epsilon)
    return np.concatenate([correlations, accuracies[None]])


def _replicate(
    pairs: Pairs, resampled: Resampled, by_document: Floats, epsilon: float
) -> Replicate:
    if resampled == "documents":
        return lambda draws: weighted_means(by_document, draws.documents)
    if np.bincount(pairs.documents).max(initial=0) > MAX_COMPARED:
        return lambda draws: np.full((len(by_document), len(draws)), np.nan)
    return lambda draws: redrawn_means(pairs, epsilon, draws)


def _epsilon(pairs: Pairs) -> float:
    parts: list[Gaps] = []
    for table in tables(pairs, MAX_COMPARED):
        columns = table.systems.shape[1]
        if columns > 1:
            # Every document weighs the same, whatever its number of pairs.
            weight = 2.0 / (columns * (columns - 1))
            some = table.parts(max(1, BUDGET // columns**2))
            parts += [gaps(compared(part.scores, part.human), weight) for part in some]
    return calibrated(parts)


def _means(sums: Floats, counts: Floats) -> Floats:
    means = np.full(sums.shape, np.nan)
    np.divide(sums, counts, out=means, where=counts > 0)
    return means
