"""What scoring leaves for the statistics: counts, sums per system, and the scores that are kept.

What stays in memory is one number for each scorer of every rated document's candidates, and of
those of about MOST_KEPT unrated candidates. Of more, a random sample of whole documents is kept,
chosen by a hash of their names, so that it does not depend on their order, and no row of another
leaves the worker that scores it. Counts and means are of all candidates. Tables of different shards
add up, in the order of the shards.
"""

from array import array
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from itertools import compress
from math import inf, nan
from sys import intern
from typing import Any, NamedTuple, Self

import numpy as np

from evaljudge.agreement.rated import Floats, Grid, Key, Rated, Text, codes
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
    why: dict[str, str] = field(default_factory=dict)  # of the first unscored text, by system
    counts: Counter[str] = field(default_factory=Counter)  # the number of scored texts by system
    sums: dict[str, float] = field(default_factory=dict)  # likewise
    kept: "array[float]" = field(default_factory=lambda: array("d"))
    """The score of every candidate that is kept; NaN: unscored."""
    doubts: "array[float]" = field(default_factory=lambda: array("f"))
    """How undecided the judge was about each; NaN where the scorer does not say."""
    is_whole: bool = False
    every: "array[float]" = field(default_factory=lambda: array("d"))
    """All of its scores, where it is to be whole."""
    lowest: float = inf
    highest: float = -inf

    @property
    def scored(self) -> int:
        return self.counts.total()

    def add(self, score: Score, *, is_kept: bool) -> None:
        value, system = score.value, score.system
        if value is None:
            self.reasons[score.reason] += 1
            self.why.setdefault(system, score.reason)
        else:
            self.counts[system] += 1
            self.sums[system] = self.sums.get(system, 0.0) + value
            self.lowest = value if value < self.lowest else self.lowest
            self.highest = value if value > self.highest else self.highest
            if self.is_whole:
                self.every.append(value)
        if is_kept:
            self.kept.append(nan if value is None else value)
            self.doubts.append(nan if score.doubt is None else score.doubt)

    def __iadd__(self, other: "Column") -> Self:
        self.reasons.update(other.reasons)
        self.why = other.why | self.why
        self.kept.extend(other.kept)
        self.doubts.extend(other.doubts)
        self.every.extend(other.every)
        self.counts.update(other.counts)
        for system, total in other.sums.items():
            self.sums[system] = self.sums.get(system, 0.0) + total
        self.lowest = min(self.lowest, other.lowest)
        self.highest = max(self.highest, other.highest)
        return self


NOTHING: Mapping[str, Any] = {}  # one for all that nobody rated


class Kept(NamedTuple):
    """A candidate whose scores are kept; a document's candidates are kept together."""

    shard: int
    doc_id: str
    system: str
    ratings: Mapping[str, float]
    raters: Mapping[str, tuple[float, ...]]
    words: int
    """The number of its words, as the metric `words` counts them; 0 where nobody rated it."""


class Tables:
    """What a pass over shards leaves for the report.

    `of`: how many candidates all shards have; `whole`: the columns that are to have every score.
    """

    def __init__(self, keys: Iterable[Key], of: int = 0, whole: Collection[Key] = ()) -> None:
        self.columns = {key: Column(is_whole=key in whole) for key in keys}
        self.cases = self.candidates = self.rated = 0
        self.noticed = Noticed()
        self._kept: list[Kept] = []
        self._most = MOST_KEPT / of * 2**64 if of > MOST_KEPT else 2**64
        """Unrated documents with a hash from here on are not kept."""
        self._is_sample = False
        self.probabilities: Mapping[str, Mapping[tuple[str, str], float]] = {}
        """The probabilities of texts drawn for rating, by human axis (see ratings.py)."""

    def add(self, case: Case, scores: ByScale, *, is_judged: bool = False, shard: int = 0) -> None:
        doc_id, rated = case.document.doc_id, sum(bool(text.ratings) for text in case.candidates)
        self.cases += 1
        self.candidates += len(case.candidates)
        self.rated += rated
        self.noticed.see(case, is_judged=is_judged)
        if self.add_scores(case, scores):
            for text in case.candidates:
                words = len(text.text.split()) if text.ratings else 0
                name, ratings = intern(text.system), text.ratings or NOTHING
                row = Kept(shard, doc_id, name, ratings, text.raters or NOTHING, words)
                self._kept.append(row)

    def add_scores(self, case: Case, scores: ByScale) -> bool:
        """To the columns alone; gives whether the document is kept."""
        is_kept = any(text.ratings for text in case.candidates) or self._most == 2**64
        is_kept = is_kept or _hash(case.document.doc_id) < self._most
        self._is_sample |= not is_kept
        for key, column in self.columns.items():
            for candidate in case.candidates:
                column.add(scores[candidate.system, *key], is_kept=is_kept)
        return is_kept

    def leave_out(self, cases: int, candidates: int, reason: str) -> None:
        """Count cases that cannot be read: their candidates are unscored by every scorer."""
        self.cases += cases
        self.candidates += candidates
        for column in self.columns.values():
            column.reasons[reason] += candidates

    def __iadd__(self, other: "Tables") -> Self:
        """What lies in later shards, scored by the same scorers."""
        for key, column in other.columns.items():
            self.columns[key] += column
        self.cases += other.cases
        self.candidates += other.candidates
        self.rated += other.rated
        self.noticed += other.noticed
        self._kept += other._kept
        self._is_sample |= other._is_sample
        return self

    def coverage(self) -> list[Coverage]:
        return [
            Coverage(*key, column.scored, column.reasons.total(), dict(column.reasons))
            for key, column in self.columns.items()
        ]

    def systems(self) -> dict[tuple[str, str, str], tuple[float, int]]:
        """The mean of each scorer, axis and system, and of how many texts it is."""
        return {
            (*key, system): (column.sums[system] / n, n)
            for key, column in self.columns.items()
            for system, n in sorted(column.counts.items())
        }

    def shards_of(self, texts: Collection[Text]) -> set[int]:
        return {row.shard for row in self._kept if (row.doc_id, row.system) in texts}

    def as_rated(self) -> Rated:
        return self._frame([bool(row.ratings) for row in self._kept])

    def as_kept(self) -> Rated:
        return self._frame([True] * len(self._kept))

    def as_grid(self) -> Grid:
        """All that is kept, a row for each document and a column for each system."""
        rare = _rare_systems(self._kept)
        frame = self._frame([row.system not in rare for row in self._kept])
        probabilities = {
            axis: np.array([drawn.get(text, nan) for text in frame.texts])
            for axis, drawn in self.probabilities.items()
        }
        return Grid.of(frame, self._is_sample or bool(rare), probabilities)

    def _frame(self, is_chosen: Sequence[bool]) -> Rated:
        rows, chosen = list(compress(self._kept, is_chosen)), np.array(is_chosen, bool)
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


def _hash(doc_id: str) -> int:
    name = doc_id.encode(errors="surrogatepass")
    return int.from_bytes(blake2b(name, digest_size=8).digest())
