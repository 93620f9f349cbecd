"""The metrics' share of a shard's work, whoever does it: documents counted, candidates measured.

Two passes where a metric looks at the whole corpus: `count` adds up its documents, and what all
shards came to makes the metric ready; `measure` then writes every candidate's number, data first,
marker last. Nothing here knows Ray.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evaljudge.execution.deaths import Deaths
from evaljudge.metrics import CorpusMetric, Metric, Unscored, Value
from evaljudge.metrics.protocol import Part
from evaljudge.records import ANY_AXIS, Case, Score
from evaljudge.storage import Output, Shard

WORKER_DIED = Unscored("worker died")
Receipt = dict[str, Any]


@dataclass(frozen=True)
class Counting:
    """What a worker needs to know that counts; `again`: documents that other shards hold too."""

    out: str
    metric: CorpusMetric
    again: Mapping[int, frozenset[str]]


@dataclass(frozen=True)
class Measuring:
    """What a worker needs to know that measures."""

    out: str
    metrics: Sequence[Metric]
    signatures: Mapping[str, str]
    session: str
    """Deaths are counted within it (see deaths.py)."""


class CountingWork:
    def __init__(self, counting: Counting) -> None:
        self._of, self._output = counting, Output(counting.out)

    def count(self, shards: Sequence[Shard]) -> Part:
        return self._of.metric.counted(text for shard in shards for text in self._texts(shard))

    def _texts(self, shard: Shard) -> Iterator[str]:
        again = self._of.again.get(shard.number, frozenset())
        for document in self._output.sources(shard):
            if document.doc_id not in again:
                yield document.source


class MeasuringWork:
    def __init__(self, measuring: Measuring, worker: str) -> None:
        self._of, self._worker = measuring, worker
        self._output, self._since = Output(measuring.out), time.monotonic()

    def measure(self, shard: Shard, names: Sequence[str]) -> Receipt:
        """Data first, marker last; a marker that vouches for other settings is struck before."""
        deaths = Deaths(self._output, f"{shard.number:05d}", self._of.session)
        cases, unscored = self._output.cases(shard), 0
        measured = self._others_measured(shard, names)
        for metric in self._of.metrics:
            if metric.name in names:
                scores = list(self._scores(metric, cases, deaths))
                unscored += sum(score.value is None for score in scores)
                self._output.write_measures(metric.name, shard, scores)
                measured[metric.name] = self._of.signatures[metric.name]
        receipt = self._marker(shard, measured, unscored)
        self._output.commit("measure", shard, receipt)
        deaths.end()
        return receipt

    def _others_measured(self, shard: Shard, names: Sequence[str]) -> dict[str, str]:
        """The metrics that stay as they are; those that do not lose the marker's word at once."""
        marker = self._output.receipt("measure", shard)
        if marker is None:
            return {}
        kept = {name: line for name, line in marker["measured"].items() if name not in names}
        if kept != marker["measured"]:
            self._output.commit("measure", shard, marker | {"measured": kept})
        return kept

    def _marker(self, shard: Shard, measured: Mapping[str, str], unscored: int) -> Receipt:
        return {
            "stage": "measure",
            "shard": shard.number,
            "cases": shard.cases,
            "unscored": unscored,
            "measured": measured,
            "worker": self._worker,
            "worker_seconds": round(time.monotonic() - self._since, 3),
            "gpus": 0,
        }

    def _scores(self, metric: Metric, cases: Sequence[Case], deaths: Deaths) -> Iterator[Score]:
        for case, values in zip(cases, _values(metric, cases, deaths), strict=True):
            for candidate, value in zip(case.candidates, values, strict=True):
                yield Score(
                    case.document.doc_id,
                    candidate.system,
                    metric.name,
                    ANY_AXIS,
                    None if isinstance(value, Unscored) else value,
                    value.reason if isinstance(value, Unscored) else "",
                    self._of.signatures[metric.name],
                )


def _values(metric: Metric, cases: Sequence[Case], deaths: Deaths) -> list[list[Value]]:
    """All at once; one by one where that was somebody's death."""
    if deaths.is_first:
        return metric.measure(cases)
    return [_values_alone(metric, case, deaths) for case in cases]


def _values_alone(metric: Metric, case: Case, deaths: Deaths) -> list[Value]:
    if deaths.is_aside(metric.name, case.document.doc_id):
        return [WORKER_DIED for _ in case.candidates]
    deaths.opening(metric.name, case.document.doc_id)
    return metric.measure([case])[0]
