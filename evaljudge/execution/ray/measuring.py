"""Metrics on CPU workers, as Ray Data jobs: shards in; counts of the corpus or receipts out.

What all workers need to know lies once in each node's object store, and they read it there.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from evaljudge.errors import GivenUp, UserError
from evaljudge.execution.executor import Receipt, Watch
from evaljudge.execution.measuring import Counting, CountingWork, Measuring, MeasuringWork
from evaljudge.execution.ray.stages import hush
from evaljudge.execution.ray.worker import GIVEN_UP, REFUSED
from evaljudge.metrics.protocol import Part
from evaljudge.storage import Shard

COUNTED_AT_ONCE = 64
"""Shards: what their documents have in common travels once."""


class Counter:
    """{"shards": "[[0, 32, 512], …]"} -> {"keys": …, "counts": …, …}"""

    def __init__(self, counting: Any) -> None:
        import ray

        self._work = CountingWork(ray.get(counting))

    def __call__(self, batch: dict[str, Any]) -> dict[str, Any]:
        (shards,) = batch["shards"]
        counted = self._work.count([Shard(*numbers) for numbers in json.loads(shards)])
        return {name: [array] for name, array in counted.items()}


class Measurer:
    """{"order": '[[0, 32, 512], ["rouge1"]]'} -> {"receipt": '{"stage": "measure", …}'}"""

    def __init__(self, measuring: Any) -> None:
        import ray

        worker = ray.get_runtime_context().get_actor_id()
        self._work = MeasuringWork(ray.get(measuring), worker)

    def __call__(self, batch: dict[str, Any]) -> dict[str, Any]:
        return {"receipt": [json.dumps(self._receipt(order)) for order in batch["order"]]}

    def _receipt(self, order: str) -> Receipt:
        shard, names = json.loads(order)
        try:
            return self._work.measure(Shard(*shard), names)
        except UserError as error:
            return {REFUSED: str(error)}
        except GivenUp as error:
            return {GIVEN_UP: str(error)}


def counts_of(counting: Counting, shards: Sequence[Shard], most: int) -> Iterator[Part]:
    at_once = max(1, min(COUNTED_AT_ONCE, len(shards) // 8))
    parts = [shards[i : i + at_once] for i in range(0, len(shards), at_once)]
    rows = [{"shards": json.dumps([_numbers(shard) for shard in part])} for part in parts]
    yield from _rows(Counter, counting, rows, most)


def measure_orders(
    measuring: Measuring,
    lacking: Mapping[Shard, Sequence[str]],
    most: int,
    watch: Watch,
) -> None:
    rows = [{"order": json.dumps([_numbers(shard), list(n)])} for shard, n in lacking.items()]
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
            "others (its logs say more)"
        ) from error


def _numbers(shard: Shard) -> list[int]:
    return [shard.number, shard.cases, shard.candidates]
