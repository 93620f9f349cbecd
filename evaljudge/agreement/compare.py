"""Does one scorer agree with people better than another? Paired tests on what both scored.

    >>> compare(documents, systems, rouge, judge, human, level="sample")
    Comparison(level='sample', coefficient='spearman', first=0.26, second=0.44, difference=-0.18,
               p_permutation=0.001, p_williams=None, n=100, sampled=False)

Correlations are compared as they are, not their magnitudes. Both are of the same candidates and,
at sample level, of the same documents: one where either is undefined is left out for both.

p_permutation: how often exchanging the scorers' standard scores at random (see exchange.py) makes
a difference at least as large, either way: (1 + times) / (1 + permutations). If the scorers were
alike, it would not matter which of them gave which score. Permutations that leave the difference
undefined are not counted; where that is more than half, or there are no permutations, there is no
p. On more than MAX_POOLED candidates pooled it is the p of a seeded sample of documents, and
`sampled` says so.

p_williams: Williams' test of the systems' means or of the candidates pooled, Pearson or (as is
usual) Spearman. It takes candidates for independent, which those of a document are not.
"""

from dataclasses import dataclass
from math import isfinite, sqrt

import numpy as np
from numpy.typing import ArrayLike

from .bootstrap import Level
from .coefficients import COEFFICIENTS, Correlation, correlations, spearmans
from .exchange import Exchange, exchanged, random_swaps
from .pairs import Floats, Pairs, paired, stacks
from .sample import document_correlations
from .summary import sampled_documents
from .system import standard, system_means

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
    if coefficient == "spearman":
        return _spearmans(pairs, level)
    index = COEFFICIENTS.index(coefficient)
    if level == "sample":
        found: Floats = document_correlations(pairs)[index]
        return found
    return correlations(*level_values(pairs, level))[index, None]


def _spearmans(pairs: Pairs, level: Level) -> Floats:
    """Without the other coefficients, of which Kendall's compare every two candidates."""
    if level != "sample":
        return spearmans(*level_values(pairs, level))[None]
    found = np.empty(pairs.document_count)
    for stack in stacks(pairs):
        found[stack.documents] = spearmans(stack.scores, stack.human)
    return found


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
    seen = found if tried is both else _defined(tried, level, coefficient)
    swaps = random_swaps(tried[0], exchange, permutations, seed)
    by_chance = exchanged(*tried, level, coefficient, swaps)
    return Comparison(
        level=level,
        coefficient=coefficient,
        first=one,
        second=other,
        difference=one - other,
        p_permutation=_p(abs(float(np.subtract(*seen.mean(axis=1)))), by_chance, permutations),
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


def _p(difference: float, by_chance: Floats, permutations: int) -> float | None:
    defined = int(np.isfinite(by_chance).sum())
    if not defined or 2 * defined < permutations:
        return None
    extreme = int(np.count_nonzero(np.abs(by_chance) > difference - EQUAL))
    return (1 + extreme) / (1 + defined)


def _williams(
    both: tuple[Pairs, Pairs], level: Level, coefficient: Correlation, first: float, second: float
) -> float | None:
    if level == "sample" or coefficient == "kendall":
        return None
    ones, others = (level_values(side, level)[0] for side in both)
    if coefficient == "spearman":
        between = spearmans(ones, others)
    else:
        between = correlations(ones, others)[COEFFICIENTS.index(coefficient)]
    return williams(first, second, float(between), ones.size)


def williams(first: float, second: float, between: float, n: int) -> float | None:
    """The two-sided p: `first` and `second` with the shared variable, `between` each other.

    Of 103 people, r(1,2) = 0.4 and r(1,3) = 0.5 where r(2,3) = 0.1 -> t(100) = -0.89, p = 0.37
    (Williams 1959; Steiger 1980, formula 7; Graham and Baldwin 2014 for metrics of translation.)
    """
    from scipy.special import stdtr

    if n < 4 or not all(map(isfinite, (first, second, between))):
        return None
    squares = first**2 + second**2 + between**2
    determinant = max(0.0, 1 - squares + 2 * first * second * between)
    mean = (first + second) / 2
    below = 2 * determinant * (n - 1) / (n - 3) + mean**2 * (1 - between) ** 3
    if below < NOTHING:
        return None
    t = (first - second) * sqrt((n - 1) * (1 + between) / below)
    return float(2 * stdtr(n - 3, -abs(t)))
