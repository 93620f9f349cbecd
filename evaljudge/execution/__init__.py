"""How a run's shards get done: the work of a shard, and the two executors that do it.

The rest of evaljudge knows an `Executor` only, and which one a configuration means:

workers: {executor: local}    in this process, over one engine; no Ray is started
workers: {executor: ray}      by worker actors: on the cluster at hand, or a Ray started here
workers: {executor: auto}     Ray where there is a cluster or where the configuration asks for
                              more than one process can give; otherwise local
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeVar

from evaljudge.config import WorkersConfig

if TYPE_CHECKING:
    from evaljudge.execution.measuring import Measuring
    from evaljudge.execution.orders import Assignment, Order
    from evaljudge.storage import Shard, Stage

R = TypeVar("R")
Receipt = dict[str, Any]
Watch = Callable[[Receipt], None]
"""Called with each receipt, once the shard that it is of has been committed."""
InHand = dict[tuple["Stage", int], int]
"""By stage and number of a shard that is not committed yet: its cases that passed the stage."""
Tell = Callable[[InHand], None]
"""Called with the counts that have changed; with none when a model is loaded."""


class Watching(Protocol):
    """What an executor calls while a model is asked, from any thread."""

    def loading(self) -> None:
        """A model is loaded from now on, until `in_hand` is called."""

    def in_hand(self, counts: InHand) -> None:
        """About once a second for each worker (see in_hand.py)."""

    def receipt(self, receipt: Receipt) -> None:
        """With each receipt, once the shard that it is of has been committed."""


class Executor(Protocol):
    def check(self, engine_sizes: Collection[int]) -> AbstractContextManager[None]:
        """Refuse, before any work is done, engines that can never be placed.

        `engine_sizes`: how many GPUs each engine of the run needs. What had to be started in order
        to look stays for the block.
        """

    def fetching(self, fetch: Callable[[], None], engine_size: int) -> AbstractContextManager[None]:
        """Meanwhile, `fetch` is done where workers will be, without waiting for it."""

    def session(self) -> AbstractContextManager[None]:
        """Whatever several calls share, started once for the block."""

    def ask(self, assignment: Assignment, orders: Sequence[Order], watching: Watching) -> None:
        """Have every order done, each shard committed before `watching` gets its receipt."""

    def in_order(self, work: Callable[[Shard], R], shards: Sequence[Shard]) -> Iterator[R]:
        """What `work` makes of each shard, in the order of the shards."""

    def measure(
        self, measuring: Measuring, lacking: Mapping[Shard, Sequence[str]], watch: Watch
    ) -> None:
        """Measure the metrics that each shard lacks, each shard committed before `watch` hears."""


def executor_name(workers: WorkersConfig) -> Literal["local", "ray"]:
    """Which of the two is meant, `auto` decided by what is at hand."""
    if workers.executor != "auto":
        return workers.executor
    return "ray" if workers.needs_ray or is_on_a_cluster() else "local"


def make_executor(workers: WorkersConfig, out: str) -> Executor:
    """`out`: the run's folder."""
    if executor_name(workers) == "local":
        from evaljudge.execution.local import LocalExecutor

        return LocalExecutor(out)
    from evaljudge.execution.ray.executor import RayExecutor

    return RayExecutor(workers)


def is_on_a_cluster() -> bool:
    """An address is set, this is a submitted job, or this process is connected already."""
    named = any(os.environ.get(name) for name in ("RAY_ADDRESS", "RAY_JOB_CONFIG_JSON_ENV_VAR"))
    ray = sys.modules.get("ray")
    return named or (ray is not None and ray.is_initialized())
