"""All levels and coefficients: a scorer and people, two axes, or one rater and the others.

    >>> ceiling(documents, systems, [[4, 5, 4], [2, 1, nan], ...])[0]
    Ceiling(level='sample', coefficient='spearman', value=0.61, low=0.55, high=0.66, n=100, ...)

The ceiling is how well people agree with each other, which no scorer can be expected to surpass by
much. Leave one out: one rater's ratings against the mean of the others', at every level, averaged
over the raters for whom it is defined. A rater is a column, not always the same person. A candidate
with a single rating is skipped.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike

from .coefficients import (
    COEFFICIENTS,
    CORRELATIONS,
    Coefficient,
    Correlation,
    SystemCoefficient,
)
from .documents import LEVELS, Estimates, Level, interval, mean_parts, means, on_one_thread
from .levels import sample_level, system_level
from .pairs import Codes, Floats, PairTable, Two, groups_of, linked, table_of, tables
from .summary import MAX_POOLED, summary_level

MOST_NUMBERS = 2**24  # in the tables of pairs that are held at once


@dataclass(frozen=True, slots=True)
class Agreement:
    scorer: str = field(default="", kw_only=True)  # empty until the caller names it
    axis: str = field(default="", kw_only=True)
    level: Level
    coefficient: Coefficient | SystemCoefficient
    value: float | None  # None where undefined
    low: float | None  # 95% interval over documents; `soft_accuracy` has none
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
    low: float | None  # 95% interval over documents
    high: float | None
    n: int  # documents (sample), systems (system) or candidates (summary) behind the value
    sampled: bool = False  # the interval comes from a seeded sample of documents


@dataclass(frozen=True, slots=True)
class Ceiling:
    axis: str = field(default="", kw_only=True)  # empty until the caller names it
    level: Level
    coefficient: Correlation
    value: float | None  # None where undefined for every rater
    low: float | None  # 95% interval over documents
    high: float | None
    n: int  # documents (sample), systems (system) or candidates (summary) of the busiest rater
    skipped: int  # candidates with a single rating
    raters: int  # behind the value
    sampled: bool = False  # the interval comes from a seeded sample of documents


def agreements(
    documents: ArrayLike, systems: ArrayLike, scores: ArrayLike, human: ArrayLike, *,
    coefficients: Sequence[Coefficient] = COEFFICIENTS, seed: int = 0,
) -> list[Agreement]:  # fmt: skip
    """One result per level and coefficient, from one row per rated candidate, in any order.

    Without accuracy among the coefficients it is quicker: no two candidates are compared.

    documents, systems: integer codes; scores: NaN where unscored; human: NaN where unrated.
    """
    (agreed,) = comparisons(
        documents, systems, [scores, human], [(0, 1)],
        coefficients=coefficients, seed=seed,
    )  # fmt: skip
    return agreed


@on_one_thread
def comparisons(
    documents: ArrayLike, systems: ArrayLike, columns: Sequence[ArrayLike],
    compared: Sequence[Two], *,
    coefficients: Sequence[Coefficient] = COEFFICIENTS, seed: int = 0,
) -> list[list[Agreement]]:  # fmt: skip
    """The agreements of each two columns, scores and ratings, as if found one by one.

    What is known of a column is shared by all comparisons of the same candidates, so that many take
    little longer than one.
    """
    by_place = {
        place: [
            _agreement(estimates, local, coefficient, table)
            for estimates in levels
            for coefficient in coefficients
        ]
        for place, local, levels, table in estimates_of(
            documents, systems, columns, compared, coefficients=coefficients, seed=seed
        )
    }
    return [by_place[place] for place in range(len(compared))]


def estimates_of(
    documents: ArrayLike, systems: ArrayLike, columns: Sequence[ArrayLike],
    compared: Sequence[Two], *,
    levels: Sequence[Level] = LEVELS, coefficients: Collection[Coefficient] = COEFFICIENTS,
    seed: int = 0,
) -> Iterator[tuple[int, int, list[Estimates], PairTable]]:  # fmt: skip
    """Each comparison's place, its place in its table, the levels' estimates, and the table."""
    for places, table in tables(documents, systems, columns, compared):
        for group in linked(table.compared):  # fewer columns at once need less memory
            at = iter(group)
            # so many comparisons that their tables of pairs of candidates fit in memory
            pooled = min(table.documents.size, MAX_POOLED) ** 2 // 8
            for part in table.of(group).parts(max(1, MOST_NUMBERS // max(1, pooled))):
                estimates = [_LEVELS[level](part, seed, coefficients) for level in levels]
                for local in range(len(part.compared)):
                    yield places[next(at)], local, estimates, part


def among(
    documents: ArrayLike, systems: ArrayLike, values: Mapping[str, ArrayLike], *, seed: int = 0
) -> list[AxisPair]:  # fmt: skip
    """How axes go together: every pair of a scorer's own axes, or of the human ones, at every
    level, from one row per candidate; NaN where an axis has no value.

    >>> among(documents, systems, {"relevance": [5, 4, ...], "fluency": [3, 4, ...]})[0]
    AxisPair(axis='relevance', other='fluency', level='sample', coefficient='spearman', ...)

    Axes that do not differ measure one thing under two names.
    """

    columns, compared = list(values.values()), list(combinations(range(len(values)), 2))
    pairs = comparisons(documents, systems, columns, compared, coefficients=CORRELATIONS, seed=seed)
    return [
        AxisPair(axis, other, a.level, a.coefficient, a.value, a.low, a.high, a.n, a.sampled)
        for (axis, other), agreed in zip(combinations(values, 2), pairs, strict=True)
        for a in agreed
    ]


_LEVELS: dict[Level, Callable[[PairTable, int, Collection[Coefficient]], Estimates]] = {
    "sample": sample_level,
    "system": system_level,
    "summary": summary_level,
}


def _agreement(
    estimates: Estimates, place: int, coefficient: Coefficient, table: PairTable
) -> Agreement:
    """The agreement of one comparison at one level; `place`: of the comparison in its table."""
    index = COEFFICIENTS.index(coefficient)
    value, parts = float(estimates.values[place, index]), estimates.parts[place, index]
    is_accuracy = coefficient == "accuracy"
    exponent = table.exponents[table.compared[place][0]]
    with np.errstate(over="ignore"):  # infinite where scores are further apart than a float says
        epsilon = float(np.ldexp(float(estimates.epsilons[place]), exponent))
    return Agreement(
        estimates.level,
        coefficient,
        None if np.isnan(value) else value,
        *interval(value, parts, estimates.level, least=0.0 if is_accuracy else -1.0),
        n=int(estimates.units[place, index]),
        skipped=int(estimates.skipped[place, index]),
        sampled=estimates.sampled,
        epsilon=epsilon if is_accuracy and not np.isnan(value) else None,
    )


@on_one_thread
def ceiling(
    documents: ArrayLike, systems: ArrayLike, ratings: ArrayLike, *, seed: int = 0
) -> list[Ceiling]:
    """How far raters agree, from one row per candidate and one column per rater; NaN: no rating."""
    table = np.asarray(ratings, dtype=np.float64)
    counts = np.isfinite(table).sum(axis=1)
    kept = counts > 1
    document = np.unique(np.asarray(documents)[kept], return_inverse=True)[1]
    system = np.asarray(systems)[kept]
    raters = [
        _rater(document, system, table[kept], column, seed)
        for column in range(table.shape[1])
        if np.isfinite(table[kept, column]).any()
    ]
    if not raters:
        raters = [_levels(table_of([], [], [], []), seed)]
    skipped = int(np.sum(counts == 1))
    return [
        _ceiling([levels[place] for levels in raters], coefficient, skipped)
        for place in range(len(LEVELS))
        for coefficient in CORRELATIONS
    ]


def _rater(
    document: Codes, system: Codes, table: Floats, column: int, seed: int
) -> tuple[Estimates, ...]:
    """One against the mean of the others, with parts in the places that documents, or groups of
    documents, have among all that are rated."""
    # Sorted, so that equal ratings have equal means whoever gave them.
    others = np.sort(np.delete(table, column, axis=1), axis=1)
    ratings, mean = table[:, column], means(others)
    documents = int(document.max()) + 1
    rated = np.unique(document[np.isfinite(ratings)])
    pairs = replace(table_of(document, system, ratings, mean), groups=groups_of(documents)[rated])
    sample, *further = _levels(pairs, seed)
    parts = np.full((*sample.values.shape, documents), np.nan)
    parts[..., rated] = sample.parts
    return replace(sample, parts=parts), *further


def _levels(table: PairTable, seed: int) -> tuple[Estimates, ...]:
    return tuple(_LEVELS[level](table, seed, CORRELATIONS) for level in LEVELS)


def _ceiling(estimates: Sequence[Estimates], coefficient: Correlation, skipped: int) -> Ceiling:
    """The ceiling at one level, over the raters for whom it is defined."""
    index = COEFFICIENTS.index(coefficient)
    values = np.array([estimate.values[0, index] for estimate in estimates])
    defined = np.isfinite(values)
    value, low, high = None, None, None
    if defined.any():
        value = float(values[defined].mean())
        parts = np.stack([estimate.parts[0, index] for estimate in estimates])[defined]
        low, high = interval(value, mean_parts(parts), estimates[0].level)
    return Ceiling(
        estimates[0].level,
        coefficient,
        value,
        low,
        high,
        n=max(int(estimate.units[0, index]) for estimate in estimates),
        skipped=skipped,
        raters=int(np.count_nonzero(defined)),
        sampled=any(estimate.sampled for estimate in estimates),
    )
