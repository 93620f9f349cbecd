"""Metrics on CPU workers, as Ray Data jobs: shards in; counts of the corpus or receipts out.

Two passes where a metric looks at the whole corpus: `counts_of` counts its documents, each worker
adding up what it counted of many shards; `measure_orders` then measures. What was counted lies once
in each node's object store, and workers read it there.
"""

from __future__ import annotations

import json
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evaljudge.cluster.deaths import Deaths
from evaljudge.cluster.stages import hush
from evaljudge.cluster.worker import GIVEN_UP, REFUSED
from evaljudge.errors import GivenUp, UserError
from evaljudge.metrics import CorpusMetric, Metric, Unscored, Value
from evaljudge.metrics.protocol import Part
from evaljudge.records import ANY_AXIS, Case, Score
from evaljudge.storage import Output, Shard

COUNTED_AT_ONCE = 64
"""Shards: what their documents have in common travels once."""
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
    """Of this driver: deaths are counted within it."""


class Counter:
    """{"shards": "[[0, 32, 512], …]"} -> {"keys": …, "counts": …, …}"""

    def __init__(self, counting: Any) -> None:
        import ray

        self._of: Counting = ray.get(counting)
        self._output = Output(self._of.out)

    def __call__(self, batch: dict[str, Any]) -> dict[str, Any]:
        (shards,) = batch["shards"]
        texts = (text for shard in _read_shards(shards) for text in self._texts(shard))
        return {name: [array] for name, array in self._of.metric.counted(texts).items()}

    def _texts(self, shard: Shard) -> Iterator[str]:
        again = self._of.again.get(shard.number, frozenset())
        for document in self._output.sources(shard):
            if document.doc_id not in again:
                yield document.source


class Measurer:
    """{"order": '[[0, 32, 512], ["rouge1"]]'} -> {"receipt": '{"stage": "measure", …}'}"""

    def __init__(self, measuring: Any) -> None:
        import ray

        self._of: Measuring = ray.get(measuring)
        self._output, self._since = Output(self._of.out), time.monotonic()
        self._worker = ray.get_runtime_context().get_actor_id()

    def __call__(self, batch: dict[str, Any]) -> dict[str, Any]:
        return {"receipt": [json.dumps(self._receipt(order)) for order in batch["order"]]}

    def _receipt(self, order: str) -> Receipt:
        shard, names = json.loads(order)
        try:
            return self._measure(Shard(*shard), names)
        except UserError as error:
            return {REFUSED: str(error)}
        except GivenUp as error:
            return {GIVEN_UP: str(error)}

    def _measure(self, shard: Shard, names: Sequence[str]) -> Receipt:
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


def counts_of(counting: Counting, shards: Sequence[Shard], most: int) -> Iterator[Part]:
    at_once = max(1, min(COUNTED_AT_ONCE, len(shards) // 8))
    parts = [shards[i : i + at_once] for i in range(0, len(shards), at_once)]
    rows = [{"shards": json.dumps([_told(shard) for shard in part])} for part in parts]
    yield from _rows(Counter, counting, rows, most)


def measure_orders(
    measuring: Measuring,
    lacking: Mapping[Shard, Sequence[str]],
    most: int,
    watch: Callable[[Receipt], None],
) -> None:
    rows = [{"order": json.dumps([_told(shard), list(n)])} for shard, n in lacking.items()]
    ending: UserError | GivenUp | None = None
    for row in _rows(Measurer, measuring, rows, most):
        receipt = json.loads(row["receipt"])
        if said := receipt.get(REFUSED):
            ending = ending or UserError(said)
        elif said := receipt.get(GIVEN_UP):
            ending = ending or GivenUp(said)
        else:
            watch(receipt)
    if ending:
        raise ending


def _rows(
    worker: type, knowing: Any, rows: Sequence[Mapping[str, str]], most: int
) -> Iterator[Any]:
    """On all CPUs there are, or as many workers as may be wanted of an autoscaler."""
    import ray

    hush()
    cpus = max(1, most, int(ray.cluster_resources().get("CPU", 1)))
    with warnings.catch_warnings():  # Ray has no other names yet for `max_restarts` and its like
        warnings.simplefilter("ignore", DeprecationWarning)
        done = ray.data.from_items(list(rows), override_num_blocks=len(rows)).map_batches(
            worker,
            fn_constructor_args=(ray.put(knowing),),
            batch_size=1,
            compute=ray.data.ActorPoolStrategy(min_size=1, max_size=min(cpus, len(rows))),
            num_cpus=1,
            max_restarts=-1,  # deaths.py says when a case is set aside, and a shard given up
            max_task_retries=-1,
        )
    try:
        yield from done.iter_rows()
    except ray.exceptions.RayActorError as error:
        raise GivenUp(
            f"the workers that measure were lost ({type(error).__name__}), and Ray could start no "
            "others; what was committed is kept, and a rerun resumes. Ray's logs say more"
        ) from error


def _told(shard: Shard) -> list[int]:
    return [shard.number, shard.cases, shard.candidates]


def _read_shards(told: str) -> Iterator[Shard]:
    return (Shard(*numbers) for numbers in json.loads(told))
