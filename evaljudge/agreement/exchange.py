"""What difference chance would make between two scorers: their values exchanged at random.

first [1 2 3], second [9 8 7], swapped [no yes no] -> lists [1 8 3] and [9 2 7]

PERM-BOTH, PERM-SYSTEMS and PERM-INPUTS (Deutsch, Dror and Roth, TACL 2021): if the scorers
were alike, it would not matter which of them gave which value. Standard scores can be exchanged:
every candidate's by itself (`both`), all of a system's together, or all of a document's.
"""

from collections.abc import Iterator
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy import stats  # type: ignore[import-untyped, unused-ignore]

from .bootstrap import Level
from .coefficients import BUDGET, COEFFICIENTS, Correlation, cosine, quotient, row_correlations
from .levels import ROUNDING, settled, standard, system_means
from .pairs import Floats, Pairs, stacked

Exchange = Literal["both", "systems", "documents"]
Swapped = NDArray[np.bool_]  # (exchanges, candidates)


def exchanged(
    one: Pairs, other: Pairs, level: Level, coefficient: Correlation, swaps: Iterator[Swapped]
) -> Floats:
    """The difference after each swap; `one` and `other` are alike but for their scores.

    It is the mean over the groups (documents, or all) where both have a correlation.
    """
    first, second, human = (
        settled(standard(side)) for side in (one.scores, other.scores, one.human)
    )
    if level == "sample":
        groups = [cells for _, cells in stacked(one)]
    else:
        groups = [np.arange(one.system_count if level == "system" else human.size)[None]]

    def correlate(values: Floats) -> Floats:
        """(exchanges, groups)"""
        both = values, human[None]
        lists, ratings = (system_means(one, x) for x in both) if level == "system" else both
        found = [_correlations(lists[:, at], ratings[0, at], coefficient) for at in groups]
        return np.concatenate(found, axis=1)

    def differences(swapped: Swapped) -> Floats:
        gaps = correlate(np.where(swapped, second, first))
        gaps -= correlate(np.where(swapped, first, second))
        defined = np.isfinite(gaps)
        return quotient(np.where(defined, gaps, 0.0).sum(axis=1), defined.sum(axis=1))

    return np.concatenate([np.empty(0), *map(differences, swaps)])


def random_swaps(
    pairs: Pairs, exchange: Exchange, permutations: int, seed: int
) -> Iterator[Swapped]:
    """(at most a block, candidates) at a time; the draws do not depend on the block."""
    stream = np.random.default_rng(seed)
    unit = {
        "both": np.arange(pairs.documents.size),
        "systems": pairs.systems,
        "documents": pairs.documents,
    }[exchange]
    block = max(1, BUDGET // (4 * unit.size))
    for start in range(0, permutations, block):
        draws = stream.random((min(block, permutations - start), unit.max() + 1), np.float32)
        yield (draws < 0.5)[:, unit]


def _correlations(lists: Floats, human: Floats, coefficient: Correlation) -> Floats:
    """(exchanges, groups) from (exchanges, groups, candidates) and (groups, candidates)."""
    if coefficient == "kendall":
        rows, size = lists.shape[:-1], lists.shape[-1]
        ratings = np.broadcast_to(human, lists.shape).reshape(-1, size)
        found = row_correlations(lists.reshape(-1, size), ratings)
        taus: Floats = found[COEFFICIENTS.index(coefficient)].reshape(rows)
        return taus
    if coefficient == "spearman":
        lists, human = stats.rankdata(lists, axis=-1), stats.rankdata(human, axis=-1)
    return cosine(_centred(lists), _centred(human))


def _centred(values: Floats) -> Floats:
    """Exactly zero where nothing varies."""
    moved: Floats = values - values.mean(axis=-1, keepdims=True)
    return np.where(np.abs(moved) < ROUNDING, 0.0, moved)
