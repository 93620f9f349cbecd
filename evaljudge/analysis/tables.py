"""What scoring leaves for the statistics: counts, sums per system, and the rated candidates.

What stays in memory are the ratings of rated candidates, and one number for each of them and each
scorer: unrated candidates leave nothing behind. Tables of different shards add up, in the order of
the shards.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf, nan
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from evaljudge.agreement.rated import Ids, Key, Rated
from evaljudge.analysis.findings import Coverage, SystemMean
from evaljudge.records import Case, Score

ByScale = Mapping[tuple[str, str, str], Score]
"""The scores of one document by system, scorer and axis."""


@dataclass
class Column:
    """The scores of one scorer on one axis: counted, summed per system, kept where rated."""

    reasons: Counter[str] = field(default_factory=Counter)
    counts: Counter[str] = field(default_factory=Counter)
    """By system, how many are scored."""
    sums: dict[str, float] = field(default_factory=dict)
    rated: array[float] = field(default_factory=lambda: array("d"))
    lowest: float = inf
    highest: float = -inf

    @property
    def scored(self) -> int:
        return self.counts.total()

    def add(self, score: Score, is_rated: bool) -> None:
        value, system = score.value, score.system
        if value is None:
            self.reasons[score.reason] += 1
        else:
            self.counts[system] += 1
            self.sums[system] = self.sums.get(system, 0.0) + value
            self.lowest = value if value < self.lowest else self.lowest
            self.highest = value if value > self.highest else self.highest
        if is_rated:
            self.rated.append(nan if value is None else value)

    def __iadd__(self, other: Column) -> Self:
        self.reasons.update(other.reasons)
        self.rated.extend(other.rated)
        self.counts.update(other.counts)
        for system, total in other.sums.items():
            self.sums[system] = self.sums.get(system, 0.0) + total
        self.lowest = min(self.lowest, other.lowest)
        self.highest = max(self.highest, other.highest)
        return self


class RatedCandidate(NamedTuple):
    doc_id: str
    system: str
    ratings: Mapping[str, float]
    raters: Mapping[str, tuple[float, ...]]


class Tables:
    """What a pass over shards leaves for the report."""

    def __init__(self, keys: Iterable[Key]) -> None:
        self.columns: dict[Key, Column] = {key: Column() for key in keys}
        self.cases = self.candidates = 0
        self.rows: list[RatedCandidate] = []

    @property
    def rated(self) -> int:
        return len(self.rows)

    @property
    def documents(self) -> Mapping[str, int]:
        """The number that a rated document has among those of `as_rated`: by doc_id, sorted, so
        that resampling does not depend on the order of the rows."""
        return _numbered([row.doc_id for row in self.rows])

    def doc_ids(self) -> Ids:
        """The document of each row of `as_rated`."""
        return np.array([row.doc_id for row in self.rows], dtype=object)

    def add(self, case: Case, scores: ByScale) -> None:
        self.cases += 1
        self.candidates += len(case.candidates)
        self.rows += [
            RatedCandidate(case.document.doc_id, one.system, one.ratings, one.raters)
            for one in case.candidates
            if one.ratings
        ]
        self.add_scores(case, scores, self.columns)

    def add_scores(self, case: Case, scores: ByScale, keys: Iterable[Key]) -> None:
        """A new key begins a column, which must be given all cases in the same order."""
        for key in keys:
            if key not in self.columns:
                self.columns[key] = Column()
            column = self.columns[key]
            for candidate in case.candidates:
                column.add(scores[candidate.system, *key], bool(candidate.ratings))

    def leave_out(self, cases: int, candidates: int, reason: str) -> None:
        """Count cases that cannot be read: their candidates are unscored by every scorer."""
        self.cases += cases
        self.candidates += candidates
        for column in self.columns.values():
            column.reasons[reason] += candidates

    def __iadd__(self, other: Tables) -> Self:
        """What lies in later shards, scored by the same scorers."""
        for key, column in other.columns.items():
            self.columns[key] += column
        self.cases += other.cases
        self.candidates += other.candidates
        self.rows += other.rows
        return self

    def coverage(self) -> list[Coverage]:
        return [
            Coverage(*key, column.scored, column.reasons.total(), dict(column.reasons))
            for key, column in self.columns.items()
        ]

    def systems(self) -> list[SystemMean]:
        return [
            SystemMean(*key, system, total / column.counts[system], column.counts[system])
            for key, column in self.columns.items()
            for system, total in sorted(column.sums.items())
        ]

    def as_rated(self) -> Rated:
        """The rated candidates as arrays."""
        axes = dict.fromkeys(axis for row in self.rows for axis in row.ratings)
        by_raters = dict.fromkeys(axis for row in self.rows for axis in row.raters)
        return Rated(
            documents=_codes([row.doc_id for row in self.rows]),
            systems=_codes([row.system for row in self.rows]),
            scores={key: np.array(column.rated) for key, column in self.columns.items()},
            human={axis: np.array([r.ratings.get(axis, nan) for r in self.rows]) for axis in axes},
            raters={axis: [r.raters.get(axis, ()) for r in self.rows] for axis in by_raters},
        )


def _numbered(names: Iterable[str]) -> dict[str, int]:
    return {name: number for number, name in enumerate(sorted(set(names)))}


def _codes(names: Sequence[str]) -> NDArray[np.int64]:
    number_of = _numbered(names)
    return np.array([number_of[name] for name in names], np.int64)
