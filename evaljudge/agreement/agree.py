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
from math import isnan

import numpy as np
from numpy.typing import ArrayLike

from .coefficients import COEFFICIENTS, CORRELATIONS, Coefficient, SystemCoefficient
from .documents import (
    LEVELS,
    Estimate,
    Estimates,
    Level,
    interval,
    mean_parts,
    means,
    on_one_thread,
)
from .levels import sample_level, system_level
from .pairs import Codes, Floats, PairTable, Two, groups_of, table_of, tables
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
    rater: str = field(default="", kw_only=True)  # whose it is; empty: the mean of all raters
    level: Level
    coefficient: Coefficient
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

    documents, systems: integer codes; scores: NaN where unscored; human: NaN where unrated.
    """
    (agreed,) = comparisons(
        documents, systems, [scores, human], [(0, 1)],
        coefficients=coefficients, seed=seed,
    )  # fmt: skip
    return agreed


def comparisons(
    documents: ArrayLike, systems: ArrayLike, columns: Sequence[ArrayLike],
    compared: Sequence[Two], *,
    coefficients: Sequence[Coefficient] = COEFFICIENTS, seed: int = 0,
) -> list[list[Agreement]]:  # fmt: skip
    """The agreements of each two columns, scores and ratings, as if found one by one."""
    found = estimates(documents, systems, columns, compared, LEVELS, coefficients, seed)
    by_place = {place: list(map(_agreement, of_place)) for place, of_place in found}
    return [by_place[place] for place in range(len(compared))]


def estimates(
    documents: ArrayLike, systems: ArrayLike, columns: Sequence[ArrayLike],
    compared: Sequence[tuple[int, ...]], levels: Sequence[Level],
    coefficients: Sequence[Coefficient], seed: int,
) -> Iterator[tuple[int, list[Estimate]]]:  # fmt: skip
    """Each comparison's place (see `tables`), and its estimates by level and coefficient; in any
    order."""
    for places, table in tables(documents, systems, columns, compared):
        # so many comparisons that their tables of pairs of candidates fit in memory
        pooled = min(table.documents.size, MAX_POOLED) ** 2 // 8
        most = max(1, MOST_NUMBERS // max(1, pooled))
        # those of the same ratings together: fewer columns at once need less memory
        order = sorted(range(len(places)), key=lambda local: table.compared[local][::-1])
        for start in range(0, len(order), most):
            part = order[start : start + most]
            of_part = _estimates(table.of(part), levels, coefficients, seed)
            for local, of_comparison in zip(part, of_part, strict=True):
                yield from ((place, of_comparison) for place in places[local])


@on_one_thread
def _estimates(
    table: PairTable, levels: Sequence[Level], coefficients: Sequence[Coefficient], seed: int
) -> list[list[Estimate]]:
    of_levels = [_LEVELS[level](table, seed, coefficients) for level in levels]
    return [
        [
            of_level.of(place, coefficient, table.exponents[scores])
            for of_level in of_levels
            for coefficient in coefficients
        ]
        for place, (scores, _) in enumerate(table.compared)
    ]


def among(
    documents: ArrayLike, systems: ArrayLike, values: Mapping[str, ArrayLike], *, seed: int = 0
) -> list[AxisPair]:
    """How axes go together: every pair of a scorer's own axes, or of the human ones, at every
    level, from one row per candidate; NaN where an axis has no value.

    >>> among(documents, systems, {"relevance": [5, 4, ...], "fluency": [3, 4, ...]})[0]
    AxisPair(axis='relevance', other='fluency', level='sample', coefficient='spearman', ...)
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


def _agreement(estimate: Estimate) -> Agreement:
    is_accuracy = estimate.coefficient == "accuracy"
    value = None if isnan(estimate.value) else estimate.value
    least = 0.0 if is_accuracy else -1.0
    return Agreement(
        estimate.level,
        estimate.coefficient,
        value,
        *interval(estimate.value, estimate.parts, estimate.level, least=least),
        n=estimate.n,
        skipped=estimate.skipped,
        sampled=estimate.sampled,
        epsilon=estimate.epsilon if is_accuracy and value is not None else None,
    )


def ceiling(
    documents: ArrayLike, systems: ArrayLike, ratings: ArrayLike, *,
    names: Sequence[str] = (), seed: int = 0,
) -> list[Ceiling]:  # fmt: skip
    """How far raters agree, from one row per candidate and one column per rater; NaN: no rating.
    `names`: of the columns; of three raters or more, each one's own rows then follow."""
    table = np.asarray(ratings, dtype=np.float64)
    counts = np.isfinite(table).sum(axis=1)
    kept = counts > 1
    document = np.unique(np.asarray(documents)[kept], return_inverse=True)[1]
    system = np.asarray(systems)[kept]
    there = np.flatnonzero(np.isfinite(table[kept]).any(axis=0)).tolist()
    raters = [_rater(document, system, table[kept], column, seed) for column in there]
    if not raters:
        raters = _estimates(table_of([], [], [], []), LEVELS, CORRELATIONS, seed)
    skipped = int(np.sum(counts == 1))
    found = [_ceiling(of_raters, skipped) for of_raters in zip(*raters, strict=True)]
    if len(there) > 2 and names:
        for column, of_rater in zip(there, raters, strict=True):
            each = (_ceiling([estimate], skipped) for estimate in of_rater)
            found += [replace(own, rater=names[column]) for own in each]
    return found


def _rater(document: Codes, system: Codes, table: Floats, column: int, seed: int) -> list[Estimate]:
    """One against the mean of the others, with parts in the places that documents, or groups of
    documents, have among all that are rated."""
    # Sorted, so that equal ratings have equal means whoever gave them.
    others = np.sort(np.delete(table, column, axis=1), axis=1)
    ratings, mean = table[:, column], means(others)
    documents = int(document.max()) + 1
    rated = np.unique(document[np.isfinite(ratings)])
    pairs = replace(table_of(document, system, ratings, mean), groups=groups_of(documents)[rated])
    (estimates,) = _estimates(pairs, LEVELS, CORRELATIONS, seed)

    def placed(estimate: Estimate) -> Estimate:
        if estimate.level != "sample":
            return estimate
        parts = np.full(documents, np.nan)
        parts[rated] = estimate.parts
        return replace(estimate, parts=parts)

    return list(map(placed, estimates))


def _ceiling(of_raters: Sequence[Estimate], skipped: int) -> Ceiling:
    there = [estimate for estimate in of_raters if not isnan(estimate.value)]
    value, low, high = None, None, None
    first = of_raters[0]
    if there:
        value = float(np.mean([estimate.value for estimate in there]))
        parts = mean_parts(np.stack([estimate.parts for estimate in there]))
        low, high = interval(value, parts, first.level)
    return Ceiling(
        first.level,
        first.coefficient,
        value,
        low,
        high,
        n=max(estimate.n for estimate in of_raters),
        skipped=skipped,
        raters=len(there),
        sampled=any(estimate.sampled for estimate in of_raters),
    )
