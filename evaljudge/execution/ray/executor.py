"""Ray as an executor: workers on the cluster at hand, or on a Ray that is started here.

Asking and measuring are Ray Data jobs: a shard's order in, its receipt out, actors in between. A
row is a shard's order, never a prompt: cases are read and prompts made inside the worker that asks
them. A model that both writes and judges does both stages over one pool, each engine loaded once;
different models are two pools, the first released before the second starts.
"""

from __future__ import annotations

import json
import logging
import os
import re
import sys
from collections import deque
from collections.abc import Callable, Collection, Generator, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import astuple
from typing import Any

from evaljudge.config import WorkersConfig
from evaljudge.errors import TERMINATED, Ended, GivenUp, UserError, finishing
from evaljudge.execution.attempts import LOADING_KILLS, MEASURING_KILLS
from evaljudge.execution.protocol import (
    Assignment,
    Event,
    Executor,
    Measuring,
    Order,
    R,
    Receipt,
    Receipts,
    T,
    Watch,
)
from evaljudge.execution.ray.board import CountedWorker, reading_board
from evaljudge.execution.ray.placement import place, ray_cluster
from evaljudge.execution.ray.session import import_ray, ray_session
from evaljudge.execution.ray.worker import (
    AT_ONCE,
    REFUSED,
    UNBEGUN,
    Measurer,
    Worker,
    ended,
)
from evaljudge.execution.shards import SHARDS_AT_ONCE
from evaljudge.storage import Shard, expect_answers


class RayExecutor(Executor):
    def __init__(self, workers: WorkersConfig) -> None:
        self._workers = workers
        import_ray()

    @contextmanager
    def check(self, engine_sizes: Collection[int]) -> Iterator[None]:
        """A Ray of our own that needs to provide CPUs only is not started for this."""
        workers = self._workers
        is_plain = workers.gpus in ("auto", 0) and workers.accelerator_type is None
        if not engine_sizes or (is_plain and not os.environ.get("RAY_ADDRESS")):
            yield
            return
        with self.session():
            for size in engine_sizes:
                place(workers, size, ray_cluster())
            yield

    @contextmanager
    def fetching(self, fetch: Callable[[], None], engine_size: int) -> Iterator[None]:
        """Get the workers' machines and their model while the driver reads the corpus.

        An autoscaler starts machines, and a machine downloads a checkpoint, for minutes. A task
        that takes what a worker takes has both done before there is a shard to work on. It loads no
        engine and writes nothing to the run's folder, so it is no matter if the corpus is refused.
        There are as many as there are workers at least, and none unless Ray is connected already.

        At the end those without a machine are given up, as the workers themselves now wait for one.
        The others go on, since their machine's worker needs the same files.
        """
        import ray

        if not ray.is_initialized():
            yield
            return
        options = place(self._workers, engine_size, ray_cluster()).ray_options
        task = ray.remote(num_returns="streaming", max_retries=0, **options)(_fetched)
        waiting = fetchers = [task.remote(fetch) for _ in range(self._workers.min)]
        try:
            yield
            _, waiting = ray.wait(fetchers, num_returns=len(fetchers), timeout=0)
        finally:
            for fetcher in waiting:
                ray.cancel(fetcher)

    def session(self) -> AbstractContextManager[None]:
        return ray_session(self._workers)

    def ask(self, assignment: Assignment, orders: Sequence[Order], watch: Watch) -> None:
        """A worker without a shard would load a model for nothing, so there are no such workers."""
        most = min(self._workers.max, len(orders))
        least = min(self._workers.min, most)
        workers = self._workers.model_copy(update={"max": most, "min": least})
        with ray_session(workers):
            import ray

            taking = place(workers, assignment.source.gpus_per_engine, ray_cluster())
            pool = ray.data.ActorPoolStrategy(
                min_size=least,
                max_size=most,
                max_tasks_in_flight_per_actor=SHARDS_AT_ONCE,
                max_concurrent_calls_per_actor=SHARDS_AT_ONCE,
            )
            rows = list(map(str, orders))
            watch(Event("loading"))
            with reading_board(watch) as board:
                packed = _counted(board, LOADING_KILLS, Worker, assignment, taking.gpus, board)
                _watch_all(_receipts("the workers", packed, rows, pool, taking.ray_options), watch)
            if finishing.is_set():
                raise Ended(TERMINATED)

    def measure(
        self, measuring: Measuring, lacking: Mapping[Shard, Sequence[str]], watch: Watch
    ) -> None:
        """Measures on all CPUs that there are or could be."""
        import ray

        rows = [json.dumps([astuple(shard), list(names)]) for shard, names in lacking.items()]
        pool = ray.data.ActorPoolStrategy(min_size=1, max_size=min(self._cpus(), len(rows)))
        with reading_board(watch) as board:
            packed = _counted(board, MEASURING_KILLS, Measurer, measuring)
            who, options = "the workers that measure", {"num_cpus": 1}
            _watch_all(_receipts(who, packed, rows, pool, options), watch)

    def _cpus(self) -> int:
        """All CPUs there are, or as many as may be wanted of an autoscaler."""
        import ray

        return max(1, self._workers.max, int(ray.cluster_resources().get("CPU", 1)))

    def in_order(self, work: Callable[[T], R], items: Sequence[T]) -> Iterator[R]:
        """Tasks are begun ahead of the one that is awaited, but results never pile up."""
        import ray

        most = 2 * self._cpus()
        task, packed = ray.remote(num_cpus=1, max_retries=3)(_done), ray.put(work)
        begun = deque[Any]()
        try:
            for item in items:
                begun.append(task.remote(packed, item))
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


def _fetched(fetch: Callable[[], None]) -> Iterator[None]:
    """One worker's place, until its model is there: answers at once when there is a machine."""
    yield
    try:
        fetch()
    except Exception as error:  # the worker will meet it too, and the driver says it then
        print(f"the model could not be fetched: {error}", file=sys.stderr, flush=True)


def _done(work: Callable[[T], R], item: T) -> R:
    expect_answers()
    return work(item)


def _counted(board: Any, refusal: str, worker: type, *arguments: object) -> tuple[Any, ...]:
    """What a `CountedWorker` is made with; it lies once in each node's object store."""
    import ray

    packed = ray.put(ray.cloudpickle.dumps((worker, arguments)))
    return packed, board, json.dumps({REFUSED: refusal})


def _receipts(
    who: str,
    packed: tuple[Any, ...],
    orders: Sequence[str],
    pool: Any,
    options: Mapping[str, Any],
) -> Generator[Receipt, None, None]:
    """A worker that is lost is started again without end, which are Ray Data's own rules:
    attempts.py says when a shard is given up."""
    import ray

    _quiet_ray_data()
    rows = [{"order": order} for order in orders]
    done = ray.data.from_items(rows, override_num_blocks=len(rows)).map_batches(
        CountedWorker, fn_constructor_args=packed, batch_size=1, compute=pool, **options
    )
    try:
        for row in done.iter_rows():
            yield json.loads(row["receipt"])
    except ray.exceptions.RayActorError as error:
        if lacking := re.search(r"No module named '[^']+'", str(error)):
            raise UserError(
                f"{who} cannot be made: {lacking[0]}: a judge's module must be on every node, see "
                "docs/cluster.md, 'A judge of your own'"
            ) from None
        raise GivenUp(
            f"{who} were lost ({type(error).__name__}), and Ray could start no others (its logs "
            "say more)"
        ) from error


def _watch_all(receipts: Generator[Receipt, None, None], watch: Watch) -> None:
    """An error is raised when all orders are done, unless it is to be raised at once.

    A worker that never began refuses all its orders quickly, and is waited for: a thread of Ray
    Data's that outlives Ray would end our process without a word.
    """
    ending: UserError | GivenUp | None = None
    done = Receipts(watch)
    with closing(receipts):
        for receipt in receipts:
            if UNBEGUN in receipt:
                continue
            error = ended(receipt)
            if error is None:
                done.add(receipt)
                continue
            ending = ending or error
            if receipt.get(AT_ONCE):
                raise ending
    if ending:
        raise ending


def _quiet_ray_data() -> None:
    """Turn off Ray Data's own bars and notes; ours say what matters to the user.

    Its errors are raised here, too, and it would write their tracebacks besides.
    """
    import ray.data

    context = ray.data.DataContext.get_current()
    context.enable_progress_bars = False
    context.print_on_execution_start = False
    context.autoscaling_config.actor_pool_util_upscaling_threshold = 1.0  # all that may be asked
    logging.getLogger("ray.data").setLevel(logging.CRITICAL)
    logging.getLogger("ray").setLevel(logging.ERROR)
