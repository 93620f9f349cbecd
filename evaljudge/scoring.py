"""From verdicts to scores and findings: the driver's arithmetic, one shard in memory at a time.

What stays in memory is counts, sums per system, and one number per *rated* candidate and scorer:
unrated candidates leave nothing behind.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from math import nan

import numpy as np

from evaljudge.job import Job
from evaljudge.rated import Key, Rated
from evaljudge.records import Candidate, Case, Score
from evaljudge.report import Coverage, SystemMean
from evaljudge.storage import Output, Shard, ahead


@dataclass
class Column:
    """The scores of one scorer on one axis: counted, summed per system, kept where rated."""

    reasons: Counter[str] = field(default_factory=Counter)
    scored: int = 0
    sums: dict[str, list[float]] = field(default_factory=dict)
    rated: array[float] = field(default_factory=lambda: array("d"))

    def add(self, score: Score, is_rated: bool) -> None:
        if score.value is None:
            self.reasons[score.reason] += 1
        else:
            self.scored += 1
            total = self.sums.setdefault(score.system, [0.0, 0])
            total[0] += score.value
            total[1] += 1
        if is_rated:
            self.rated.append(nan if score.value is None else score.value)


class Tables:
    """What a pass over all shards leaves for the report."""

    def __init__(self, keys: Iterable[Key]) -> None:
        self.columns: dict[Key, Column] = {key: Column() for key in keys}
        self.candidates = 0
        self._documents: dict[str, int] = {}
        self._systems: dict[str, int] = {}
        self._document_of, self._system_of = array("q"), array("q")
        self._human: dict[str, array[float]] = {}
        self._raters: dict[str, list[tuple[float, ...]]] = {}

    @property
    def rated(self) -> int:
        return len(self._document_of)

    def add(self, case: Case, scores: Mapping[tuple[str, str, str], Score]) -> None:
        for candidate in case.candidates:
            self.candidates += 1
            if candidate.ratings:
                self._add_ratings(case, candidate)
            for (scorer, axis), column in self.columns.items():
                column.add(scores[candidate.system, scorer, axis], bool(candidate.ratings))

    def _add_ratings(self, case: Case, candidate: Candidate) -> None:
        before = len(self._document_of)
        doc_id, system = case.document.doc_id, candidate.system
        self._document_of.append(self._documents.setdefault(doc_id, len(self._documents)))
        self._system_of.append(self._systems.setdefault(system, len(self._systems)))
        for axis in candidate.ratings.keys() - self._human.keys():
            self._human[axis] = array("d", [nan] * before)
        for axis, values in self._human.items():
            values.append(candidate.ratings.get(axis, nan))
        for axis in candidate.raters.keys() - self._raters.keys():
            self._raters[axis] = [()] * before
        for axis, ratings in self._raters.items():
            ratings.append(candidate.raters.get(axis, ()))

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
            documents=np.array(self._document_of),
            systems=np.array(self._system_of),
            scores={key: np.array(column.rated) for key, column in self.columns.items()},
            human={axis: np.array(values) for axis, values in self._human.items()},
            raters=self._raters,
        )


Found = Mapping[str, Mapping[tuple[str, str, str], Score]]
"""By document; then by system, scorer and axis."""


def score_shards(job: Job, output: Output, shards: Sequence[Shard]) -> Tables:
    """Write every shard's score file, and keep what the report needs."""
    signatures = job.judge_signatures()
    tables = Tables((scorer, axis) for scorer, axes in job.scorers.items() for axis in axes)
    for cases, found in ahead(partial(_score_shard, job, output, signatures), shards):
        for case in cases:
            tables.add(case, found.get(case.document.doc_id, {}))
    return tables


def _score_shard(
    job: Job, output: Output, signatures: Mapping[str, str], shard: Shard
) -> tuple[list[Case], Found]:
    cases = output.cases(shard)
    scores = list(_scores(job, output, signatures, shard))
    output.write_scores(shard, scores)
    found: dict[str, dict[tuple[str, str, str], Score]] = {}
    for score in scores:
        found.setdefault(score.doc_id, {})[score.system, score.scorer, score.axis] = score
    return cases, found


def _scores(
    job: Job, output: Output, signatures: Mapping[str, str], shard: Shard
) -> Iterator[Score]:
    for judge in job.judges:
        for verdict in output.verdicts(judge.name, shard):
            yield from (_signed(score, signatures) for score in judge.score(verdict))
    for metric in job.metrics:
        yield from output.measures(metric.name, shard)


def _signed(score: Score, signatures: Mapping[str, str]) -> Score:
    known = (score.doc_id, score.system, score.scorer, score.axis, score.value, score.reason)
    return Score(*known, signatures[score.scorer])
