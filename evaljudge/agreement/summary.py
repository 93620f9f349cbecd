"""Summary level: the statistics of all candidates pooled.

On more than MAX_POOLED pairs correlations stay exact, and their intervals come from a seeded sample
of whole documents: the sample's spread around the exact value, narrowed from its D' documents to
all D. The width is off by about one part in sqrt(2 D'). Accuracy, which needs all pairs, is that of
the sample, with the sample's own interval, and `n` counts the sample's candidates.

Nothing is ranked anew without a group of documents: a group is there or not, a weight of 1 or 0 of
its candidates. Weighted ranks, ties and concordances are exactly those of the shorter list.
"""

from collections.abc import Collection, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from evaljudge.agreement.coefficients import Ordering, calibrated, distances, share

from .coefficients import COEFFICIENTS, Coefficient, correlations, pearson, ratio, signs, stuart
from .documents import Estimates, jackknifed
from .pairs import MOST_GROUPS, Codes, Floats, PairTable, Two

SPEARMAN, KENDALL, PEARSON, KENDALL_C, _ = range(len(COEFFICIENTS))
PAIRWISE: frozenset[Coefficient] = frozenset(("kendall", "kendall_c", "accuracy"))
MAX_POOLED = 4000  # candidates: tau and accuracy without some of them need every pair of them


def summary_level(
    table: PairTable, seed: int, wanted: Collection[Coefficient] = COEFFICIENTS
) -> Estimates:
    """Agreement over all texts; coefficients of pairs that are not `wanted` are NaN."""
    chosen = sampled_documents(table, seed)
    shape = len(table.compared), len(COEFFICIENTS)
    values, parts = np.full(shape, np.nan), np.full((*shape, MOST_GROUPS), np.nan)
    units, epsilons = np.full(shape, table.documents.size), np.full(len(values), np.nan)
    units[:, -1] = 0
    sampled = chosen.size < table.document_count
    if chosen.size:
        units[:, -1] = np.isin(table.documents, chosen).sum()
        coefficients, epsilons = leaving_out(table, chosen, wanted)
        values = coefficients[..., 0]
        parts[..., np.unique(table.groups[chosen])] = jackknifed(values, coefficients[..., 1:])
    centre = values.copy()
    for place, (left, right) in enumerate(table.compared):
        x, y = table.values[left], table.values[right]
        if sampled:
            values[place, :-1] = correlations(x, y)
        elif not np.isnan(values[place, PEARSON]):
            # In the table's order, so that no bit depends on the groups.
            values[place, PEARSON] = pearson(x, y)
    if sampled:
        # A mean of documents varies as one over the root of their number; accuracy is the sample's.
        narrowing = np.full((len(COEFFICIENTS), 1), np.sqrt(chosen.size / table.document_count))
        narrowing[-1] = 1.0
        parts = values[..., None] + narrowing * (parts - centre[..., None])
    return Estimates(
        level="summary",
        values=values,
        parts=parts,
        units=units,
        skipped=np.repeat(np.array(table.unscored)[:, None], len(COEFFICIENTS), axis=1),
        epsilons=epsilons,
        sampled=sampled,
    )


def sampled_documents(pairs: PairTable, seed: int) -> Codes:
    """All documents, or as many random ones as hold at most MAX_POOLED candidates."""
    if pairs.documents.size <= MAX_POOLED:
        return np.arange(pairs.document_count)
    # A stream of its own: what is resampled elsewhere is drawn from the bare seed.
    shuffled = np.random.default_rng((seed, 1)).permutation(pairs.document_count)
    sizes = np.bincount(pairs.documents)[shuffled]
    return np.sort(shuffled[np.cumsum(sizes) <= MAX_POOLED])


def leaving_out(table: PairTable, chosen: Codes, wanted: Collection[str]) -> tuple[Floats, Floats]:
    """The coefficients (comparisons, 5, 1 + groups) of the candidates of the chosen documents: of
    all, then without each group of documents; and the epsilons, which are those of all."""
    kept = np.flatnonzero(np.isin(table.documents, chosen))
    kept = kept[np.argsort(table.groups[table.documents[kept]], kind="stable")]
    there, groups = np.unique(table.groups[table.documents[kept]], return_inverse=True)
    weights = np.concatenate([np.ones((1, there.size)), 1 - np.eye(there.size)])
    drawn = weights[:, groups]
    sizes = drawn.sum(axis=1)
    values, compared = table.values[:, kept], table.compared
    ranked = [_ranked(column, groups, weights, sizes) for column in values]
    ranks = _cosines([ranks for _, ranks, _, _ in ranked], drawn, compared)
    centred = [x - (drawn @ x / np.maximum(sizes, 1.0))[:, None] for x in values]
    linear = _cosines(centred, drawn, compared)
    levels = (codes.astype(np.int16) for codes, *_ in ranked)  # at most MAX_POOLED
    ordered = [] if PAIRWISE.isdisjoint(wanted) else [signs(x[:, None], x) for x in levels]
    coefficients = np.full((len(compared), len(COEFFICIENTS), sizes.size), np.nan)
    epsilons = np.full(len(compared), np.nan)
    for place, (left, right) in enumerate(compared):
        coefficients[place, SPEARMAN] = ranks[place]
        # Centring a constant leaves rounding noise; its ranks are exact.
        coefficients[place, PEARSON] = np.where(np.isnan(ranks[place]), np.nan, linear[place])
        if ordered:
            untied, distinct = zip(ranked[left][2:], ranked[right][2:], strict=True)
            balance = _weighed(groups, ordered[left] * ordered[right], weights)
            coefficients[place, KENDALL] = ratio(balance, np.sqrt(untied[0] * untied[1]))
            coefficients[place, KENDALL_C] = stuart(balance, sizes, *distinct)
    for column in {scorer for scorer, _ in compared} if "accuracy" in wanted else ():
        order = Ordering(ordered[column], distances(values[column]))
        for place, (scorer, human) in enumerate(compared):
            if scorer == column:
                epsilons[place] = calibrated([order.gaps(ordered[human])])
                agreeing = order.agreeing(ordered[human], epsilons[place]).view(np.int8)
                coefficients[place, -1] = share(_weighed(groups, agreeing, weights), sizes)
    return coefficients, epsilons


def _ranked(
    values: Floats, groups: Codes, weights: Floats, sizes: Floats
) -> tuple[Codes, Floats, Floats, Floats]:
    """The place of each value among the distinct ones, twice the centred mean ranks (rows,
    candidates), the ordered pairs untied, and the distinct values with weight; `weights`: of each
    group, `sizes`: the candidates of each row.

    Values [5 7 7], each weighing 1: ranks [-2 1 1], 4 ordered pairs untied, 2 distinct.
    """
    distinct, codes = np.unique(values, return_inverse=True)
    cells, shape = (groups, codes), (weights.shape[1], distinct.size)
    times: Floats = weights @ sparse.csr_array((np.ones(values.size), cells), shape=shape)
    # Weight below less weight above.
    ranks = 2.0 * np.cumsum(times, axis=1) - times - sizes[:, None]
    untied = sizes**2 - (times**2).sum(axis=1)
    return codes, ranks[:, codes], untied, (times > 0).sum(axis=1).astype(np.float64)


def _cosines(columns: Sequence[Floats], weights: Floats, compared: Sequence[Two]) -> list[Floats]:
    """The cosine of each comparison, from columns (rows, candidates) and candidates' weights."""
    weighted = [column * weights for column in columns]
    squares = [_row_sums(column, times) for column, times in zip(columns, weighted, strict=True)]
    return [
        ratio(_row_sums(weighted[left], columns[right]), np.sqrt(squares[left] * squares[right]))
        for left, right in compared
    ]


def _row_sums(left: Floats, right: Floats) -> Floats:
    return np.einsum("rc,rc->r", left, right)


def _weighed(groups: Codes, pairs: NDArray[np.int8], weights: Floats) -> Floats:
    """The weighted sum over pairs of candidates, sorted by group, for each row of weights.

    groups [0 0 1], concordant pairs (0, 2) and (1, 2): by groups [[0 2] [2 0]]; weights [1 1] -> 4
    """
    ends = np.cumsum(np.bincount(groups))
    starts = ends - np.bincount(groups)
    narrow = np.min_scalar_type(-1 - int(np.max(ends - starts)))
    # reduceat is several times slower along the first axis
    rows = [
        pairs[start:end].sum(axis=0, dtype=narrow) for start, end in zip(starts, ends, strict=True)
    ]
    table = np.add.reduceat(np.stack(rows), starts, axis=1, dtype=np.float64)
    return ((weights @ table) * weights).sum(axis=1)
