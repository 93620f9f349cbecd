"""Sample level: the mean over documents of the statistic across a document's candidates.

documents [0 0 0 1 1 1], scores [1 2 3 1 3 2], human [1 2 3 1 2 3]
-> Spearman 1 and 0.5 -> 0.75
"""

import numpy as np

from .accuracy import MAX_COMPARED, calibrated, pair_orders, repeated_accuracies, row_accuracies
from .bootstrap import Draws, Estimate, Resampled
from .coefficients import BUDGET, COEFFICIENTS, quotient, repeated_correlations, row_correlations
from .pairs import Floats, Pairs, Stack, stacks


def sample_level(
    pairs: Pairs, resampled: Resampled = "documents", *, accuracy: bool = True
) -> Estimate:
    """Without `accuracy`, the slowest coefficient, its value is NaN."""
    epsilon = _epsilon(pairs) if accuracy else np.nan
    by_document = np.vstack([document_correlations(pairs), document_accuracies(pairs, epsilon)])
    units = tuple(int(count) for count in np.isfinite(by_document).sum(axis=1))
    documents = pairs.document_count + pairs.lost_documents

    def replicate(draws: Draws) -> Floats:
        if resampled == "documents":
            return weighted_means(by_document, draws.documents)
        if np.bincount(pairs.documents).max(initial=0) > MAX_COMPARED:
            return np.full((len(by_document), len(draws)), np.nan)
        return redrawn_means(pairs, epsilon, draws)

    return Estimate(
        level="sample",
        values=weighted_means(by_document, np.ones((1, pairs.document_count)))[:, 0],
        units=units,
        skipped=tuple(documents - count for count in units),
        epsilon=epsilon,
        replicate=replicate,
    )


def document_correlations(pairs: Pairs) -> Floats:
    """(4, documents)"""
    found = np.full((4, pairs.document_count), np.nan)
    for stack in stacks(pairs):
        found[:, stack.documents] = row_correlations(stack.scores, stack.human)
    return found


def document_accuracies(pairs: Pairs, epsilon: float) -> Floats:
    found = np.full(pairs.document_count, np.nan)
    for stack in stacks(pairs, MAX_COMPARED):
        once = np.ones_like(stack.scores)
        found[stack.documents] = row_accuracies(stack.scores, stack.human, once, epsilon)
    return found


def weighted_means(by_document: Floats, weights: Floats) -> Floats:
    """(5, resamples): undefined documents do not weigh."""
    defined = np.isfinite(by_document)
    sums = np.where(defined, by_document, 0.0) @ weights.T
    return quotient(sums, defined.astype(np.float64) @ weights.T)


def redrawn_means(pairs: Pairs, epsilon: float, draws: Draws) -> Floats:
    """(5, resamples), each document's candidates weighing what their systems were drawn."""
    sums = np.zeros((len(COEFFICIENTS), len(draws)))
    counts = np.zeros_like(sums)
    for stack in stacks(pairs):
        columns = stack.systems.shape[1]
        for part in stack.parts(max(1, BUDGET // (columns * max(columns, len(draws))))):
            found = _redrawn(part, epsilon, draws.systems)
            defined, weights = np.isfinite(found), draws.documents[:, part.documents].T
            sums += (np.where(defined, found, 0.0) * weights).sum(axis=1)
            counts += (defined * weights).sum(axis=1)
    return quotient(sums, counts)


def _redrawn(stack: Stack, epsilon: float, drawn_systems: Floats) -> Floats:
    """(5, documents, resamples)."""
    weights = np.ascontiguousarray(np.moveaxis(drawn_systems[:, stack.systems], 0, 1))
    correlations = repeated_correlations(stack.scores, stack.human, weights)
    accuracies = repeated_accuracies(stack.scores, stack.human, weights, epsilon)
    return np.concatenate([correlations, accuracies[None]])


def _epsilon(pairs: Pairs) -> float:
    def weight(columns: int) -> float:
        """Every document weighs the same, whatever its number of pairs."""
        return 2.0 / (columns * (columns - 1))

    return calibrated(
        [
            pair_orders(part.scores, part.human).gaps(weight(columns))
            for stack in stacks(pairs, MAX_COMPARED)
            if (columns := stack.systems.shape[1]) > 1
            for part in stack.parts(max(1, BUDGET // columns**2))
        ]
    )
