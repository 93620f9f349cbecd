"""Kendall's tau-b of two lists whose values are dealt anew (see dealt.py).

Of the first list's and the second's values together, 2n, a deal keeps n: u says which. With S the
signs of all their differences and H those of their ratings, u'(S*H)u counts what is concordant
less what is discordant, and u'(S*S)u what is not tied. The other list's u is 1 - u.
"""

from collections.abc import Callable
from itertools import pairwise

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
    parts = [slice(begin, end) for begin, end in pairwise([*starts, first.size])]
    groups = [_group(first[part], second[part], human[part]) for part in parts]

    def correlate(swapped: Swapped) -> tuple[Floats, Floats]:
        found = np.stack(
            [group(swapped[:, part]) for group, part in zip(groups, parts, strict=True)], axis=2
        )
        return found[0], found[1]

    return correlate


def _group(first: Floats, second: Floats, human: Floats) -> Callable[[Swapped], Floats]:
    """(deals, candidates) -> (2, deals)"""
    if first.size >= WIDE:
        return lambda swapped: _one_by_one(first, second, human, swapped)
    signs, ratings = _signs(np.append(first, second)), _signs(np.tile(human, 2))
    concordance, untied = signs * ratings, np.abs(signs)
    untied_human = np.count_nonzero(ratings) / 4  # every rating stands there twice

    def correlate(swapped: Swapped) -> Floats:
        kept = np.concatenate([~swapped, swapped], axis=1).astype(np.float32)
        balance, varied = _of_both(concordance, kept), _of_both(untied, kept)
        return ratio(balance, np.sqrt(varied * untied_human))

    return correlate


def _of_both(pairs: Signs, kept: Signs) -> Floats:
    """u'Pu for the first list and for the second, (2, deals)."""
    by_kept = kept @ pairs
    mine = np.einsum("ij,ij->i", by_kept, kept)
    theirs = np.einsum("ij,ij->i", pairs.sum(axis=0) - by_kept, 1 - kept)
    return np.stack([mine, theirs]).astype(np.float64)


def _one_by_one(first: Floats, second: Floats, human: Floats, swapped: Swapped) -> Floats:
    lists = np.where(swapped, second, first), np.where(swapped, first, second)
    return np.array([[_tau(values, human) for values in dealt] for dealt in lists])


def _tau(values: Floats, human: Floats) -> float:
    return float(stats.kendalltau(values, human, method="asymptotic").statistic)


def _signs(values: Floats) -> Signs:
    signs: Signs = np.sign(values[:, None] - values).astype(np.float32)
    return signs
