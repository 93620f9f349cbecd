"""Two scorers' correlations after their scores were exchanged, candidate by candidate, at random.

PERM-BOTH, PERM-SYSTEMS and PERM-INPUTS (Deutsch, Dror and Roth, TACL 2021) exchange every
candidate's scores by itself (`both`), all of a system's together, or all of a document's:

first [1 2 3], second [9 8 7], swapped [no yes no] -> lists [1 8 3] and [9 2 7]
"""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from .bootstrap import Level
from .coefficients import (
    BUDGET,
    COEFFICIENTS,
    WIDE,
    Correlation,
    cosine,
    quotient,
    row_correlations,
    spearmans,
)
from .exchanged_ranks import OfBoth, Swapped, spearman_exchanged
from .pairs import Codes, Floats, Pairs, stacked
from .system import ROUNDING, member_means, member_shares, settled, standard

Exchange = Literal["both", "systems", "documents"]
Packed = NDArray[np.uint8]
BITS = 8


def exchanged(
    one: Pairs, other: Pairs, level: Level, coefficient: Correlation, swaps: Iterator[Swapped]
) -> Floats:
    """The difference after each swap; `one` and `other` are alike but for their scores.

    It is the mean over the groups (documents, or all) where both have a correlation.
    """
    first, second, human = map(standard, (one.scores, other.scores, one.human))
    if level == "system":
        of_both = _system_exchanged(one, first, second, human, coefficient)
    else:
        first, second, human = map(settled, (first, second, human))
        whole = np.arange(human.size)[None]
        groups = [cells for _, cells in stacked(one)] if level == "sample" else [whole]
        if coefficient == "spearman":
            of_both = spearman_exchanged(first, second, human, groups)
        else:
            of_both = _exchanged(first, second, human, groups, coefficient)

    def differences(swapped: Swapped) -> Floats:
        found, others = of_both(swapped)
        gaps = found - others
        defined = np.isfinite(gaps)
        return quotient(np.where(defined, gaps, 0.0).sum(axis=1), defined.sum(axis=1))

    return np.concatenate([np.empty(0), *map(differences, swaps)])


def _exchanged(
    first: Floats, second: Floats, human: Floats, groups: Sequence[Codes], coefficient: Correlation
) -> OfBoth:
    """From the lists themselves."""

    def correlate(lists: Floats) -> Floats:
        found = [_correlations(lists[:, at], human[at], coefficient) for at in groups]
        return np.concatenate(found, axis=1)

    def of_both(swapped: Swapped) -> tuple[Floats, Floats]:
        return (
            correlate(np.where(swapped, second, first)),
            correlate(np.where(swapped, first, second)),
        )

    return of_both


def _system_exchanged(
    pairs: Pairs, first: Floats, second: Floats, human: Floats, coefficient: Correlation
) -> OfBoth:
    """From the systems' means, which an exchange changes by what it brings and takes away."""
    firsts, seconds, ratings = (member_means(pairs, side[None]) for side in (first, second, human))
    moved = (member_shares(pairs).multiply((second - first)[:, None])).T.tocsr()

    def of_both(swapped: Swapped) -> tuple[Floats, Floats]:
        change = (moved @ np.ascontiguousarray(swapped.T, dtype=np.float64)).T
        one, other = (
            _correlations(settled(means)[:, None], settled(ratings), coefficient)
            for means in (firsts + change, seconds - change)
        )
        return one, other

    return of_both


def random_swaps(
    pairs: Pairs, exchange: Exchange, permutations: int, seed: int
) -> Iterator[Swapped]:
    """(at most a block, candidates) at a time; the draws do not depend on the block."""
    unit = {
        "both": np.arange(pairs.documents.size),
        "systems": pairs.systems,
        "documents": pairs.documents,
    }[exchange]
    packed = _packed_swaps(int(unit.max(initial=0)) + 1, permutations, seed)
    block = max(1, BUDGET // (2 * BITS * unit.size))
    for start in range(0, packed.shape[1], block):
        size = min(BITS * block, permutations - BITS * start)
        bits = np.unpackbits(packed[unit, start : start + block], axis=1, count=size)
        yield bits.view(np.bool_).T


@lru_cache(maxsize=1)
def _packed_swaps(units: int, permutations: int, seed: int) -> Packed:
    """(units, permutations), eight in a byte: comparisons with one best scorer share them."""
    stream = np.random.default_rng(seed)
    block = BITS * max(1, BUDGET // (BITS * units))
    sizes = [min(block, permutations - start) for start in range(0, permutations, block)]
    drawn = [
        np.packbits(stream.random((size, units), np.float32).T < 0.5, axis=1) for size in sizes
    ]
    return np.concatenate([np.empty((units, 0), np.uint8), *drawn], axis=1)


def _correlations(lists: Floats, human: Floats, coefficient: Correlation) -> Floats:
    """(exchanges, groups) from (exchanges, groups, candidates) and (groups, candidates)."""
    rows, size = lists.shape[:-1], lists.shape[-1]
    if coefficient == "kendall" and size >= WIDE:
        ratings = np.broadcast_to(human, lists.shape).reshape(-1, size)
        found = row_correlations(lists.reshape(-1, size), ratings)
        taus: Floats = found[COEFFICIENTS.index(coefficient)].reshape(rows)
        return taus
    if coefficient == "kendall":
        one, other = np.triu_indices(size, 1)
        return cosine(*(np.sign(side[..., one] - side[..., other]) for side in (lists, human)))
    if coefficient == "spearman":
        return spearmans(lists, human)
    return cosine(_centred(lists), _centred(human))


def _centred(values: Floats) -> Floats:
    """Exactly zero where nothing varies."""
    moved: Floats = values - values.mean(axis=-1, keepdims=True)
    return np.where(np.abs(moved) < ROUNDING, 0.0, moved)
