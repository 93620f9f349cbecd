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

from evaljudge.agreement.rated import Floats, Grid, Key, Rated, codes
from evaljudge.analysis.addressing import Noticed
from evaljudge.analysis.findings import Coverage
from evaljudge.records import Case, Score

MOST_KEPT = 100_000
MOST_CELLS = 2**22
"""The most cells of a table of documents and systems; others are cut (see `_rare_systems`)."""
ByScale = Mapping[tuple[str, str, str], Score]
"""The scores of one document by system, scorer and axis."""


@dataclass
class Column:
    """The scores of one scorer on one axis: counted, summed per system, some of them kept."""

    reasons: Counter[str] = field(default_factory=Counter)
    counts: Counter[str] = field(default_factory=Counter)  # the number of scored texts by system
    sums: dict[str, float] = field(default_factory=dict)
    kept: array[float] = field(default_factory=lambda: array("d"))
    """The score of every candidate that is kept; NaN: unscored."""
    doubts: array[float] = field(default_factory=lambda: array("f"))
    """How undecided the judge was about each; NaN where the scorer does not say."""
    lowest: float = inf
    highest: float = -inf

    @property
    def scored(self) -> int:
        return self.counts.total()

    def add(self, score: Score, *, is_kept: bool) -> None:
        value, system = score.value, score.system
        if value is None:
            self.reasons[score.reason] += 1
        else:
            self.counts[system] += 1
            self.sums[system] = self.sums.get(system, 0.0) + value
            self.lowest = value if value < self.lowest else self.lowest
            self.highest = value if value > self.highest else self.highest
        if is_kept:
            self.kept.append(nan if value is None else value)
            self.doubts.append(nan if score.doubt is None else score.doubt)

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
    """The number of its words, as the metric `words` counts them; 0 where nobody rated it."""


class Tables:
    """What a pass over shards leaves for the report."""

    def __init__(self, keys: Iterable[Key]) -> None:
        self.columns: dict[Key, Column] = {key: Column() for key in keys}
        self.cases = self.candidates = self.rated = 0
        self.noticed = Noticed()
        self._kept: list[Kept] = []
        self._unrated = 0
        """How many of those kept belong to documents that nobody rated."""
        self._is_sample = False
        self._names: frozenset[str] | None = None
        """The names of the documents that are kept, once all are there."""
        self.probabilities: Mapping[str, Mapping[tuple[str, str], float]] = {}
        """The probabilities of texts drawn for rating, by human axis (see ratings.py)."""

    def add(self, case: Case, scores: ByScale, *, is_judged: bool = False) -> None:
        doc_id, rated = case.document.doc_id, sum(bool(text.ratings) for text in case.candidates)
        self.cases += 1
        self.candidates += len(case.candidates)
        self.rated += rated
        self.noticed.see(case, is_judged=is_judged)
        self._unrated += 0 if rated else len(case.candidates)
        for text in case.candidates:
            words = len(text.text.split()) if text.ratings else 0
            self._kept.append(Kept(doc_id, text.system, text.ratings, text.raters, words))
        self._add_scores(case, scores, self.columns, is_kept=True)
        self._keep_few()

    def add_scores(self, case: Case, scores: ByScale, keys: Iterable[Key]) -> None:
        """A new key begins a column, which must be given all cases in the same order."""
        if self._names is None:
            self._names = frozenset(kept.doc_id for kept in self._kept)
        self._add_scores(case, scores, keys, is_kept=case.document.doc_id in self._names)

    def _add_scores(
        self, case: Case, scores: ByScale, keys: Iterable[Key], *, is_kept: bool
    ) -> None:
        for key in keys:
            column = self.columns.setdefault(key, Column())
            for candidate in case.candidates:
                column.add(scores[candidate.system, *key], is_kept=is_kept)

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
        self.noticed += other.noticed
        self._kept += other._kept
        self._unrated += other._unrated
        self._is_sample |= other._is_sample
        self._keep_few()
        return self

    def _keep_few(self) -> None:
        """Drops, now and then, the unrated documents with the highest hashes."""
        if self._unrated <= 2 * MOST_KEPT:
            return
        dropped = self._too_many()
        is_kept = np.array([row.doc_id not in dropped for row in self._kept])
        self._kept = list(compress(self._kept, is_kept))
        for column in self.columns.values():
            column.kept = array("d", np.array(column.kept)[is_kept].tobytes())
            column.doubts = array("f", np.array(column.doubts)[is_kept].tobytes())
        self._unrated -= int(np.sum(~is_kept))
        self._is_sample = True

    def _too_many(self) -> set[str]:
        """The unrated documents beyond MOST_KEPT candidates, in the order of their hashes."""
        sizes = Counter(row.doc_id for row in self._kept)
        for doc_id in {row.doc_id for row in self._kept if row.ratings}:
            del sizes[doc_id]
        ordered = sorted(sizes, key=_hash)
        sums = np.cumsum([sizes[doc_id] for doc_id in ordered])
        return set(ordered[int(np.searchsorted(sums, MOST_KEPT, side="right")) :])

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
        return self._frame(np.array([bool(row.ratings) for row in self._kept], bool))

    def as_kept(self) -> Rated:
        """All that is kept, in the order of the corpus."""
        return self._frame(np.ones(len(self._kept), bool))

    def as_grid(self) -> Grid:
        """All that is kept, a row for each document and a column for each system."""
        dropped, rare = self._too_many(), _rare_systems(self._kept)
        frame = self._frame(
            np.array([r.doc_id not in dropped and r.system not in rare for r in self._kept], bool)
        )
        probabilities = {
            axis: np.array([drawn.get(text, nan) for text in frame.texts])
            for axis, drawn in self.probabilities.items()
        }
        return Grid.of(frame, self._is_sample or bool(dropped or rare), probabilities)

    def _frame(self, chosen: NDArray[np.bool_]) -> Rated:
        rows = list(compress(self._kept, chosen))
        by_raters = dict.fromkeys(axis for row in rows for axis in row.raters)
        return Rated(
            documents=codes(row.doc_id for row in rows),
            systems=codes(row.system for row in rows),
            scores={key: np.array(column.kept)[chosen] for key, column in self.columns.items()},
            human=rating_columns([row.ratings for row in rows]),
            raters={axis: [r.raters.get(axis, ()) for r in rows] for axis in by_raters},
            lengths=np.array([row.words for row in rows], np.float64),
            texts=[(row.doc_id, row.system) for row in rows],
            doubts={key: np.array(column.doubts)[chosen] for key, column in self.columns.items()},
        )


def rating_columns(rows: Sequence[Mapping[str, float]]) -> dict[str, Floats]:
    """Each text's ratings as a column for each axis; NaN where there is none."""
    axes = dict.fromkeys(axis for row in rows for axis in row)
    return {axis: np.array([row.get(axis, nan) for row in rows]) for axis in axes}


def _rare_systems(rows: Sequence[Kept]) -> set[str]:
    """The systems with the fewest texts, to be left out so that a table has at most MOST_CELLS."""
    texts = Counter(row.system for row in rows)
    most = MOST_CELLS // max(1, len({row.doc_id for row in rows}))
    return set(sorted(texts, key=lambda name: (-texts[name], name))[max(1, most) :])


def _hash(doc_id: str) -> bytes:
    return blake2b(doc_id.encode(errors="surrogatepass"), digest_size=8).digest()
