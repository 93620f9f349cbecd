"""Summary level: the statistics of all candidates pooled.

On more than MAX_POOLED pairs correlations stay exact, and intervals come from a seeded sample of
whole documents: the sample's spread around the exact value, narrowed from its D' documents to all D
as far as it comes from resampling documents, not systems. The width is off by about one part in
sqrt(2 D'). Accuracy, which needs all pairs, is that of the sample, with the sample's own interval,
and `n` counts the sample's candidates.

No resample is built. A candidate whose document was drawn twice and whose system three times weighs
six. Weights are whole numbers, so weighted ranks, ties and concordances are exactly those of the
list with repetitions. Candidates that are always drawn together (those of a document, where
documents are resampled) are one group.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy import sparse  # type: ignore[import-untyped, unused-ignore]

from .accuracy import calibrated, pair_orders, share
from .bootstrap import Draws, Estimate, Resampled
from .coefficients import correlations, cosine, ratio, stuart
from .pairs import Codes, Floats, Pairs

MAX_POOLED = 4000  # candidates: tau and accuracy in a resample need every pair of them


@dataclass(frozen=True, slots=True)
class WeightedRanks:
    """Of values [5 7 7], each drawn once: ranks [-2 1 1], 4 ordered pairs untied, 2 distinct."""

    ranks: Floats  # (resamples, candidates): twice the mean rank, centred
    squares: Floats  # of the ranks, summed
    untied: Floats  # ordered pairs
    distinct: Floats  # values drawn


@dataclass(frozen=True, slots=True)
class Side:
    """Scores or ratings, of which the distinct ones are levels."""

    values: Floats
    levels: Codes  # each candidate's
    counts: sparse.csr_array  # (groups, levels)

    @classmethod
    def of(cls, values: Floats, groups: Codes) -> "Side":
        distinct, levels = np.unique(values, return_inverse=True)
        cells, shape = (groups, levels), (int(groups[-1]) + 1, distinct.size)
        return cls(values, levels, sparse.csr_array((np.ones(values.size), cells), shape=shape))

    def centred(self, drawn: Floats) -> Floats:
        """(resamples, candidates), from how often each candidate was drawn."""
        means: Floats = (drawn @ self.values) / np.maximum(drawn.sum(axis=1), 1.0)
        return self.values - means[:, None]

    def ranked(self, weights: Floats, sizes: Floats) -> WeightedRanks:
        """In resamples of so many candidates, from how often each group was drawn."""
        times: Floats = weights @ self.counts
        # Weight below less weight above.
        ranks = 2.0 * np.cumsum(times, axis=1) - times - sizes[:, None]
        return WeightedRanks(
            ranks=ranks[:, self.levels],
            squares=(times * ranks**2).sum(axis=1),
            untied=sizes**2 - (times**2).sum(axis=1),
            distinct=(times > 0).sum(axis=1).astype(np.float64),
        )


@dataclass(frozen=True, slots=True)
class Pool:
    groups: Codes  # each candidate's
    documents: Codes  # each group's, and where groups are not of one document, its first
    systems: Codes
    scores: Side
    human: Side
    concordance: Floats  # (groups, groups): concordant less discordant pairs of candidates
    agreement: (
        Floats | None
    )  # likewise: pairs on which scorer and people agree, epsilon being fixed
    epsilon: float  # NaN where accuracy was not asked for


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


def pool(
    pairs: Pairs, chosen: Codes, resampled: Resampled = "documents", *, accuracy: bool = True
) -> Pool:
    """The candidates of the chosen documents."""
    kept = np.flatnonzero(np.isin(pairs.documents, chosen))
    codes = _drawn_together(pairs, resampled)[kept]
    kept = kept[np.argsort(codes, kind="stable")]
    _, first, groups = np.unique(np.sort(codes), return_index=True, return_inverse=True)
    x, y = pairs.scores[kept], pairs.human[kept]
    orders = pair_orders(x, y)
    epsilon = calibrated([orders.gaps()]) if accuracy else np.nan
    return Pool(
        groups=groups,
        documents=pairs.documents[kept][first],
        systems=pairs.systems[kept][first],
        scores=Side.of(x, groups),
        human=Side.of(y, groups),
        concordance=_by_group(groups, orders.balance()),
        agreement=_by_group(groups, orders.agreeing(epsilon)) if accuracy else None,
        epsilon=epsilon,
    )


def pooled_coefficients(pool: Pool, draws: Draws) -> Floats:
    """(5, resamples)."""
    # What is not resampled was drawn once throughout.
    weights = draws.documents[:, pool.documents] * draws.systems[:, pool.systems]
    drawn = weights[:, pool.groups]
    sizes = drawn.sum(axis=1)
    x, y = pool.scores.ranked(weights, sizes), pool.human.ranked(weights, sizes)
    balance = _weighed(pool.concordance, weights)
    kendall = ratio(balance, np.sqrt(x.untied * y.untied))
    products = np.einsum("rc,rc,rc->r", drawn, x.ranks, y.ranks)
    spearman = ratio(products, np.sqrt(x.squares * y.squares))
    pearson = cosine(pool.scores.centred(drawn), pool.human.centred(drawn), drawn)
    # Centring a constant leaves rounding noise; counting its ties does not.
    pearson = np.where(np.isnan(kendall), np.nan, pearson)
    kendall_c = stuart(balance, sizes, x.distinct, y.distinct)
    accuracy = np.full(sizes.shape, np.nan)
    if pool.agreement is not None:
        accuracy = share(_weighed(pool.agreement, weights), sizes)
    return np.stack([spearman, kendall, pearson, kendall_c, accuracy])


def _drawn_together(pairs: Pairs, resampled: Resampled) -> Codes:
    if resampled == "documents":
        return pairs.documents
    return pairs.systems + (pairs.documents * pairs.system_count if resampled == "both" else 0)


def _by_group(groups: Codes, table: NDArray[np.int8] | NDArray[np.bool_]) -> Floats:
    """What pairs of candidates, sorted by group, come to for every two groups.

    groups [0 0 1], concordant pairs (0, 2) and (1, 2) -> [[0 2] [2 0]]
    """
    starts = np.flatnonzero(np.diff(groups, prepend=-1))
    columns = np.add.reduceat(table, starts, axis=1, dtype=np.float64)
    sums: Floats = np.add.reduceat(columns, starts, axis=0)
    return sums


def _weighed(table: Floats, weights: Floats) -> Floats:
    """Of each resample, from how often each group was drawn, (resamples, groups)."""
    sums: Floats = ((weights @ table) * weights).sum(axis=1)
    return sums
