"""Ray as an executor: workers on the cluster at hand, or on a Ray that is started here."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, TypeVar

from evaljudge.config import WorkersConfig
from evaljudge.errors import GivenUp
from evaljudge.execution.executor import Watch
from evaljudge.execution.measuring import Measuring
from evaljudge.execution.orders import Assignment, Order
from evaljudge.execution.ray.jobs import do_orders, measure_orders
from evaljudge.execution.ray.session import cpus_wanted, placed, ray_session
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

    def measure(
        self, measuring: Measuring, lacking: Mapping[Shard, Sequence[str]], watch: Watch
    ) -> None:
        measure_orders(measuring, lacking, self._workers.max, watch)

    def in_order(self, work: Callable[[Shard], R], shards: Sequence[Shard]) -> Iterator[R]:
        """Tasks are begun ahead of the one that is awaited, but results never pile up."""
        import ray

        most = 2 * cpus_wanted(self._workers.max)
        task, known = ray.remote(num_cpus=1, max_retries=3)(_done), ray.put(work)
        begun = deque[Any]()
        try:
            for shard in shards:
                begun.append(task.remote(known, shard))
                if len(begun) > most:
                    yield ray.get(begun.popleft())
            while begun:
                yield ray.get(begun.popleft())
        except ray.exceptions.RayTaskError as error:  # with the worker's traceback in its text
            raise error.cause from None
        except (ray.exceptions.WorkerCrashedError, ray.exceptions.OutOfMemoryError) as error:
            raise GivenUp(f"the workers that score were lost ({type(error).__name__})") from error
        finally:
            for task_begun in begun:  # where the driver stops before the end
                ray.cancel(task_begun)


def _done(work: Callable[[Shard], R], shard: Shard) -> R:
    return work(shard)
