"""What scoring leaves for the statistics: counts, sums per system, and the scores that are kept.

What stays in memory is one number for each scorer of every rated document's candidates, and of
those of at most MOST_KEPT unrated candidates. Of more, a random sample of whole documents is kept,
chosen by a hash of their names, so that it does not depend on their order. Counts and means are of
all candidates. Tables of different shards add up, in the order of the shards.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from itertools import compress
from math import inf, nan
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from evaljudge.agreement.rated import Ids, Key, Rated
from evaljudge.analysis.findings import Coverage
from evaljudge.analysis.near_copies import NearCopies
from evaljudge.decisions.grid import Grid
from evaljudge.records import Candidate, Case, Score

MOST_KEPT = 100_000
MOST_CELLS = 2**22
"""Of a table of documents and systems: it has more where every text has a system of its own."""
ByScale = Mapping[tuple[str, str, str], Score]
"""The scores of one document by system, scorer and axis."""


@dataclass
class Column:
    """The scores of one scorer on one axis: counted, summed per system, some of them kept."""

    reasons: Counter[str] = field(default_factory=Counter)
    counts: Counter[str] = field(default_factory=Counter)
    """By system, how many are scored."""
    sums: dict[str, float] = field(default_factory=dict)
    kept: array[float] = field(default_factory=lambda: array("d"))
    """Of every candidate that is kept; NaN: unscored."""
    doubts: array[float] = field(default_factory=lambda: array("f"))
    """Likewise how undecided the judge was; NaN where the scorer does not say."""
    lowest: float = inf
    highest: float = -inf

    @property
    def scored(self) -> int:
        return self.counts.total()

    def coverage(self, key: Key) -> Coverage:
        return Coverage(*key, self.scored, self.reasons.total(), dict(self.reasons))

    def add(self, score: Score) -> None:
        value, system = score.value, score.system
        if value is None:
            self.reasons[score.reason] += 1
        else:
            self.counts[system] += 1
            self.sums[system] = self.sums.get(system, 0.0) + value
            self.lowest = value if value < self.lowest else self.lowest
            self.highest = value if value > self.highest else self.highest

    def __iadd__(self, other: Column) -> Self:
        self.reasons.update(other.reasons)
        self.kept.extend(other.kept)
        self.doubts.extend(other.doubts)
        self.counts.update(other.counts)
        for system, total in other.sums.items():
            self.sums[system] = self.sums.get(system, 0.0) + total
        self.lowest = min(self.lowest, other.lowest)
        self.highest = max(self.highest, other.highest)
        return self


@dataclass(frozen=True, slots=True)
class SystemMean:
    scorer: str
    axis: str
    system: str
    mean: float
    n: int


class Kept(NamedTuple):
    """A candidate whose scores are kept; a document's candidates are kept together."""

    doc_id: str
    system: str
    ratings: Mapping[str, float]
    raters: Mapping[str, tuple[float, ...]]
    words: int
    """Of its text, as the metric `words` counts them; 0 where nobody rated it."""


class Tables:
    """What a pass over shards leaves for the report."""

    def __init__(self, keys: Iterable[Key]) -> None:
        self.columns: dict[Key, Column] = {key: Column() for key in keys}
        self.cases = self.candidates = self.rated = 0
        self.copies = NearCopies()
        self._kept: list[Kept] = []
        self._unrated = 0
        """How many of those kept belong to documents that nobody rated."""
        self._is_sample = False
        self._names: frozenset[str] | None = None
        """Of the documents that are kept, once all are there."""
        self.probabilities: Mapping[str, Mapping[tuple[str, str], float]] = {}
        """By human axis: those of the texts that were drawn for rating (see ratings.py)."""

    @property
    def kept(self) -> Sequence[Kept]:
        """The candidates whose scores are kept, in the order of the corpus."""
        return self._kept

    def ratings(self) -> dict[str, NDArray[np.float64]]:
        """Of those that are kept, by axis; NaN where nobody rated."""
        return _ratings(self._kept)

    @property
    def rows(self) -> list[Kept]:
        """The rated candidates."""
        return [one for one in self._kept if one.ratings]

    @property
    def documents(self) -> Mapping[str, int]:
        """The number that a rated document has among those of `as_rated`: by doc_id, sorted, so
        that resampling does not depend on the order of the rows."""
        return _numbered([row.doc_id for row in self.rows])

    def doc_ids(self) -> Ids:
        """The document of each row of `as_rated`."""
        return np.array([row.doc_id for row in self.rows], dtype=object)

    def system_names(self) -> Ids:
        """Likewise its system."""
        return np.array([row.system for row in self.rows], dtype=object)

    def add(self, case: Case, scores: ByScale) -> None:
        rated = sum(bool(one.ratings) for one in case.candidates)
        self.cases += 1
        self.candidates += len(case.candidates)
        self.rated += rated
        self.copies.see(case)
        self._unrated += 0 if rated else len(case.candidates)
        self._kept += [
            Kept(case.document.doc_id, one.system, one.ratings, one.raters, _words(one))
            for one in case.candidates
        ]
        for key in self.columns:
            self._add_scores(case, scores, key, is_kept=True)
        self._keep_few()

    def add_scores(self, case: Case, scores: ByScale, keys: Iterable[Key]) -> None:
        """A new key begins a column, which must be given all cases in the same order."""
        if self._names is None:
            self._names = frozenset(one.doc_id for one in self._kept)
        for key in keys:
            if key not in self.columns:
                self.columns[key] = Column()
            self._add_scores(case, scores, key, is_kept=case.document.doc_id in self._names)

    def _add_scores(self, case: Case, scores: ByScale, key: Key, *, is_kept: bool) -> None:
        column = self.columns[key]
        for candidate in case.candidates:
            score = scores[candidate.system, *key]
            column.add(score)
            if is_kept:
                column.kept.append(nan if score.value is None else score.value)
                column.doubts.append(nan if score.doubt is None else score.doubt)

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
        self.rated += other.rated
        self.copies += other.copies
        self._kept += other._kept
        self._unrated += other._unrated
        self._is_sample |= other._is_sample
        self._keep_few()
        return self

    def _keep_few(self) -> None:
        """Now and then, drop the unrated documents with the highest hashes."""
        if self._unrated <= 2 * MOST_KEPT:
            return
        dropped = self._too_many()
        is_kept = np.array([one.doc_id not in dropped for one in self._kept])
        self._kept = [one for one in self._kept if one.doc_id not in dropped]
        for column in self.columns.values():
            column.kept = array("d", np.array(column.kept)[is_kept].tobytes())
            column.doubts = array("f", np.array(column.doubts)[is_kept].tobytes())
        self._unrated -= int(np.sum(~is_kept))
        self._is_sample = True

    def _too_many(self) -> set[str]:
        """The unrated documents beyond MOST_KEPT candidates, in the order of their hashes."""
        sizes = Counter(one.doc_id for one in self._kept)
        for row in self.rows:
            sizes.pop(row.doc_id, None)
        ordered = sorted(sizes, key=_hash)
        sums = np.cumsum([sizes[doc_id] for doc_id in ordered])
        return set(ordered[int(np.searchsorted(sums, MOST_KEPT, side="right")) :])

    def coverage(self) -> list[Coverage]:
        return [column.coverage(key) for key, column in self.columns.items()]

    def systems(self) -> list[SystemMean]:
        return [
            SystemMean(*key, system, total / column.counts[system], column.counts[system])
            for key, column in self.columns.items()
            for system, total in sorted(column.sums.items())
        ]

    def as_rated(self) -> Rated:
        """The rated candidates as arrays."""
        rows, is_rated = self.rows, np.array([bool(one.ratings) for one in self._kept], bool)
        by_raters = dict.fromkeys(axis for row in rows for axis in row.raters)
        return Rated(
            documents=codes([row.doc_id for row in rows]),
            systems=codes([row.system for row in rows]),
            scores={key: np.array(column.kept)[is_rated] for key, column in self.columns.items()},
            human=_ratings(rows),
            raters={axis: [r.raters.get(axis, ()) for r in rows] for axis in by_raters},
            lengths=np.array([row.words for row in rows], np.float64),
        )

    def as_grid(self) -> Grid:
        """All that is kept, a row for each document and a column for each system."""
        dropped, rare = self._too_many(), _rare_systems(self._kept)
        is_kept = [r.doc_id not in dropped and r.system not in rare for r in self._kept]
        rows = list(compress(self._kept, is_kept))
        documents, systems = (
            _numbered(row.doc_id for row in rows),
            _numbered(r.system for r in rows),
        )
        at = [documents[row.doc_id] for row in rows], [systems[row.system] for row in rows]

        def placed(values: NDArray[np.float64]) -> NDArray[np.float64]:
            table = np.full((len(documents), len(systems)), nan)
            table[at] = values
            return table

        scores = {key: np.array(column.kept)[is_kept] for key, column in self.columns.items()}
        return Grid(
            documents=tuple(documents),
            systems=tuple(systems),
            scores={key: placed(values) for key, values in scores.items()},
            human={axis: placed(values) for axis, values in _ratings(rows).items()},
            is_sample=self._is_sample or bool(dropped or rare),
            probabilities={
                axis: placed(np.array([known.get((r.doc_id, r.system), nan) for r in rows]))
                for axis, known in self.probabilities.items()
            },
        )


def _ratings(rows: Sequence[Kept]) -> dict[str, NDArray[np.float64]]:
    axes = dict.fromkeys(axis for row in rows for axis in row.ratings)
    return {axis: np.array([row.ratings.get(axis, nan) for row in rows]) for axis in axes}


def _rare_systems(rows: Sequence[Kept]) -> set[str]:
    """Those with the fewest texts, without which a table has no more than MOST_CELLS."""
    texts = Counter(row.system for row in rows)
    most = MOST_CELLS // max(1, len({row.doc_id for row in rows}))
    return set(sorted(texts, key=lambda name: (-texts[name], name))[max(1, most) :])


def _words(candidate: Candidate) -> int:
    return len(candidate.text.split()) if candidate.ratings else 0


def _hash(doc_id: str) -> bytes:
    return blake2b(doc_id.encode(errors="surrogatepass"), digest_size=8).digest()


def _numbered(names: Iterable[str]) -> dict[str, int]:
    return {name: number for number, name in enumerate(sorted(set(names)))}


def codes(names: Sequence[str]) -> NDArray[np.int64]:
    number_of = _numbered(names)
    return np.array([number_of[name] for name in names], np.int64)
