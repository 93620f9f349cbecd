"""How well people agree with each other: what no scorer can be asked to surpass by much.

    >>> ceiling(documents, systems, [[4, 5, 4], [2, 1, nan], ...])[0]
    Ceiling(level='sample', coefficient='spearman', value=0.61, low=0.55, high=0.66, n=100, ...)

Leave one out: one rater's ratings against the mean of the others', at every level, averaged over
the raters for whom it is defined. A rater is a column; it need not be the same person in every
document. A candidate with a single rating is skipped. Otherwise the package's policy holds for
each rater, and all see the same resamples of documents.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from .agree import all_levels
from .bootstrap import LEVELS, Draws, Estimate, Level, estimated, on_one_thread, replicated
from .coefficients import COEFFICIENTS, CORRELATIONS, Correlation, quotient
from .pairs import Codes, Floats, paired
from .summary import MAX_POOLED


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
