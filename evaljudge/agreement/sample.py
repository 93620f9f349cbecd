"""Sample level: the mean over documents of the correlation across a document's candidates.

documents [0 0 0 1 1 1], scores [1 2 3 1 3 2], human [1 2 3 1 2 3]
-> Spearman 1 and 0.5 -> 0.75
"""

from functools import partial

import numpy as np

from .coefficients import row_correlations
from .estimate import Estimate
from .pairs import Floats, Pairs


def sample_level(pairs: Pairs) -> Estimate:
    by_document = document_correlations(pairs)
    units = tuple(int(count) for count in np.isfinite(by_document).sum(axis=1))
    documents = pairs.document_count + pairs.lost_documents
    return Estimate(
        level="sample",
        values=weighted_means(by_document, np.ones((1, pairs.document_count)))[:, 0],
        units=units,
        skipped=tuple(documents - count for count in units),
        replicate=partial(weighted_means, by_document),
    )


def document_correlations(pairs: Pairs) -> Floats:
    """(3, documents); documents with equally many pairs form one table and are done at once."""
    sizes = np.bincount(pairs.documents, minlength=pairs.document_count)
    starts = np.cumsum(sizes) - sizes
    found = np.full((3, pairs.document_count), np.nan)
    for size in np.unique(sizes):
        chosen = np.flatnonzero(sizes == size)
        table = starts[chosen, None] + np.arange(size)
        found[:, chosen] = row_correlations(pairs.scores[table], pairs.human[table])
    return found


def weighted_means(by_document: Floats, weights: Floats) -> Floats:
    """(3, resamples): undefined documents do not weigh."""
    defined = np.isfinite(by_document)
    sums = np.where(defined, by_document, 0.0) @ weights.T
    counts = defined.astype(np.float64) @ weights.T
    means = np.full(sums.shape, np.nan)
    np.divide(sums, counts, out=means, where=counts > 0)
    return means
