"""Summary level: the statistics of all candidates pooled.

On more than MAX_POOLED pairs correlations stay exact, and intervals come from a seeded sample of
whole documents. They then estimate the intervals that all documents would give: the sample's own
spread around the exact value, narrowed from its D' documents to all D as far as it comes from
resampling documents, not systems. The width is as noisy as any estimated from D' documents: by
about one part in sqrt(2 D'). Accuracy, which needs all pairs, is that of the sample, with the
sample's own interval, and `n` counts the sample's candidates.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from .bootstrap import Draws, Estimate, Resampled
from .coefficients import correlations
from .pairs import Codes, Floats, Pairs
from .pooled import Pool, pool, pooled_coefficients

MAX_POOLED = 4000  # candidates: tau and accuracy in a resample need every pair of them


def summary_level(
    pairs: Pairs, seed: int, resampled: Resampled = "documents", *, accuracy: bool = True
) -> Estimate:
    """Without `accuracy`, its value is NaN."""
    chosen = sampled_documents(pairs, seed)
    pooled = pool(pairs, chosen, resampled, accuracy=accuracy) if chosen.size else None
    once = Draws(np.ones((1, pairs.document_count)), np.ones((1, pairs.system_count)))
    agreed = pooled_coefficients(pooled, once)[-1, 0] if pooled and accuracy else np.nan
    values = np.append(correlations(pairs.scores, pairs.human), agreed)
    whole = pairs.documents.size
    return Estimate(
        level="summary",
        values=values,
        units=(whole, whole, whole, whole, pooled.groups.size if pooled else 0),
        skipped=(pairs.unscored,) * len(values),
        epsilon=pooled.epsilon if pooled else np.nan,
        replicate=_replicate(pooled, values, chosen.size, once),
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


def _replicate(
    pooled: Pool | None, values: Floats, chosen: int, once: Draws
) -> Callable[[Draws], Floats]:
    """`once`: every document and every system, as they are."""
    documents = once.documents.size
    if pooled is None or chosen < min(2, documents):
        return lambda draws: np.full((len(values), len(draws)), np.nan)
    if chosen == documents:
        return lambda draws: pooled_coefficients(pooled, draws)
    # A mean over documents varies as one over the root of their number; accuracy is the sample's.
    narrowing = np.full((len(values), 1), np.sqrt(chosen / documents))
    narrowing[-1] = 1.0
    centre = pooled_coefficients(pooled, once)

    def around_exact(draws: Draws) -> Floats:
        # A resample of all documents, restricted to the chosen ones, is a resample of those.
        found = pooled_coefficients(pooled, draws)
        by_systems = pooled_coefficients(pooled, replace(draws, documents=once.documents))
        spread = by_systems - centre + narrowing * (found - by_systems)
        moved: Floats = np.clip(values[:, None] + spread, -1.0, 1.0)
        return moved

    return around_exact
