"""Summary level: the correlation over all candidates pooled.

On more than MAX_POOLED pairs the value stays exact, and the interval comes from a seeded sample of
whole documents. It then estimates the interval that resampling all documents would give: the
sample's own spread, narrowed from its D' documents to all D, around the exact value. The width is
as noisy as any estimated from D' documents: by about one part in sqrt(2 D').
"""

import numpy as np

from .coefficients import correlations
from .estimate import Estimate, Replicate
from .pairs import Codes, Floats, Pairs
from .pooled import pool, pooled_correlations

MAX_POOLED = 4000  # candidates: tau-b in a resample needs every pair of them


def summary_level(pairs: Pairs, seed: int) -> Estimate:
    values = correlations(pairs.scores, pairs.human)
    chosen = sampled_documents(pairs, seed)
    return Estimate(
        level="summary",
        values=values,
        units=(pairs.documents.size,) * 3,
        skipped=(pairs.unscored,) * 3,
        replicate=_replicate(pairs, chosen, values),
        sampled=chosen.size < pairs.document_count,
    )


def sampled_documents(pairs: Pairs, seed: int) -> Codes:
    """All documents, or as many random ones as hold at most MAX_POOLED candidates."""
    if pairs.documents.size <= MAX_POOLED:
        return np.arange(pairs.document_count)
    # Its own stream: the resamples are drawn from the bare seed.
    shuffled = np.random.default_rng((seed, 1)).permutation(pairs.document_count)
    sizes = np.bincount(pairs.documents)[shuffled]
    return np.sort(shuffled[np.cumsum(sizes) <= MAX_POOLED])


def _replicate(pairs: Pairs, chosen: Codes, values: Floats) -> Replicate:
    if chosen.size < 2:
        return _undefined
    drawn = pool(pairs, chosen)
    if chosen.size == pairs.document_count:
        return lambda weights: pooled_correlations(drawn, weights)
    centre = pooled_correlations(drawn, np.ones((1, chosen.size)))
    # A mean over documents varies as one over the root of their number.
    narrowing = np.sqrt(chosen.size / pairs.document_count)

    def around_exact(weights: Floats) -> Floats:
        # A resample of all documents, restricted to the chosen ones, is a resample of those.
        spread = pooled_correlations(drawn, weights[:, chosen]) - centre
        moved: Floats = np.clip(values[:, None] + narrowing * spread, -1.0, 1.0)
        return moved

    return around_exact


def _undefined(weights: Floats) -> Floats:
    return np.full((3, len(weights)), np.nan)
