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

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy import sparse  # type: ignore[import-untyped, unused-ignore]

from .accuracy import Ordering, calibrated_lists, distances, share
from .bootstrap import Draws, Estimates, Resampled
from .coefficients import COEFFICIENTS, correlations, pearson, ratio, signs, stuart
from .pairs import Codes, Floats, Pairs, PairTable, Two

PEARSON = COEFFICIENTS.index("pearson")
MAX_POOLED = 4000  # candidates: tau and accuracy in a resample need every pair of them


Signs = NDArray[np.int8]


@dataclass(frozen=True, slots=True)
class WeightedRanks:
    """Of values [5 7 7], each drawn once: ranks [-2 1 1], 4 ordered pairs untied, 2 distinct."""

    ranks: Floats  # (resamples, candidates): twice the mean rank, centred
    untied: Floats  # ordered pairs
    distinct: Floats  # values drawn


@dataclass(frozen=True, slots=True)
class Levels:
    """Scores or ratings, of which the distinct ones are levels."""

    values: Floats
    levels: Codes  # each candidate's
    counts: sparse.csr_array  # (groups, levels)

    @classmethod
    def of(cls, values: Floats, groups: Codes) -> "Levels":
        distinct, levels = np.unique(values, return_inverse=True)
        cells, shape = (groups, levels), (int(groups[-1]) + 1, distinct.size)
        return cls(values, levels, sparse.csr_array((np.ones(values.size), cells), shape=shape))

    def signs(self) -> Signs:
        """(candidates, candidates), of the differences: of small numbers, which is quicker."""
        levels = self.levels.astype(np.int16)  # of at most MAX_POOLED candidates
        return signs(levels[:, None], levels)

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
            untied=sizes**2 - (times**2).sum(axis=1),
            distinct=(times > 0).sum(axis=1).astype(np.float64),
        )


@dataclass(frozen=True, slots=True)
class Pool:
    groups: Codes  # each candidate's
    documents: Codes  # each group's, and where groups are not of one document, its first
    systems: Codes
    columns: tuple[Levels, ...]
    compared: tuple[Two, ...]
    concordance: Floats  # (comparisons, groups, groups): concordant less discordant pairs
    agreement: Floats | None  # likewise: pairs on which both agree, epsilon being fixed
    epsilons: Floats  # (comparisons); NaN where accuracy was not asked for


def summary_level(
    table: PairTable, seed: int, resampled: Resampled = "documents", *, accuracy: bool = True
) -> Estimates:
    """Without `accuracy`, its value is NaN."""
    chosen = sampled_documents(table, seed)
    once = Draws(np.ones((1, table.document_count)), np.ones((1, table.system_count)))
    pooled = pool(table, chosen, resampled, accuracy=accuracy) if chosen.size else None
    values = np.full((len(table.compared), len(COEFFICIENTS)), np.nan)
    if pooled:
        values = pooled_coefficients(pooled, once)[..., 0]
    centre = values.copy()
    sampled = chosen.size < table.document_count
    for place, (one, other) in enumerate(table.compared):
        x, y = table.values[one], table.values[other]
        if sampled:
            values[place, :-1] = correlations(x, y)
        elif not np.isnan(values[place, PEARSON]):
            # In the table's order, so that no bit depends on what is resampled.
            values[place, PEARSON] = pearson(x, y)
    units = np.full(values.shape, table.documents.size)
    units[:, -1] = pooled.groups.size if pooled else 0
    return Estimates(
        level="summary",
        values=values,
        units=units,
        skipped=np.repeat(np.array(table.unscored)[:, None], len(COEFFICIENTS), axis=1),
        epsilons=pooled.epsilons if pooled else np.full(len(values), np.nan),
        replicate=_replicate(pooled, values, centre, chosen.size, once),
        sampled=sampled,
    )


def sampled_documents(pairs: Pairs | PairTable, seed: int) -> Codes:
    """All documents, or as many random ones as hold at most MAX_POOLED candidates."""
    if pairs.documents.size <= MAX_POOLED:
        return np.arange(pairs.document_count)
    # Its own stream: the resamples are drawn from the bare seed.
    shuffled = np.random.default_rng((seed, 1)).permutation(pairs.document_count)
    sizes = np.bincount(pairs.documents)[shuffled]
    return np.sort(shuffled[np.cumsum(sizes) <= MAX_POOLED])


def _replicate(
    pooled: Pool | None, values: Floats, centre: Floats, chosen: int, once: Draws
) -> Callable[[Draws], Floats]:
    """`once`: every document and every system, as they are; `centre`: what the sample then says."""
    documents = once.documents.size
    if pooled is None or chosen < min(2, documents):
        return lambda draws: np.full((*values.shape, len(draws)), np.nan)
    if chosen == documents:
        return lambda draws: pooled_coefficients(pooled, draws)
    # A mean over documents varies as one over the root of their number; accuracy is the sample's.
    narrowing = np.full((len(COEFFICIENTS), 1), np.sqrt(chosen / documents))
    narrowing[-1] = 1.0

    def around_exact(draws: Draws) -> Floats:
        # A resample of all documents, restricted to the chosen ones, is a resample of those.
        found = pooled_coefficients(pooled, draws)
        by_systems = pooled_coefficients(pooled, replace(draws, documents=once.documents))
        spread = by_systems - centre[..., None] + narrowing * (found - by_systems)
        moved: Floats = np.clip(values[..., None] + spread, -1.0, 1.0)
        return moved

    return around_exact


def pool(
    table: PairTable, chosen: Codes, resampled: Resampled = "documents", *, accuracy: bool = True
) -> Pool:
    """The candidates of the chosen documents."""
    kept = np.flatnonzero(np.isin(table.documents, chosen))
    codes = _drawn_together(table, resampled)[kept]
    kept = kept[np.argsort(codes, kind="stable")]
    _, first, groups = np.unique(np.sort(codes), return_index=True, return_inverse=True)
    values = table.values[:, kept]
    columns = tuple(Levels.of(column, groups) for column in values)
    ordered = [column.signs() for column in columns]
    concordance = [_by_group(groups, ordered[x] * ordered[y]) for x, y in table.compared]
    epsilons, agreement = np.full(len(table.compared), np.nan), None
    if accuracy:
        epsilons, agreement = _agreement(values, ordered, table.compared, groups)
    return Pool(
        groups=groups,
        documents=table.documents[kept][first],
        systems=table.systems[kept][first],
        columns=columns,
        compared=table.compared,
        concordance=np.stack(concordance),
        agreement=agreement,
        epsilons=epsilons,
    )


def _agreement(
    values: Floats, ordered: Sequence[Signs], compared: Sequence[Two], groups: Codes
) -> tuple[Floats, Floats]:
    """Of each comparison: the epsilon, and the pairs on which both agree, by groups."""
    epsilons = np.empty(len(compared))
    agreement = np.empty((len(compared), groups[-1] + 1, groups[-1] + 1))
    for one in {scorer for scorer, _ in compared}:
        order = Ordering(ordered[one], distances(values[one]))
        places = [place for place, (scorer, _) in enumerate(compared) if scorer == one]
        others = [compared[place][1] for place in places]
        epsilons[places] = calibrated_lists(values[one], [values[other] for other in others])
        for place, other in zip(places, others, strict=True):
            agreeing = order.agreeing(ordered[other], epsilons[place])
            agreement[place] = _by_group(groups, agreeing.view(np.int8))
    return epsilons, agreement


def pooled_coefficients(pool: Pool, draws: Draws) -> Floats:
    """(comparisons, 5, resamples)."""
    # What is not resampled was drawn once throughout.
    weights = draws.documents[:, pool.documents] * draws.systems[:, pool.systems]
    drawn = weights[:, pool.groups]
    sizes = drawn.sum(axis=1)
    ranked = [column.ranked(weights, sizes) for column in pool.columns]
    ranks = _cosines([column.ranks for column in ranked], drawn, pool.compared)
    values = _cosines([column.centred(drawn) for column in pool.columns], drawn, pool.compared)
    found = np.full((len(pool.compared), len(COEFFICIENTS), sizes.size), np.nan)
    for place, (one, other) in enumerate(pool.compared):
        x, y = ranked[one], ranked[other]
        balance = _weighed(pool.concordance[place], weights)
        kendall = ratio(balance, np.sqrt(x.untied * y.untied))
        # Centring a constant leaves rounding noise; counting its ties does not.
        linear = np.where(np.isnan(kendall), np.nan, values[place])
        kendall_c = stuart(balance, sizes, x.distinct, y.distinct)
        found[place, :-1] = ranks[place], kendall, linear, kendall_c
        if pool.agreement is not None:
            found[place, -1] = share(_weighed(pool.agreement[place], weights), sizes)
    return found


def _cosines(columns: Sequence[Floats], weights: Floats, compared: Sequence[Two]) -> list[Floats]:
    """Of each comparison, in each resample, from columns (resamples, candidates) and how often each
    candidate was drawn."""
    weighted = [column * weights for column in columns]
    squares = [_row_sums(column, own) for column, own in zip(columns, weighted, strict=True)]
    return [
        ratio(_row_sums(weighted[one], columns[other]), np.sqrt(squares[one] * squares[other]))
        for one, other in compared
    ]


def _row_sums(one: Floats, other: Floats) -> Floats:
    sums: Floats = np.einsum("rc,rc->r", one, other)
    return sums


def _drawn_together(table: PairTable, resampled: Resampled) -> Codes:
    if resampled == "documents":
        return table.documents
    return table.systems + (table.documents * table.system_count if resampled == "both" else 0)


def _by_group(groups: Codes, pairs: NDArray[np.int8]) -> Floats:
    """What pairs of candidates, sorted by group, come to for every two groups.

    groups [0 0 1], concordant pairs (0, 2) and (1, 2) -> [[0 2] [2 0]]
    """
    ends = np.cumsum(np.bincount(groups))
    starts = ends - np.bincount(groups)
    narrow = np.min_scalar_type(-1 - int(np.max(ends - starts)))
    # reduceat is several times slower along the first axis
    rows = [
        pairs[start:end].sum(axis=0, dtype=narrow) for start, end in zip(starts, ends, strict=True)
    ]
    sums: Floats = np.add.reduceat(np.stack(rows), starts, axis=1, dtype=np.float64)
    return sums


def _weighed(table: Floats, weights: Floats) -> Floats:
    """Of each resample, from how often each group was drawn, (resamples, groups)."""
    sums: Floats = ((weights @ table) * weights).sum(axis=1)
    return sums
