"""Does one scorer agree with people better than another? Paired tests on what both scored.

    >>> compare(documents, systems, rouge, judge, human, level="sample")
    Comparison(level='sample', coefficient='spearman', first=0.26, second=0.44, difference=-0.18,
               p_permutation=0.001, p_williams=None, n=100, sampled=False)

Correlations are compared as they are, not their magnitudes. Both are of the same candidates and,
at sample level, of the same documents: one where either is undefined is left out for both.

p_permutation: how often exchanging the scorers' standard scores at random makes a difference at
least as large, either way: (1 + times) / (1 + permutations). If the scorers were alike, it would
not matter which of them gave which score. PERM-BOTH, PERM-SYSTEMS and PERM-INPUTS (Deutsch, Dror
and Roth, TACL 2021) exchange every candidate's by itself (`both`), all of a system's together, or
all of a document's:

first [1 2 3], second [9 8 7], swapped [no yes no] -> lists [1 8 3] and [9 2 7]

Permutations that leave the difference
undefined are not counted; where that is more than half, or there are no permutations, there is no
p. On more than MAX_POOLED candidates pooled it is the p of a seeded sample of documents, and
`sampled` says so.

p_williams: Williams' test of the systems' means or of the candidates pooled, Pearson or (as is
usual) Spearman. It takes candidates for independent, which those of a document are not.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import isfinite, sqrt
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse, stats  # type: ignore[import-untyped, unused-ignore]

from .bootstrap import Level
from .coefficients import (
    BUDGET,
    COEFFICIENTS,
    WIDE,
    Correlation,
    correlations,
    cosine,
    quotient,
    ratio,
    row_correlations,
)
from .pairs import Codes, Floats, Pairs, paired, stacked
from .sample import document_correlations
from .summary import sampled_documents
from .system import ROUNDING, member_means, member_shares, settled, standard, system_means

Exchange = Literal["both", "systems", "documents"]
Swapped = NDArray[np.bool_]  # (exchanges, candidates)
OfBoth = Callable[[Swapped], tuple[Floats, Floats]]
"""Both scorers' correlations after each exchange: (exchanges, groups) each."""
EQUAL = 1e-9  # differences of correlations that differ by less do so by rounding
NOTHING = 1e-12  # a divisor no larger is rounding


@dataclass(frozen=True, slots=True)
class Comparison:
    level: Level
    coefficient: Correlation
    first: float | None  # each None where either is undefined
    second: float | None
    difference: float | None  # first - second
    p_permutation: float | None  # two-sided
    p_williams: float | None  # two-sided; None where it is not defined
    n: int  # documents (sample), systems (system) or candidates (summary) behind the difference
    sampled: bool = False  # p_permutation comes from a seeded sample of documents


def group_correlations(pairs: Pairs, level: Level, coefficient: Correlation) -> Floats:
    """One per document at sample level, else a single one; NaN where undefined."""
    index = COEFFICIENTS.index(coefficient)
    if level == "sample":
        found: Floats = document_correlations(pairs)[index]
        return found
    return correlations(*level_values(pairs, level))[index, None]


def level_values(pairs: Pairs, level: Level) -> tuple[Floats, Floats]:
    """The two lists that are correlated: of systems' means, or of all candidates."""
    if level == "summary":
        return pairs.scores, pairs.human
    scores, human = (
        system_means(pairs, standard(side)[None])[0] for side in (pairs.scores, pairs.human)
    )
    return scores, human


def compare(
    documents: ArrayLike, systems: ArrayLike, first: ArrayLike, second: ArrayLike,
    human: ArrayLike, *, level: Level, coefficient: Correlation = "spearman",
    exchange: Exchange = "both", permutations: int = 1000, seed: int = 0,
) -> Comparison:  # fmt: skip
    """From one row per candidate, in any order; NaN where unscored or unrated."""
    both = both_scored(documents, systems, first, second, human)
    found = _defined(both, level, coefficient)
    units = {
        "sample": found.shape[1],
        "system": both[0].system_count,
        "summary": both[0].documents.size,
    }
    if found.size == 0:
        return Comparison(level, coefficient, None, None, None, None, None, units[level])
    one, other = (float(value) for value in found.mean(axis=1))
    tried = _sampled(both, seed) if level == "summary" else both
    return Comparison(
        level=level,
        coefficient=coefficient,
        first=one,
        second=other,
        difference=one - other,
        p_permutation=_p(tried, level, coefficient, exchange, permutations, seed),
        p_williams=_williams(both, level, coefficient, one, other),
        n=units[level],
        sampled=tried is not both,
    )


def both_scored(
    documents: ArrayLike, systems: ArrayLike, first: ArrayLike, second: ArrayLike, human: ArrayLike
) -> tuple[Pairs, Pairs]:
    """The candidates that both scored and people rated, in the same order, with either's scores."""
    ones, others = (np.asarray(side, dtype=np.float64) for side in (first, second))
    if ones.shape != others.shape:
        raise ValueError("both scorers' scores must be lists of one length")
    absent = ~(np.isfinite(ones) & np.isfinite(others))
    one, other = (
        paired(documents, systems, np.where(absent, np.nan, side), human) for side in (ones, others)
    )
    again = (np.diff(one.documents) == 0) & (np.diff(one.systems) == 0)
    if again.any():
        raise ValueError("two rows have the same document and system")
    return one, other


def _defined(both: tuple[Pairs, Pairs], level: Level, coefficient: Correlation) -> Floats:
    """(2, groups where both are defined)"""
    found = np.stack([group_correlations(side, level, coefficient) for side in both])
    return found[:, np.isfinite(found).all(axis=0)]


def _sampled(both: tuple[Pairs, Pairs], seed: int) -> tuple[Pairs, Pairs]:
    chosen = sampled_documents(both[0], seed)
    if chosen.size == both[0].document_count:
        return both
    kept = np.isin(both[0].documents, chosen)
    one, other = (
        paired(side.documents[kept], side.systems[kept], side.scores[kept], side.human[kept])
        for side in both
    )
    return one, other


def _p(
    both: tuple[Pairs, Pairs], level: Level, coefficient: Correlation, exchange: Exchange,
    permutations: int, seed: int,
) -> float | None:  # fmt: skip
    swaps = random_swaps(both[0], exchange, permutations, seed)
    by_chance = exchanged(*both, level, coefficient, swaps)
    defined = int(np.isfinite(by_chance).sum())
    if not defined or 2 * defined < permutations:
        return None
    seen = _defined(both, level, coefficient)
    difference = abs(float(np.subtract(*seen.mean(axis=1))))
    extreme = int(np.count_nonzero(np.abs(by_chance) > difference - EQUAL))
    return (1 + extreme) / (1 + defined)


def _williams(
    both: tuple[Pairs, Pairs], level: Level, coefficient: Correlation, first: float, second: float
) -> float | None:
    if level == "sample" or coefficient == "kendall":
        return None
    ones, others = (level_values(side, level)[0] for side in both)
    between = correlations(ones, others)[COEFFICIENTS.index(coefficient)]
    return williams(first, second, float(between), ones.size)


def williams(first: float, second: float, between: float, n: int) -> float | None:
    """The two-sided p: `first` and `second` with the shared variable, `between` each other.

    Of 103 people, r(1,2) = 0.4 and r(1,3) = 0.5 where r(2,3) = 0.1 -> t(100) = -0.89, p = 0.37
    (Williams 1959; Steiger 1980, formula 7; Graham and Baldwin 2014 for metrics of translation.)
    """
    if n < 4 or not all(map(isfinite, (first, second, between))):
        return None
    squares = first**2 + second**2 + between**2
    determinant = max(0.0, 1 - squares + 2 * first * second * between)
    mean = (first + second) / 2
    below = 2 * determinant * (n - 1) / (n - 3) + mean**2 * (1 - between) ** 3
    if below < NOTHING:
        return None
    t = (first - second) * sqrt((n - 1) * (1 + between) / below)
    return float(2 * stats.t.sf(abs(t), n - 3))


def exchanged(
    one: Pairs, other: Pairs, level: Level, coefficient: Correlation, swaps: Iterator[Swapped]
) -> Floats:
    """The difference after each swap; `one` and `other` are alike but for their scores.

    It is the mean over the groups (documents, or all) where both have a correlation.
    """
    first, second, human = (
        settled(standard(side)) for side in (one.scores, other.scores, one.human)
    )
    if level == "system":
        of_both = _system_exchanged(one, first, second, human, coefficient)
    else:
        whole = np.arange(human.size)[None]
        groups = [cells for _, cells in stacked(one)] if level == "sample" else [whole]
        if coefficient == "spearman":
            of_both = _spearman_exchanged(first, second, human, groups)
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
    moved = (member_shares(pairs).multiply((second - first)[:, None])).tocsr()

    def of_both(swapped: Swapped) -> tuple[Floats, Floats]:
        change = swapped.astype(np.float64) @ moved
        one, other = (
            _correlations(settled(means)[:, None], settled(ratings), coefficient)
            for means in (firsts + change, seconds - change)
        )
        return one, other

    return of_both


def _spearman_exchanged(
    first: Floats, second: Floats, human: Floats, groups: Sequence[Codes]
) -> OfBoth:
    """From running counts: no exchange is sorted.

    All values of both scorers are sorted once, list by list. An exchange says which of them are in
    the one list; the others are in the other. With n values in a list, S[k] of them among the first
    k, and equal values standing from s to e, twice a value's centred rank is S[s] + S[e] - n. Of
    the other list it is (s - S[s]) + (e - S[e]) - n, so that the products of its ranks with the
    ratings' centred ranks h, which add up to 0, differ from those of the first by sums that are
    linear in what is chosen. Tables are (values, exchanges).
    """
    lists = [cells for at in groups for cells in at]
    orders = [np.argsort(np.append(first[at], second[at]), kind="stable") for at in lists]
    cells = np.concatenate([np.append(at, at)[o] for at, o in zip(lists, orders, strict=True)])
    is_second = np.concatenate([o >= at.size for at, o in zip(lists, orders, strict=True)])
    values = np.where(is_second, second[cells], first[cells])
    sizes = np.array([at.size for at in lists])
    of_list = np.cumsum(2 * sizes) - 2 * sizes

    begins = np.isin(np.arange(cells.size), of_list)
    begins[1:] |= np.diff(values) != 0
    runs = np.cumsum(begins) - 1
    starts = np.flatnonzero(begins)
    ends = np.append(starts[1:], cells.size)
    start, end, lengths = starts[runs], ends[runs], ends - starts
    tied = np.flatnonzero(lengths > 1)
    lists_of_tied = np.searchsorted(of_list, starts[tied], "right") - 1
    places = (lists_of_tied, np.arange(tied.size))
    of_tied = sparse.csr_array((np.ones(tied.size), places), shape=(sizes.size, tied.size))
    members = np.flatnonzero(lengths[runs] > 1)
    first_members = np.cumsum(lengths[tied]) - lengths[tied]

    ranked = np.empty(human.size)
    for at in groups:
        ranked[at] = _centred_ranks(human[at])
    h = ranked[cells]
    spread = np.array([(ranked[at] ** 2).sum() for at in lists])[:, None]
    bounds = np.bincount(start, h, cells.size + 1) + np.bincount(end, h, cells.size + 1)
    # what choosing a value adds to the sum of h·(S[s] + S[e]), and to that of h·(s + e) if chosen
    weights = np.cumsum(bounds[::-1])[::-1][1:] + h * (start + end)
    whole = np.add.reduceat(h * (start + end), of_list)[:, None]
    squares = ((sizes**3 - sizes) / 3)[:, None]
    # exact in single precision, as long as every product is a multiple of 1/2 below 2^23
    is_small = 2 * cells.size * np.abs(h).max(initial=0.0) < 2**23
    single = np.float32 if is_small else np.float64

    def correlate(products: Floats, counts: Floats) -> Floats:
        tied_away = of_tied @ ((counts**3 - counts) / 3)
        return ratio(products, np.sqrt((squares - tied_away) * spread)).T

    def of_both(swapped: Swapped) -> tuple[Floats, Floats]:
        chosen = np.ascontiguousarray(swapped.T)[cells] == is_second[:, None]
        summed = np.zeros((cells.size + 1, chosen.shape[1]), single)
        np.cumsum(chosen, axis=0, dtype=single, out=summed[1:])
        ranks = summed[start] + summed[end]
        ranks *= h.astype(single)[:, None]
        ranks *= chosen
        products = np.add.reduceat(ranks, of_list, axis=0, dtype=np.float64)
        moved = np.add.reduceat(np.where(chosen, weights[:, None], 0.0), of_list, axis=0)
        counts = np.add.reduceat(chosen[members], first_members, axis=0, dtype=np.float64)
        others = lengths[tied, None] - counts
        return correlate(products, counts), correlate(whole - moved + products, others)

    return of_both


def _centred_ranks(values: Floats) -> Floats:
    return _centred(stats.rankdata(values, axis=-1))


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
        return cosine(_centred_ranks(lists), _centred_ranks(human))
    return cosine(_centred(lists), _centred(human))


def _centred(values: Floats) -> Floats:
    """Exactly zero where nothing varies."""
    moved: Floats = values - values.mean(axis=-1, keepdims=True)
    return np.where(np.abs(moved) < ROUNDING, 0.0, moved)
