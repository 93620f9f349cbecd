"""How scores are spread, and which score met which rating: counts that the report draws.

    spreads(grid)  ->  [Spread("synthetic", "fluency", low=1.0, high=5.0,
                               systems={"A": (0, 3, 12, …), "B": (9, 4, …)}, people=(…))]

A scorer's range is cut into BINS bins of equal width. A threshold at the edge of a bin therefore
selects exactly as many texts as the counts say.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from evaljudge.agreement.rated import Floats, Grid
from evaljudge.records import ANY_AXIS

Bins = NDArray[np.int64]
BINS = 100
MOST_RATINGS = 41
"""Of different ratings. Where people gave more, their range is cut into so many values."""


@dataclass(frozen=True, slots=True)
class MetRatings:
    """How many texts with a score in this bin people gave this rating."""

    axis: str
    ratings: Sequence[float]
    """Rising."""
    counts: Sequence[tuple[int, int, int]]
    """Bin, place in `ratings`, number of texts; without those that nothing met."""


@dataclass(frozen=True, slots=True)
class Spread:
    """The scores of one scorer on one axis."""

    scorer: str
    axis: str
    low: float
    high: float
    systems: Mapping[str, Sequence[int]]
    """How many texts of each system have a score in each bin."""
    people: Sequence[MetRatings] = field(default=())
    """For each rated axis that the scorer is compared with."""
    is_sample: bool = False

    @property
    def counts(self) -> list[int]:
        """Of all systems together."""
        return [sum(column) for column in zip(*self.systems.values(), strict=True)]


def spreads(grid: Grid) -> list[Spread]:
    """Of every scorer and axis with at least one score."""
    return [made for key in grid.scores if (made := _spread(grid, *key))]


def _spread(grid: Grid, scorer: str, axis: str) -> Spread | None:
    table = grid.scores[scorer, axis]
    known = table[np.isfinite(table)]
    if not known.size:
        return None
    low, high = float(known.min()), float(known.max())
    bins = binned(table, low, high)
    counts = {
        system: tuple(np.bincount(column[column >= 0], minlength=BINS).tolist())
        for system, column in zip(grid.systems, bins.T, strict=True)
        if (column >= 0).any()
    }
    people = [
        met
        for name, ratings in grid.human.items()
        if axis in (name, ANY_AXIS) and (met := _met(name, bins, ratings))
    ]
    return Spread(scorer, axis, low, high, counts, people, grid.is_sample)


def edges(low: float, high: float) -> Floats:
    """The lowest score of each bin."""
    found: Floats = low + np.arange(BINS, dtype=np.float64) * ((high - low) / BINS)
    return found


def binned(table: Floats, low: float, high: float) -> Bins:
    """The bin of each score; -1 where there is none."""
    found = np.searchsorted(edges(low, high), table, side="right") - 1
    return np.where(np.isfinite(table), found, -1)


def _met(axis: str, bins: Bins, ratings: Floats) -> MetRatings | None:
    both = (bins >= 0) & np.isfinite(ratings)
    if not both.any():
        return None
    given = np.unique(ratings[both])
    if len(given) > MOST_RATINGS:
        given = np.linspace(given[0], given[-1], MOST_RATINGS)
    places = np.abs(ratings[both][:, None] - given).argmin(axis=1)
    pairs, numbers = np.unique(np.stack([bins[both], places]), axis=1, return_counts=True)
    counts = [(int(b), int(r), int(n)) for b, r, n in zip(*pairs, numbers, strict=True)]
    return MetRatings(axis, given.tolist(), counts)
