"""How well people agree with each other: what no scorer can be asked to surpass by much.

    >>> ceiling(documents, systems, [[4, 5, 4], [2, 1, nan], ...])[0]
    Ceiling(level='sample', coefficient='spearman', value=0.61, low=0.55, high=0.66, n=100, ...)

Leave one out: one rater's ratings against the mean of the others', at every level, averaged over
the raters for whom it is defined. A rater is a column; it need not be the same person in every
document. A candidate with a single rating is skipped. Otherwise the package's policy holds for
each rater, and all see the same resamples of documents.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from .bootstrap import interval, multiplicities
from .coefficients import BUDGET
from .estimate import COEFFICIENTS, LEVELS, Draws, Estimate, Level
from .pairs import Codes, Floats, paired
from .sample import sample_level
from .shared import CORRELATIONS, Correlation
from .summary import MAX_POOLED, summary_level
from .system import system_level
from .threads import on_one_thread


@dataclass(frozen=True, slots=True)
class Ceiling:
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

    @property
    def values(self) -> Floats:
        return np.stack([estimate.values for estimate in self.levels])

    def replicate(self, drawn: Floats) -> Floats:
        """(levels, coefficients, resamples)"""
        once = np.ones((len(drawn), self.systems))
        draws = Draws(documents=drawn[:, self.documents], systems=once)
        return np.stack([level.replicate(draws) for level in self.levels])


@on_one_thread
def ceiling(
    documents: ArrayLike,
    systems: ArrayLike,
    ratings: ArrayLike,
    *,
    resamples: int = 1000,
    seed: int = 0,
) -> list[Ceiling]:
    """From one row per candidate and one column per rater; NaN where a rater gave nothing."""
    table = np.asarray(ratings, dtype=np.float64)
    given = np.isfinite(table).sum(axis=1)
    shared, document = np.unique(np.asarray(documents)[given > 1], return_inverse=True)
    system = np.asarray(systems)[given > 1]
    raters = list(_raters(document, system, table[given > 1], seed))
    if not raters:
        raters = [_rater(document, system, np.empty(0), np.empty(0), seed)]
    drawn = _replicates(raters, shared.size, min(MAX_POOLED, system.size), resamples, seed)
    return [
        _named(raters, drawn[LEVELS.index(level)], level, coefficient, int(np.sum(given == 1)))
        for level in LEVELS
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
    levels = (
        sample_level(pairs, accuracy=False),
        system_level(pairs, accuracy=False),
        summary_level(pairs, seed, accuracy=False),
    )
    return Rater(levels, np.unique(document), pairs.system_count)


def _replicates(
    raters: Sequence[Rater], documents: int, pooled: int, resamples: int, seed: int
) -> Floats:
    """(levels, coefficients, resamples): means over the raters."""
    if documents < 2 or resamples < 1:
        return np.full((len(LEVELS), len(COEFFICIENTS), 1), np.nan)
    blocks = multiplicities(documents, resamples, seed, max(1, BUDGET // max(documents, pooled)))
    means = [_mean(np.stack([rater.replicate(drawn) for rater in raters])) for drawn in blocks]
    return np.concatenate(means, axis=2)


def _mean(found: Floats) -> Floats:
    """Over the raters, the first axis: NaN where none is defined."""
    defined = np.isfinite(found)
    means = np.full(found.shape[1:], np.nan)
    sums = np.where(defined, found, 0.0).sum(axis=0)
    np.divide(sums, defined.sum(axis=0), out=means, where=defined.any(axis=0))
    return means


def _named(
    raters: Sequence[Rater], drawn: Floats, level: Level, coefficient: Correlation, skipped: int
) -> Ceiling:
    place, index = LEVELS.index(level), COEFFICIENTS.index(coefficient)
    values = np.array([rater.values[place, index] for rater in raters])
    value = float(_mean(values))
    low, high = (None, None) if np.isnan(value) else interval(drawn[index])
    return Ceiling(
        level=level,
        coefficient=coefficient,
        value=None if np.isnan(value) else value,
        low=low,
        high=high,
        n=max(rater.levels[place].units[index] for rater in raters),
        skipped=skipped,
        raters=int(np.count_nonzero(np.isfinite(values))),
        sampled=any(rater.levels[place].sampled for rater in raters),
    )
