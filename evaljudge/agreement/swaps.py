"""Correlations of two lists that exchange some of their values, for many exchanges at once.

first [1 2 3], second [9 8 7], swapped [no yes no] -> lists [1 8 3] and [9 2 7]

Candidates fall into groups (those of a document, or all), which begin at `starts`; every group
has a correlation of its own. Values and ratings are standard scores.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats  # type: ignore[import-untyped, unused-ignore]

from .accuracy import Singles
from .coefficients import WIDE, Correlation, ratio
from .levels import ROUNDING
from .pairs import Codes, Floats

Swapped = NDArray[np.bool_]
# (exchanges, candidates) -> both lists' correlations, (2, exchanges, groups); NaN if undefined.
Correlate = Callable[[Swapped], Floats]


def by_value(first: Floats, second: Floats, human: Floats, starts: Codes) -> Correlate:
    """Pearson."""
    rating = _centred(human[None], starts)

    def one(values: Floats) -> Floats:
        moved = _centred(values, starts)
        return _cosines(_sums(moved * rating, starts), _sums(moved**2, starts), rating, starts)

    return lambda swapped: np.stack([one(x) for x in exchanged_lists(first, second, swapped)])


def exchanged_lists(first: Floats, second: Floats, swapped: Swapped) -> tuple[Floats, Floats]:
    return np.where(swapped, second, first), np.where(swapped, first, second)


def by_rank(first: Floats, second: Floats, human: Floats, starts: Codes) -> Correlate:
    """Spearman."""
    both = _sorted_together(first, second, starts)
    parts = np.split(human, starts[1:])
    rating = np.concatenate([stats.rankdata(part) - (part.size + 1) / 2 for part in parts])
    rating_of = np.tile(rating, 2)[both.order]

    def correlate(swapped: Swapped) -> Floats:
        kept = np.concatenate([~swapped, swapped], axis=1)[:, both.order]
        ranks = _ranks(both, kept)
        own = ranks * kept.astype(np.float64)
        mine = _sums(own * rating_of, both.starts), _sums(own * own, both.starts)
        products, squares = _sums(ranks * rating_of, both.starts), _sums(ranks**2, both.starts)
        theirs = products - mine[0], squares - mine[1]
        return np.stack([_cosines(*sums, rating, starts) for sums in (mine, theirs)])

    return correlate


def by_order(first: Floats, second: Floats, human: Floats, starts: Codes) -> Correlate:
    """Kendall's tau-b. Groups of equally many candidates are computed at once."""
    sizes = np.diff(starts, append=first.size)
    parts: list[tuple[Codes, Codes, Callable[[Swapped], Floats]]] = []
    for size in np.unique(sizes):
        chosen = np.flatnonzero(sizes == size)
        cells = starts[chosen, None] + np.arange(size)
        parts.append((chosen, cells, _taus(first[cells], second[cells], human[cells])))

    def correlate(swapped: Swapped) -> Floats:
        found = np.empty((2, len(swapped), starts.size))
        for chosen, cells, taus in parts:
            found[:, :, chosen] = taus(swapped[:, cells])
        return found

    return correlate


CORRELATE: Mapping[Correlation, Callable[[Floats, Floats, Floats, Codes], Correlate]] = {
    "spearman": by_rank,
    "kendall": by_order,
    "pearson": by_value,
}


@dataclass(frozen=True, slots=True)
class SortedTogether:
    """Both lists' values, sorted once: an exchange only says whose they are."""

    order: Codes
    starts: Codes  # of the groups
    ends: Codes
    group: Codes  # each value's
    below: Codes  # each value's ties are those from here
    up_to: Codes  # to here
    among_all: Codes  # values below each less values above it


def _sorted_together(first: Floats, second: Floats, starts: Codes) -> SortedTogether:
    sizes = np.diff(starts, append=first.size)
    values, groups = np.append(first, second), np.tile(np.repeat(np.arange(starts.size), sizes), 2)
    order = np.lexsort((values, groups))
    values, groups = values[order], groups[order]
    fresh = (np.diff(values, prepend=np.nan) != 0) | (np.diff(groups, prepend=-1) != 0)
    heads, tie = np.flatnonzero(fresh), np.cumsum(fresh) - 1
    below, up_to = heads[tie], np.append(heads[1:], values.size)[tie]
    ends = 2 * (starts + sizes)
    among_all = below + up_to - 2 * starts[groups] - ends[groups]
    return SortedTogether(order, 2 * starts, ends, groups, below, up_to, among_all.astype(np.int32))


def _ranks(both: SortedTogether, kept: Swapped) -> Floats:
    """How many values of its own list are below each, less how many are above it.

    That is twice the mean rank, centred. `kept`: the first list's values.
    """
    counts = np.zeros((len(kept), kept.shape[1] + 1), np.int32)
    np.cumsum(kept, axis=1, out=counts[:, 1:])
    among_kept = counts[:, both.below] + counts[:, both.up_to]
    among_kept -= (counts[:, both.starts] + counts[:, both.ends])[:, both.group]
    return np.where(kept, among_kept, both.among_all - among_kept).astype(np.float64)


def _centred(values: Floats, starts: Codes) -> Floats:
    sizes = np.diff(starts, append=values.shape[1])
    moved: Floats = values - np.repeat(_sums(values, starts) / sizes, sizes, axis=1)
    return np.where(np.abs(moved) < ROUNDING, 0.0, moved)


def _sums(values: Floats, starts: Codes) -> Floats:
    sums: Floats = np.add.reduceat(values, starts, axis=1)
    return sums


def _cosines(products: Floats, squares: Floats, rating: Floats, starts: Codes) -> Floats:
    human = np.add.reduceat(np.square(rating), starts, axis=-1)
    return ratio(products, np.sqrt(squares * human))


def _taus(first: Floats, second: Floats, human: Floats) -> Callable[[Swapped], Floats]:
    """(groups, candidates) -> (exchanges, groups, candidates) -> (2, exchanges, groups)

    Of both lists' values, 2n, the first keeps n after an exchange: u says which. With S the signs
    of all their differences and H those of their ratings, u'(S*H)u counts what is concordant less
    what is discordant, and u'(S*S)u what is not tied. The second list's u is 1 - u.
    """
    if first.shape[1] >= WIDE:
        return lambda swapped: _one_by_one(exchanged_lists(first, second, swapped), human)
    signs, ratings = _signs(np.hstack([first, second])), _signs(np.tile(human, 2))
    concordance, untied = signs * ratings, np.abs(signs)
    untied_human = np.count_nonzero(ratings, axis=(1, 2)) / 4  # every rating occurs twice there

    def correlate(swapped: Swapped) -> Floats:
        kept = np.concatenate([~swapped, swapped], axis=2).astype(np.float32).swapaxes(0, 1)
        balance, varied = _of_both(concordance, kept), _of_both(untied, kept)
        return ratio(balance, np.sqrt(varied * untied_human[:, None])).swapaxes(1, 2)

    return correlate


def _of_both(pairs: Singles, kept: Singles) -> Floats:
    """u'Pu for the first list and for the second, (2, groups, exchanges)."""
    by_kept = kept @ pairs
    by_others = pairs.sum(axis=1)[:, None] - by_kept
    mine = np.einsum("gdc,gdc->gd", by_kept, kept)
    theirs = np.einsum("gdc,gdc->gd", by_others, 1 - kept)
    return np.stack([mine, theirs]).astype(np.float64)


def _one_by_one(both: Sequence[Floats], human: Floats) -> Floats:
    return np.array([[[*map(_tau, groups, human)] for groups in one] for one in both])


def _tau(values: Floats, human: Floats) -> float:
    return float(stats.kendalltau(values, human, method="asymptotic").statistic)


def _signs(values: Floats) -> Singles:
    """Whole numbers: sums of up to WIDE squared of them are exact in single precision."""
    signs: Singles = np.sign(values[:, :, None] - values[:, None]).astype(np.float32)
    return signs
