"""Pooled statistics of many resamples at once, without building one.

A candidate whose document was drawn twice and whose system three times weighs six. Weights are
whole numbers, so weighted ranks, ties and concordances are exactly those of the list with
repetitions. Candidates that are always drawn together (those of a document, where documents are
resampled) are one group.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse  # type: ignore[import-untyped, unused-ignore]

from .accuracy import Singles, calibrated, pair_orders, share
from .bootstrap import Draws, Resampled
from .coefficients import WIDE, cosine, ratio, stuart
from .pairs import Codes, Floats, Pairs

EXACT = 2**23  # single precision holds whole numbers up to twice this


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
class GroupSums:
    """What pairs of candidates come to, group by group: a symmetric table of whole numbers.

    groups [0 0 1], concordant pairs (0, 2) and (1, 2) -> counts [[0 2] [2 0]]; weights [1 3] -> 12
    """

    counts: Singles  # (groups, groups)
    reach: float  # the greatest sum of a row's absolute values

    @classmethod
    def of(cls, groups: Codes, table: NDArray[np.int8] | NDArray[np.bool_]) -> "GroupSums":
        """Of a symmetric (candidates, candidates), sorted by group."""
        starts = np.flatnonzero(np.diff(groups, prepend=-1))
        if starts.size == groups.size:
            counts = table.astype(np.float32)
        else:
            columns = np.add.reduceat(table, starts, axis=1, dtype=np.float32)
            counts = np.add.reduceat(columns, starts, axis=0)
        return cls(counts, float(np.abs(counts).sum(axis=1, dtype=np.float64).max()))

    def weighed(self, weights: Floats) -> Floats:
        """Of each resample, from how often each group was drawn, (resamples, groups)."""
        exact = self.reach * weights.max(initial=0.0) < EXACT
        kind: type[np.floating[Any]] = np.float32 if exact else np.float64
        drawn, counts = weights.astype(kind), self.counts.astype(kind, copy=False)
        found = np.zeros(len(weights))
        for start in range(0, len(counts), WIDE):
            strip, beyond = slice(start, start + WIDE), slice(start + WIDE, None)
            # The table is symmetric: what lies beyond the strip's own square counts twice.
            sums = drawn[:, strip] @ counts[strip, strip]
            sums += 2 * (drawn[:, beyond] @ counts[beyond, strip])
            found += (sums * weights[:, strip]).sum(axis=1)
        return found


@dataclass(frozen=True, slots=True)
class Pool:
    groups: Codes  # each candidate's
    documents: Codes  # each group's, and where groups are not of one document, its first
    systems: Codes
    scores: Side
    human: Side
    concordance: GroupSums  # concordant less discordant pairs of candidates
    agreement: GroupSums | None  # pairs on which scorer and people agree, epsilon being fixed
    epsilon: float  # NaN where accuracy was not asked for


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
        concordance=GroupSums.of(groups, orders.balance()),
        agreement=GroupSums.of(groups, orders.agreeing(epsilon)) if accuracy else None,
        epsilon=epsilon,
    )


def pooled_coefficients(pool: Pool, draws: Draws) -> Floats:
    """(5, resamples)."""
    # What is not resampled was drawn once throughout.
    weights = draws.documents[:, pool.documents] * draws.systems[:, pool.systems]
    drawn = weights[:, pool.groups]
    sizes = drawn.sum(axis=1)
    x, y = pool.scores.ranked(weights, sizes), pool.human.ranked(weights, sizes)
    balance = pool.concordance.weighed(weights)
    kendall = ratio(balance, np.sqrt(x.untied * y.untied))
    products = np.einsum("rc,rc,rc->r", drawn, x.ranks, y.ranks)
    spearman = ratio(products, np.sqrt(x.squares * y.squares))
    pearson = cosine(pool.scores.centred(drawn), pool.human.centred(drawn), drawn)
    # Centring a constant leaves rounding noise; counting its ties does not.
    pearson = np.where(np.isnan(kendall), np.nan, pearson)
    kendall_c = stuart(balance, sizes, x.distinct, y.distinct)
    accuracy = np.full(sizes.shape, np.nan)
    if pool.agreement is not None:
        accuracy = share(pool.agreement.weighed(weights), sizes)
    return np.stack([spearman, kendall, pearson, kendall_c, accuracy])


def _drawn_together(pairs: Pairs, resampled: Resampled) -> Codes:
    if resampled == "documents":
        return pairs.documents
    return pairs.systems + (pairs.documents * pairs.system_count if resampled == "both" else 0)
