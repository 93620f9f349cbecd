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
from functools import partial
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike

from .bootstrap import (
    LEVELS,
    Draws,
    Estimate,
    Level,
    Resampled,
    drawn,
    estimated,
    on_one_thread,
    replicated,
)  # fmt: skip
from .coefficients import BUDGET, COEFFICIENTS, CORRELATIONS, Coefficient, Correlation, quotient
from .pairs import Codes, Floats, Pairs, paired
from .sample import sample_level
from .summary import MAX_POOLED, summary_level
from .system import system_level


@dataclass(frozen=True, slots=True)
class Agreement:
    scorer: str = field(default="", kw_only=True)  # empty until the caller names it
    axis: str = field(default="", kw_only=True)
    level: Level
    coefficient: Coefficient
    value: float | None  # None where undefined
    low: float | None  # 95% bootstrap interval
    high: float | None
    n: int  # documents (sample), systems (system) or candidates (summary) behind the value
    skipped: int  # units left out, as the package's policy says
    sampled: bool = False  # the interval, and all of accuracy, come from a sample of documents
    epsilon: float | None = None  # accuracy: scores no further apart are tied


@dataclass(frozen=True, slots=True)
class AxisPair:
    of: str = field(default="", kw_only=True)  # the scorer, or "human"; the caller names it
    axis: str
    other: str
    level: Level
    coefficient: Coefficient
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

    levels: tuple[Estimate, ...]
    documents: Codes
    systems: int

    def replicate(self, drawn: Floats) -> Floats:
        """(levels, coefficients, resamples)"""
        once = np.ones((len(drawn), self.systems))
        draws = Draws(documents=drawn[:, self.documents], systems=once)
        return np.stack([level.replicate(draws) for level in self.levels])


@on_one_thread
def agreements(
    documents: ArrayLike, systems: ArrayLike, scores: ArrayLike, human: ArrayLike, *,
    coefficients: Sequence[Coefficient] = COEFFICIENTS, resample: Resampled = "documents",
    resamples: int = 1000, seed: int = 0,
) -> list[Agreement]:  # fmt: skip
    """One result per level and coefficient, from one row per rated candidate, in any order.

    Without accuracy among the coefficients it is quicker: no two candidates are compared.

    documents, systems: integer codes; scores: NaN where unscored; human: NaN where unrated.
    """
    pairs = paired(documents, systems, scores, human)
    estimates = all_levels(pairs, seed, resample, accuracy="accuracy" in coefficients)
    replicates = _replicates(pairs, estimates, resample, resamples, seed)
    return [
        _agreement(estimate, values, coefficient, pairs.exponent)
        for estimate, values in zip(estimates, replicates, strict=True)
        for coefficient in coefficients
    ]


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

    found = partial(
        agreements, documents, systems, coefficients=CORRELATIONS, resamples=resamples, seed=seed
    )
    return [
        AxisPair(axis, other, a.level, a.coefficient, a.value, a.low, a.high, a.n, a.sampled)
        for axis, other in combinations(values, 2)
        for a in found(scores=values[axis], human=values[other])
    ]


def all_levels(
    pairs: Pairs, seed: int, resample: Resampled = "documents", *, accuracy: bool
) -> tuple[Estimate, ...]:
    """In the order of LEVELS."""
    return (
        sample_level(pairs, resample, accuracy=accuracy),
        system_level(pairs, accuracy=accuracy),
        summary_level(pairs, seed, resample, accuracy=accuracy),
    )


def _replicates(
    pairs: Pairs, estimates: Sequence[Estimate], resample: Resampled, resamples: int, seed: int
) -> Floats:
    """(levels, coefficients, resamples): every level sees the same resamples."""
    shape = pairs.document_count, pairs.system_count
    fewest = {"documents": shape[0], "systems": shape[1], "both": min(shape)}[resample]
    if fewest < 2 or resamples < 1:
        return np.full((len(estimates), len(COEFFICIENTS), 1), np.nan)
    block = max(1, BUDGET // max(*shape, min(pairs.documents.size, MAX_POOLED)))

    def replicate(draws: Draws) -> Floats:
        return np.stack([estimate.replicate(draws) for estimate in estimates])

    blocks = drawn(shape, resample, resamples, seed, block)
    return np.concatenate([replicate(draws) for draws in blocks], axis=2)


def _agreement(
    estimate: Estimate, replicates: Floats, coefficient: Coefficient, exponent: int
) -> Agreement:
    index = COEFFICIENTS.index(coefficient)
    found = estimated(estimate.values[index], replicates[index])
    calibrated = found[0] is not None and coefficient == "accuracy"
    return Agreement(
        estimate.level,
        coefficient,
        *found,
        n=estimate.units[index],
        skipped=estimate.skipped[index],
        sampled=estimate.sampled,
        epsilon=_unscaled(estimate.epsilon, exponent) if calibrated else None,
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
    pairs = paired(document, system, own, others)
    levels = all_levels(pairs, seed, accuracy=False)
    return Rater(levels, np.unique(document), pairs.system_count)


def _mean(found: Floats) -> Floats:
    """Over the raters, the first axis: NaN where none is defined."""
    defined = np.isfinite(found)
    return quotient(np.where(defined, found, 0.0).sum(axis=0), defined.sum(axis=0))


def _ceiling(
    estimates: Sequence[Estimate], coefficient: Correlation, replicates: Floats, skipped: int
) -> Ceiling:
    """At one level, from each rater's estimate."""
    index = COEFFICIENTS.index(coefficient)
    values = np.array([estimate.values[index] for estimate in estimates])
    return Ceiling(
        estimates[0].level,
        coefficient,
        *estimated(float(_mean(values)), replicates[index]),
        n=max(estimate.units[index] for estimate in estimates),
        skipped=skipped,
        raters=int(np.count_nonzero(np.isfinite(values))),
        sampled=any(estimate.sampled for estimate in estimates),
    )
