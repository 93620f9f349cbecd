"""Kendall's tau-b of two lists whose values are dealt anew (see dealt.py).

Of the first list's and the second's values together, 2n, a deal keeps n: u says which. With S the
signs of all their differences and H those of their ratings, u'(S*H)u counts what is concordant
less what is discordant, and u'(S*S)u what is not tied. The other list's u is 1 - u.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy import stats  # type: ignore[import-untyped, unused-ignore]

from .coefficients import WIDE, ratio
from .pairs import Codes, Floats

Swapped = NDArray[np.bool_]
Signs = NDArray[np.float32]  # whole numbers, exact in sums of up to WIDE squared


def by_order(
    first: Floats, second: Floats, human: Floats, starts: Codes
) -> Callable[[Swapped], tuple[Floats, Floats]]:
    """Groups of equally many candidates are done at once."""
    sizes = np.diff(starts, append=first.size)
    parts: list[tuple[Codes, Codes, Callable[[Swapped], Floats]]] = []
    for size in np.unique(sizes):
        chosen = np.flatnonzero(sizes == size)
        cells = starts[chosen, None] + np.arange(size)
        parts.append((chosen, cells, _groups(first[cells], second[cells], human[cells])))

    def correlate(swapped: Swapped) -> tuple[Floats, Floats]:
        found = np.empty((2, len(swapped), starts.size))
        for chosen, cells, taus in parts:
            found[:, :, chosen] = taus(swapped[:, cells])
        return found[0], found[1]

    return correlate


def _groups(first: Floats, second: Floats, human: Floats) -> Callable[[Swapped], Floats]:
    """(groups, candidates) -> (deals, groups, candidates) -> (2, deals, groups)"""
    if first.shape[1] >= WIDE:
        return lambda swapped: _one_by_one(first, second, human, swapped)
    signs, ratings = _signs(np.hstack([first, second])), _signs(np.tile(human, 2))
    concordance, untied = signs * ratings, np.abs(signs)
    untied_human = np.count_nonzero(ratings, axis=(1, 2)) / 4  # every rating stands there twice

    def correlate(swapped: Swapped) -> Floats:
        kept = np.concatenate([~swapped, swapped], axis=2).astype(np.float32).swapaxes(0, 1)
        balance, varied = _of_both(concordance, kept), _of_both(untied, kept)
        return ratio(balance, np.sqrt(varied * untied_human[:, None])).swapaxes(1, 2)

    return correlate


def _of_both(pairs: Signs, kept: Signs) -> Floats:
    """u'Pu for the first list and for the second, (2, groups, deals)."""
    by_kept = kept @ pairs
    by_others = pairs.sum(axis=1)[:, None] - by_kept
    mine = np.einsum("gdc,gdc->gd", by_kept, kept)
    theirs = np.einsum("gdc,gdc->gd", by_others, 1 - kept)
    return np.stack([mine, theirs]).astype(np.float64)


def _one_by_one(first: Floats, second: Floats, human: Floats, swapped: Swapped) -> Floats:
    lists = np.where(swapped, second, first), np.where(swapped, first, second)
    return np.array([[[*map(_tau, dealt, human)] for dealt in deals] for deals in lists])


def _tau(values: Floats, human: Floats) -> float:
    return float(stats.kendalltau(values, human, method="asymptotic").statistic)


def _signs(values: Floats) -> Signs:
    signs: Signs = np.sign(values[:, :, None] - values[:, None]).astype(np.float32)
    return signs
