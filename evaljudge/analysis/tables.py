"""What scoring leaves for the statistics: counts, sums per system, and the rated candidates.

What stays in memory is one number per *rated* candidate and scorer: unrated candidates leave
nothing behind. Tables of different shards add up, in the order of the shards.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from math import inf, nan
from typing import Self

import numpy as np
from numpy.typing import NDArray

from evaljudge.agreement.rated import Ids, Key, Rated
from evaljudge.analysis.findings import Coverage, SystemMean
from evaljudge.records import Candidate, Case, Score

ByScale = Mapping[tuple[str, str, str], Score]
"""The scores of one document by system, scorer and axis."""


@dataclass
class Column:
    """The scores of one scorer on one axis: counted, summed per system, kept where rated."""

    reasons: Counter[str] = field(default_factory=Counter)
    scored: int = 0
    sums: dict[str, list[float]] = field(default_factory=dict)
    rated: array[float] = field(default_factory=lambda: array("d"))
    lowest: float = inf
    highest: float = -inf

    def add(self, score: Score, is_rated: bool) -> None:
        if score.value is None:
            self.reasons[score.reason] += 1
        else:
            self.scored += 1
            self._add_sum(score.system, score.value, 1)
            self._widen(score.value, score.value)
        if is_rated:
            self.rated.append(nan if score.value is None else score.value)

    def __iadd__(self, other: Column) -> Self:
        self.reasons.update(other.reasons)
        self.scored += other.scored
        for system, (total, count) in other.sums.items():
            self._add_sum(system, total, count)
        self.rated.extend(other.rated)
        self._widen(other.lowest, other.highest)
        return self

    def _widen(self, lowest: float, highest: float) -> None:
        self.lowest, self.highest = min(self.lowest, lowest), max(self.highest, highest)

    def _add_sum(self, system: str, value: float, count: float) -> None:
        total = self.sums.setdefault(system, [0.0, 0])
        total[0] += value
        total[1] += count


class Tables:
    """What a pass over shards leaves for the report."""

    def __init__(self, keys: Iterable[Key]) -> None:
        self.columns: dict[Key, Column] = {key: Column() for key in keys}
        self.cases = self.candidates = 0
        self._documents: dict[str, int] = {}
        self._systems: dict[str, int] = {}
        self._document_of, self._system_of = array("q"), array("q")
        self._human: dict[str, array[float]] = {}
        self._raters: dict[str, list[tuple[float, ...]]] = {}

    @property
    def rated(self) -> int:
        return len(self._document_of)

    @property
    def documents(self) -> Mapping[str, int]:
        """The number that a rated document has among those of `as_rated`: by doc_id, sorted, so
        that resampling does not depend on the order of the rows."""
        return {doc_id: number for number, doc_id in enumerate(sorted(self._documents))}

    def doc_ids(self) -> Ids:
        """The document of each row of `as_rated`."""
        known = np.array(list(self._documents), dtype=object)
        ids: Ids = known[np.array(self._document_of)]
        return ids

    def add(self, case: Case, scores: ByScale) -> None:
        self.cases += 1
        for candidate in case.candidates:
            self.candidates += 1
            if candidate.ratings:
                self._add_rated(case.document.doc_id, candidate)
        self.add_scores(case, scores, self.columns)

    def add_scores(self, case: Case, scores: ByScale, keys: Iterable[Key]) -> None:
        """A new key begins a column, which must be given all cases in the same order."""
        for key in keys:
            column = self.columns.setdefault(key, Column())
            for candidate in case.candidates:
                column.add(scores[candidate.system, *key], bool(candidate.ratings))

    def __iadd__(self, other: Tables) -> Self:
        """What lies in later shards, scored by the same scorers."""
        for key, column in other.columns.items():
            self.columns[key] += column
        self.cases += other.cases
        self.candidates += other.candidates
        before, more = self.rated, other.rated
        _extend(self._documents, self._document_of, other._documents, other._document_of)
        _extend(self._systems, self._system_of, other._systems, other._system_of)
        for axis in {**self._human, **other._human}:
            known = self._human.setdefault(axis, array("d", [nan] * before))
            known.extend(other._human.get(axis, array("d", [nan] * more)))
        for axis in {**self._raters, **other._raters}:
            given = self._raters.setdefault(axis, [()] * before)
            given.extend(other._raters.get(axis, [()] * more))
        return self

    def _add_rated(self, doc_id: str, candidate: Candidate) -> None:
        before = self.rated
        self._document_of.append(self._documents.setdefault(doc_id, len(self._documents)))
        self._system_of.append(self._systems.setdefault(candidate.system, len(self._systems)))
        for axis in {**self._human, **candidate.ratings}:
            known = self._human.setdefault(axis, array("d", [nan] * before))
            known.append(candidate.ratings.get(axis, nan))
        for axis in {**self._raters, **candidate.raters}:
            given = self._raters.setdefault(axis, [()] * before)
            given.append(candidate.raters.get(axis, ()))

    def coverage(self) -> list[Coverage]:
        return [
            Coverage(*key, column.scored, column.reasons.total(), dict(column.reasons))
            for key, column in self.columns.items()
        ]

    def systems(self) -> list[SystemMean]:
        return [
            SystemMean(*key, system, total / count, int(count))
            for key, column in self.columns.items()
            for system, (total, count) in sorted(column.sums.items())
        ]

    def as_rated(self) -> Rated:
        """The rated candidates as arrays."""
        return Rated(
            documents=_sorted_codes(self._documents, self._document_of),
            systems=_sorted_codes(self._systems, self._system_of),
            scores={key: np.array(column.rated) for key, column in self.columns.items()},
            human={axis: np.array(values) for axis, values in self._human.items()},
            raters=self._raters,
        )


def _extend(
    known: dict[str, int], codes: array[int], more: Mapping[str, int], more_codes: array[int]
) -> None:
    """Add rows whose names have numbers of their own."""
    number_of = [known.setdefault(name, len(known)) for name in more]
    codes.extend(number_of[code] for code in more_codes)


def _sorted_codes(known: Mapping[str, int], codes: array[int]) -> NDArray[np.int64]:
    """Numbered by their names' order in place of that of first appearance."""
    rank = {name: number for number, name in enumerate(sorted(known))}
    found: NDArray[np.int64] = np.array([rank[name] for name in known], np.int64)[np.array(codes)]
    return found
