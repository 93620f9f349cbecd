"""Ray as an executor: workers on the cluster at hand, or on a Ray that is started here."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TypeVar

from evaljudge.config import WorkersConfig
from evaljudge.execution.executor import Watch
from evaljudge.execution.measuring import Counting, Measuring
from evaljudge.execution.orders import Assignment, Order
from evaljudge.execution.ray.in_order import results_in_order
from evaljudge.execution.ray.measuring import counts_of, measure_orders
from evaljudge.execution.ray.session import placed, ray_session
from evaljudge.execution.ray.stages import do_orders
from evaljudge.metrics.protocol import Part
from evaljudge.storage import Shard

R = TypeVar("R")


class RayExecutor:
    def __init__(self, workers: WorkersConfig) -> None:
        self._workers = workers

    def check(self, engine_sizes: Collection[int]) -> AbstractContextManager[None]:
        return placed(self._workers, engine_sizes)

    def session(self) -> AbstractContextManager[None]:
        return ray_session(self._workers)

    def ask(self, assignment: Assignment, orders: Sequence[Order], watch: Watch) -> None:
        do_orders(assignment, orders, self._workers, watch)

    def count(self, counting: Counting, shards: Sequence[Shard]) -> Iterator[Part]:
        return counts_of(counting, shards, self._workers.max)

    def in_order(self, work: Callable[[Shard], R], shards: Sequence[Shard]) -> Iterator[R]:
        return results_in_order(work, shards, self._workers.max)

    def measure(
        self, measuring: Measuring, lacking: Mapping[Shard, Sequence[str]], watch: Watch
    ) -> None:
        measure_orders(measuring, lacking, self._workers.max, watch)
