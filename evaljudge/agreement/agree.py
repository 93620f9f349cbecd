"""All levels and coefficients: a scorer and people, two axes, or one rater and the others.

    >>> ceiling(documents, systems, [[4, 5, 4], [2, 1, nan], ...])[0]
    Ceiling(level='sample', coefficient='spearman', value=0.61, low=0.55, high=0.66, n=100, ...)

The ceiling is how well people agree with each other, which no scorer can be expected to surpass by
much. Leave one out: one rater's ratings against the mean of the others', at every level, averaged
over the raters for whom it is defined. A rater is a column, not always the same person. A candidate
with a single rating is skipped. All raters see the same resamples of documents.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike

from .bootstrap import (
    LEVELS,
    Draws,
    Estimates,
    Level,
    Resampled,
    drawn,
    estimated,
    on_one_thread,
    replicated,
)  # fmt: skip
from .coefficients import (
    BUDGET,
    COEFFICIENTS,
    CORRELATIONS,
    Coefficient,
    Correlation,
    SystemCoefficient,
    quotient,
)  # fmt: skip
from .pairs import Codes, Floats, PairTable, Two, linked, table_of, tables
from .sample import sample_level
from .summary import MAX_POOLED, summary_level
from .system import system_level

MOST_NUMBERS = 2**24  # of tables of pairs that are held at once


@dataclass(frozen=True, slots=True)
class Agreement:
    scorer: str = field(default="", kw_only=True)  # empty until the caller names it
    axis: str = field(default="", kw_only=True)
    level: Level
    coefficient: Coefficient | SystemCoefficient
    value: float | None  # None where undefined
    low: float | None  # 95% bootstrap interval; `soft_accuracy` has none
    high: float | None
    n: int  # documents (sample), systems (system) or candidates (summary) behind the value
    skipped: int  # units left out, as the package's policy says
    sampled: bool = False  # the interval, and all of accuracies, come from a sample of documents
    epsilon: float | None = None  # accuracy: scores no further apart are tied


@dataclass(frozen=True, slots=True)
class AxisPair:
    of: str = field(default="", kw_only=True)  # the scorer, or "human"; the caller names it
    axis: str
    other: str
    level: Level
    coefficient: Coefficient | SystemCoefficient
    value: float | None  # None where undefined
    low: float | None  # 95% bootstrap interval over documents
    high: float | None
    n: int  # documents (sample), systems (system) or candidates (summary) behind the value
    sampled: bool = False  # the interval comes from a seeded sample of documents


@dataclass(frozen=True, slots=True)
class Ceiling:
    axis: str = field(default="", kw_only=True)  # empty until the caller names it
    level: Level
    coefficient: Correlation
    value: float | None  # None where undefined for every rater
    low: float | None  # 95% bootstrap interval over documents
    high: float | None
    n: int  # documents (sample), systems (system) or candidates (summary) of the busiest rater
    skipped: int  # candidates with a single rating
    raters: int  # behind the value
    sampled: bool = False  # the interval comes from a seeded sample of documents


@dataclass(frozen=True, slots=True)
class Rater:
    """One against the mean of the others: what is found at each level, and of which documents."""

    levels: tuple[Estimates, ...]
    documents: Codes
    systems: int

    def replicate(self, drawn: Floats) -> Floats:
        """(levels, coefficients, resamples)"""
        once = np.ones((len(drawn), self.systems))
        draws = Draws(documents=drawn[:, self.documents], systems=once)
        return np.stack([level.replicate(draws)[0] for level in self.levels])


def agreements(
    documents: ArrayLike, systems: ArrayLike, scores: ArrayLike, human: ArrayLike, *,
    coefficients: Sequence[Coefficient] = COEFFICIENTS, resample: Resampled = "documents",
    resamples: int = 1000, seed: int = 0,
) -> list[Agreement]:  # fmt: skip
    """One result per level and coefficient, from one row per rated candidate, in any order.

    Without accuracy among the coefficients it is quicker: no two candidates are compared.

    documents, systems: integer codes; scores: NaN where unscored; human: NaN where unrated.
    """
    (found,) = comparisons(
        documents, systems, [scores, human], [(0, 1)],
        coefficients=coefficients, resample=resample, resamples=resamples, seed=seed,
    )  # fmt: skip
    return found


@on_one_thread
def comparisons(
    documents: ArrayLike, systems: ArrayLike, columns: Sequence[ArrayLike],
    compared: Sequence[Two], *,
    coefficients: Sequence[Coefficient] = COEFFICIENTS, resample: Resampled = "documents",
    resamples: int = 1000, seed: int = 0,
) -> list[list[Agreement]]:  # fmt: skip
    """The agreements of each two columns, scores and ratings, as if found one by one.

    What is known of a column, and the resamples, are shared by all comparisons of the same
    candidates, so that many take little longer than one.
    """
    found: dict[int, list[Agreement]] = {}
    accuracy = "accuracy" in coefficients
    for places, table in tables(documents, systems, columns, compared):
        for group in linked(table.compared):  # more columns would leave room for fewer resamples
            at = iter(group)
            for part in table.of(group).parts(_at_once(table, resample)):
                estimates = all_levels(part, seed, resample, accuracy=accuracy)
                replicates = replicates_of(part, estimates, resample, resamples, seed)
                for one in range(len(part.compared)):
                    found[places[next(at)]] = [
                        _agreement(estimate, one, values[one], coefficient, part)
                        for estimate, values in zip(estimates, replicates, strict=True)
                        for coefficient in coefficients
                    ]
    return [found[place] for place in range(len(compared))]


def _at_once(table: PairTable, resample: Resampled) -> int:
    """So many comparisons that their tables of pairs of candidates and of groups fit in memory."""
    shape = table.document_count, table.system_count
    candidates = min(table.documents.size, MAX_POOLED)
    groups = {"documents": shape[0], "systems": shape[1], "both": candidates}[resample]
    numbers = candidates**2 // 8 + 2 * min(groups, candidates) ** 2
    return max(1, MOST_NUMBERS // max(1, numbers))


def among(
    documents: ArrayLike, systems: ArrayLike, values: Mapping[str, ArrayLike], *,
    resamples: int = 1000, seed: int = 0,
) -> list[AxisPair]:  # fmt: skip
    """How axes go together: every pair of a scorer's own axes, or of the human ones, at every
    level, from one row per candidate; NaN where an axis has no value.

    >>> among(documents, systems, {"relevance": [5, 4, ...], "fluency": [3, 4, ...]})[0]
    AxisPair(axis='relevance', other='fluency', level='sample', coefficient='spearman', ...)

    Axes that cannot be told apart measure one thing under two names.
    """

    columns, compared = list(values.values()), list(combinations(range(len(values)), 2))
    found = comparisons(
        documents, systems, columns, compared,
        coefficients=CORRELATIONS, resamples=resamples, seed=seed,
    )  # fmt: skip
    return [
        AxisPair(axis, other, a.level, a.coefficient, a.value, a.low, a.high, a.n, a.sampled)
        for (axis, other), agreed in zip(combinations(values, 2), found, strict=True)
        for a in agreed
    ]


def all_levels(
    table: PairTable, seed: int, resample: Resampled = "documents", *, accuracy: bool
) -> tuple[Estimates, ...]:
    """In the order of LEVELS."""
    return (
        sample_level(table, resample, accuracy=accuracy),
        system_level(table, accuracy=accuracy),
        summary_level(table, seed, resample, accuracy=accuracy),
    )


def replicates_of(
    table: PairTable, estimates: Sequence[Estimates], resample: Resampled, resamples: int, seed: int
) -> Floats:
    """(levels, comparisons, coefficients, resamples): every level sees the same resamples."""
    shape = table.document_count, table.system_count
    fewest = {"documents": shape[0], "systems": shape[1], "both": min(shape)}[resample]
    if fewest < 2 or resamples < 1:
        return np.full((len(estimates), *estimates[0].values.shape, 1), np.nan)
    pooled = min(table.documents.size, MAX_POOLED) * len(table.values)
    block = max(1, 2 * BUDGET // max(*shape, pooled))

    def replicate(draws: Draws) -> Floats:
        return np.stack([estimate.replicate(draws) for estimate in estimates])

    blocks = drawn(shape, resample, resamples, seed, block)
    return np.concatenate([replicate(draws) for draws in blocks], axis=-1)


def _agreement(
    estimates: Estimates, place: int, replicates: Floats, coefficient: Coefficient, table: PairTable
) -> Agreement:
    """Of one comparison at one level; `place` is that of the comparison in its table."""
    index = COEFFICIENTS.index(coefficient)
    calibrated = coefficient == "accuracy" and not np.isnan(estimates.values[place, index])
    exponent = table.exponents[table.compared[place][0]]
    epsilon = float(estimates.epsilons[place])
    return Agreement(
        estimates.level,
        coefficient,
        *estimated(float(estimates.values[place, index]), replicates[index]),
        n=int(estimates.units[place, index]),
        skipped=int(estimates.skipped[place, index]),
        sampled=estimates.sampled,
        epsilon=_unscaled(epsilon, exponent) if calibrated else None,
    )


def _unscaled(epsilon: float, exponent: int) -> float:
    """Infinite where scores are further apart than a float can say."""
    with np.errstate(over="ignore"):
        return float(np.ldexp(epsilon, exponent))


@on_one_thread
def ceiling(
    documents: ArrayLike, systems: ArrayLike, ratings: ArrayLike, *,
    resamples: int = 1000, seed: int = 0,
) -> list[Ceiling]:  # fmt: skip
    """From one row per candidate and one column per rater; NaN where a rater gave nothing."""
    table = np.asarray(ratings, dtype=np.float64)
    given = np.isfinite(table).sum(axis=1)
    kept = given > 1
    shared, document = np.unique(np.asarray(documents)[kept], return_inverse=True)
    system = np.asarray(systems)[kept]
    raters = list(_raters(document, system, table[kept], seed))
    if not raters:
        raters = [_rater(document, system, np.empty(0), np.empty(0), seed)]

    def replicate(draws: Floats) -> Floats:
        return _mean(np.stack([rater.replicate(draws) for rater in raters]))

    width = min(MAX_POOLED, system.size)
    replicates = replicated(replicate, shared.size, resamples, seed, width)
    skipped = int(np.sum(given == 1))
    return [
        _ceiling([rater.levels[place] for rater in raters], coefficient, replicates[place], skipped)
        for place in range(len(LEVELS))
        for coefficient in CORRELATIONS
    ]


def _raters(document: Codes, system: Codes, table: Floats, seed: int) -> Iterator[Rater]:
    for column in range(table.shape[1]):
        rows = np.isfinite(table[:, column])
        if rows.any():
            # Sorted, so that equal ratings have equal means whoever gave them.
            others = np.sort(np.delete(table[rows], column, axis=1), axis=1)
            means = np.nanmean(np.where(np.isfinite(others), others, np.nan), axis=1)
            yield _rater(document[rows], system[rows], table[rows, column], means, seed)


def _rater(document: Codes, system: Codes, own: Floats, others: Floats, seed: int) -> Rater:
    table = table_of(document, system, own, others)
    levels = all_levels(table, seed, accuracy=False)
    return Rater(levels, np.unique(document), table.system_count)


def _mean(found: Floats) -> Floats:
    """Over the raters, the first axis: NaN where none is defined."""
    defined = np.isfinite(found)
    return quotient(np.where(defined, found, 0.0).sum(axis=0), defined.sum(axis=0))


def _ceiling(
    estimates: Sequence[Estimates], coefficient: Correlation, replicates: Floats, skipped: int
) -> Ceiling:
    """At one level, from each rater's estimate."""
    index = COEFFICIENTS.index(coefficient)
    values = np.array([estimate.values[0, index] for estimate in estimates])
    return Ceiling(
        estimates[0].level,
        coefficient,
        *estimated(float(_mean(values)), replicates[index]),
        n=max(int(estimate.units[0, index]) for estimate in estimates),
        skipped=skipped,
        raters=int(np.count_nonzero(np.isfinite(values))),
        sampled=any(estimate.sampled for estimate in estimates),
    )
