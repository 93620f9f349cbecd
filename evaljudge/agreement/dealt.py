"""Correlations of two lists whose values are dealt anew, many times at once.

first [1 2 3], second [9 8 7], swapped [no yes no] -> lists [1 8 3] and [9 2 7]

Candidates fall into groups (those of a document, or all), which begin at `starts`; every group
has a correlation of its own. Values and ratings are standard scores.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats  # type: ignore[import-untyped, unused-ignore]

from .coefficients import ratio
from .dealt_order import by_order
from .pairs import Codes, Floats
from .shared import ROUNDING, Correlation

Swapped = NDArray[np.bool_]
# (deals, candidates) -> the correlations of both lists, each (deals, groups); NaN where undefined.
Correlate = Callable[[Swapped], tuple[Floats, Floats]]


def by_value(first: Floats, second: Floats, human: Floats, starts: Codes) -> Correlate:
    """Pearson."""
    rating = _centred(human[None], starts)

    def one(values: Floats) -> Floats:
        moved = _centred(values, starts)
        return _cosines(_sums(moved * rating, starts), _sums(moved**2, starts), rating, starts)

    return lambda swapped: (
        one(np.where(swapped, second, first)),
        one(np.where(swapped, first, second)),
    )


def by_rank(first: Floats, second: Floats, human: Floats, starts: Codes) -> Correlate:
    """Spearman."""
    both = _both(first, second, starts)
    parts = np.split(human, starts[1:])
    rating = np.concatenate([stats.rankdata(part) - (part.size + 1) / 2 for part in parts])
    rating_of = np.tile(rating, 2)[both.order]

    def correlate(swapped: Swapped) -> tuple[Floats, Floats]:
        kept = np.concatenate([~swapped, swapped], axis=1)[:, both.order]
        standing = _standing(both, kept)
        own = standing * kept.astype(np.float64)
        products, squares = standing * rating_of, standing * standing
        mine = _sums(own * rating_of, both.starts), _sums(own * own, both.starts)
        all_sums = _sums(products, both.starts), _sums(squares, both.starts)
        theirs = all_sums[0] - mine[0], all_sums[1] - mine[1]
        return _cosines(*mine, rating, starts), _cosines(*theirs, rating, starts)

    return correlate


DEALT: Mapping[Correlation, Callable[[Floats, Floats, Floats, Codes], Correlate]] = {
    "spearman": by_rank,
    "kendall": by_order,
    "pearson": by_value,
}


@dataclass(frozen=True, slots=True)
class Both:
    """Both lists' values, sorted together, once: a deal only says whose they are."""

    order: Codes
    starts: Codes  # of the groups
    ends: Codes
    group: Codes  # each value's
    below: Codes  # each value's ties are those from here
    up_to: Codes  # to here
    among_all: Codes  # values below each less values above it


def _both(first: Floats, second: Floats, starts: Codes) -> Both:
    sizes = np.diff(starts, append=first.size)
    values, groups = np.append(first, second), np.tile(np.repeat(np.arange(starts.size), sizes), 2)
    order = np.lexsort((values, groups))
    values, groups = values[order], groups[order]
    fresh = (np.diff(values, prepend=np.nan) != 0) | (np.diff(groups, prepend=-1) != 0)
    heads, tie = np.flatnonzero(fresh), np.cumsum(fresh) - 1
    below, up_to = heads[tie], np.append(heads[1:], values.size)[tie]
    ends = 2 * (starts + sizes)
    among_all = below + up_to - 2 * starts[groups] - ends[groups]
    return Both(order, 2 * starts, ends, groups, below, up_to, among_all.astype(np.int32))


def _standing(both: Both, kept: Swapped) -> Floats:
    """How many values of its own list are below each, less how many are above it.

    That is twice the mean rank, centred. `kept`: the first list's values.
    """
    heaped = np.zeros((len(kept), kept.shape[1] + 1), np.int32)
    np.cumsum(kept, axis=1, out=heaped[:, 1:])
    among_kept = heaped[:, both.below] + heaped[:, both.up_to]
    among_kept -= (heaped[:, both.starts] + heaped[:, both.ends])[:, both.group]
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
