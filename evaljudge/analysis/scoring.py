"""From verdicts to scores and findings: the driver's arithmetic, one shard in memory at a time.

A judge whose arithmetic needs the whole run reads all its verdicts before any is scored. What it
fitted lies in report/fitted.json, and the signature of its scores ends with a hash of that.

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
from numpy.typing import NDArray

from evaljudge.analysis.mixes import mixed_scores
from evaljudge.analysis.rated import Ids, Key, Rated
from evaljudge.analysis.validity import Sums, shard_sums, validity_rows
from evaljudge.identity import short
from evaljudge.judges import Anchored, Judge
from evaljudge.judges.protocol import Fitted, Fitting
from evaljudge.records import Candidate, Case, Score, Verdict
from evaljudge.report import Coverage, SystemMean, ValidityRow
from evaljudge.runs.job import Job
from evaljudge.storage import Output, Shard, ahead

FILE = "report/fitted.json"
HASH = 12


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

    def add(self, case: Case, scores: Mapping[tuple[str, str, str], Score]) -> None:
        self.cases += 1
        for candidate in case.candidates:
            self.candidates += 1
            if candidate.ratings:
                self._add_ratings(case, candidate)
        self.add_scores(case, scores, self.columns)

    def add_scores(
        self, case: Case, scores: Mapping[tuple[str, str, str], Score], keys: Iterable[Key]
    ) -> None:
        """A key that is new begins a column, which is then told of all cases in the same order."""
        for key in keys:
            column = self.columns.setdefault(key, Column())
            for candidate in case.candidates:
                column.add(scores[candidate.system, *key], bool(candidate.ratings))

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
            documents=_sorted_codes(self._documents, self._document_of),
            systems=_sorted_codes(self._systems, self._system_of),
            scores={key: np.array(column.rated) for key, column in self.columns.items()},
            human={axis: np.array(values) for axis, values in self._human.items()},
            raters=self._raters,
        )


def _sorted_codes(known: Mapping[str, int], codes: array[int]) -> NDArray[np.int64]:
    """Numbered by their names' order in place of that of first appearance."""
    rank = {name: number for number, name in enumerate(sorted(known))}
    found: NDArray[np.int64] = np.array([rank[name] for name in known], np.int64)[np.array(codes)]
    return found


Found = Mapping[str, Mapping[tuple[str, str, str], Score]]
"""By document; then by system, scorer and axis."""


@dataclass
class Scored:
    """What a pass over all shards leaves: tables, and what judges checked of their references."""

    tables: Tables
    signatures: dict[str, str] = field(default_factory=dict)
    """Of the judges' scorers."""
    checked: dict[str, Sums] = field(default_factory=dict)

    def validity(self, judges: Sequence[Judge], rated: Rated) -> list[ValidityRow]:
        return [
            row
            for judge in judges
            if judge.name in self.checked
            for row in validity_rows(
                judge.name,
                judge.scorers[0],
                self.checked[judge.name],
                rated,
                self.tables.documents,
            )
        ]


def score_shards(job: Job, output: Output, shards: Sequence[Shard]) -> Scored:
    """Write every shard's score file, and keep what the report needs."""
    fitted = _fit_judges(job, output, shards)
    keys = ((scorer, axis) for scorer, axes in job.scorers.items() for axis in axes)
    scored = Scored(Tables(keys), _signatures(job, fitted))
    work = partial(_score_shard, job, output, fitted, scored.signatures)
    for cases, found, checked in ahead(work, shards):
        for case in cases:
            scored.tables.add(case, found.get(case.document.doc_id, {}))
        for judge, sums in checked.items():
            total = scored.checked.setdefault(judge, Sums())
            total += sums
    return scored


def _fit_judges(job: Job, output: Output, shards: Sequence[Shard]) -> dict[str, Fitted]:
    """By judge, of those whose arithmetic needs the whole run; of others nothing is read."""
    tried = {
        judge.name: judge.fit(_verdicts(output, judge.name, shards))
        for judge in job.judges
        if isinstance(judge, Fitting)
    }
    fitted = {name: one for name, one in tried.items() if one is not None}
    if fitted:
        output.place.write_json(FILE, {name: one.told for name, one in fitted.items()})
    else:
        output.place.remove(FILE)  # an earlier report may have had one
    return fitted


def _verdicts(output: Output, judge: str, shards: Sequence[Shard]) -> Iterator[Verdict]:
    for verdicts in ahead(lambda shard: list(output.verdicts(judge, shard)), shards):
        yield from verdicts


def _signatures(job: Job, fitted: Mapping[str, Fitted]) -> dict[str, str]:
    """Of the judges' scorers; where a run was fitted, with what was."""
    ends = {
        scorer: f" | fitted {short(fitted[judge.name].told)[:HASH]}"
        for judge in job.judges
        if judge.name in fitted
        for scorer in judge.scorers
    }
    return {scorer: line + ends.get(scorer, "") for scorer, line in job.judge_signatures().items()}


def _score_shard(
    job: Job,
    output: Output,
    fitted: Mapping[str, Fitted],
    signatures: Mapping[str, str],
    shard: Shard,
) -> tuple[list[Case], Found, dict[str, Sums]]:
    cases, scores, checked = output.cases(shard), list[Score](), dict[str, Sums]()
    for judge in job.judges:
        verdicts = list(output.verdicts(judge.name, shard))
        by = fitted.get(judge.name, judge)
        mine = [_signed(score, signatures) for v in verdicts for score in by.score(v)]
        if isinstance(judge, Anchored):
            checks = output.checks(judge.name, shard)
            checked[judge.name] = _checked(judge, cases, verdicts, checks, mine)
        scores += mine
    for metric in job.metrics:
        scores += output.measures(metric.name, shard)
    scores += list(mixed_scores(job.mixes, job.scorers, scores))
    output.write_scores(shard, scores)
    return cases, by_document(scores), checked


def by_document(scores: Iterable[Score]) -> Found:
    found: dict[str, dict[tuple[str, str, str], Score]] = {}
    for score in scores:
        found.setdefault(score.doc_id, {})[score.system, score.scorer, score.axis] = score
    return found


def _checked(
    judge: Anchored,
    cases: Sequence[Case],
    verdicts: Sequence[Verdict],
    checks: Iterable[Verdict],
    scores: Sequence[Score],
) -> Sums:
    compared = {
        (v.doc_id, v.system, v.axis): judge.comparisons(v) for v in verdicts if v.status == "ok"
    }
    first = judge.scorers[0]
    mine = {(s.doc_id, s.system, s.axis): s.value for s in scores if s.scorer == first}
    return shard_sums(cases, compared, checks, mine)


def _signed(score: Score, signatures: Mapping[str, str]) -> Score:
    known = (score.doc_id, score.system, score.scorer, score.axis, score.value, score.reason)
    return Score(*known, signatures[score.scorer])
