"""Ray as an executor: workers on the cluster at hand, or on a Ray that is started here.

Asking and measuring are Ray Data jobs whose rows are turns of workers: Ray Data places workers, has
an autoscaler bring their machines, and lets those go whose turns have ended. Which shard a worker
does, it learns from the board (board.py): a row that is bound to a shard would wait for its own
actor's restart, wherever else there is room. The driver ends when every shard is committed, without
waiting for such a restart.
"""

import json
import logging
import os
import pickle
import re
import sys
from collections.abc import Callable, Collection, Generator, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import astuple, replace
from itertools import islice
from typing import Any, cast

from evaljudge.config import WorkersConfig
from evaljudge.errors import TERMINATED, Ended, GivenUp, Unasked, UserError, finishing
from evaljudge.execution.attempts import LOADING_KILLS
from evaljudge.execution.budget import Budget
from evaljudge.execution.protocol import Assignment, Event, Executor, Measuring, Order, R, T, Watch
from evaljudge.execution.ray.board import BoardReader, CountedWorker, reading_board
from evaljudge.execution.ray.placement import Placement, place, ray_cluster
from evaljudge.execution.ray.session import import_ray, ray_session
from evaljudge.execution.ray.worker import Ending, Measurer, Worker
from evaljudge.execution.shards import shards_at_once
from evaljudge.storage import Shard, expect_answers
from evaljudge.text import LONG, one_line


class RayExecutor(Executor):
    def __init__(self, workers: WorkersConfig) -> None:
        self._workers = workers
        import_ray()

    @contextmanager
    def check(self, engine_sizes: Collection[int]) -> Iterator[None]:
        """A Ray of our own that needs to provide CPUs only is not started for this."""
        workers = self._workers
        wishes = (workers.accelerator_type, workers.selectors, workers.memory)
        is_plain = workers.gpus in ("auto", 0) and not any(wishes)
        if not engine_sizes or (is_plain and not os.environ.get("RAY_ADDRESS")):
            yield
            return
        with self.session():
            for size in engine_sizes:
                place(workers, size, ray_cluster())
            yield

    @contextmanager
    def fetching(self, fetch: Callable[[], None], engine_size: int) -> Iterator[None]:
        """Get the workers' machines and their model, which takes minutes, while the driver reads
        the corpus, by a task that takes what a worker takes and writes nothing to the run's folder.
        At the end those without a machine are given up, as the workers now wait for one."""
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

    def ask(
        self, assignment: Assignment, orders: Sequence[Order], watch: Watch, budget: Budget | None
    ) -> None:
        """A worker without a shard would load a model for nothing, so there are no such workers;
        nor any that may ask a server nothing."""
        endpoint = assignment.source.endpoint
        may_ask = endpoint.at_once if endpoint else self._workers.max
        most = min(self._workers.max, len(orders), may_ask)
        least = min(self._workers.min, most)
        workers = self._workers.model_copy(update={"max": most, "min": least})
        assignment = replace(assignment, source=assignment.source.shared_by(most))
        with ray_session(workers):
            taking = place(workers, assignment.source.gpus_per_engine, ray_cluster())
            watch(Event("loading"))
            given = ((order.shard.number, list[str](order.stages), str(order)) for order in orders)
            with reading_board(given, watch, budget, may_copy=True) as reader:
                made = Worker, assignment, taking.gpus, budget is not None
                turns = shards_at_once([order.shard for order in orders], assignment.source)
                packed = _counted(reader.board, *made)
                _take_turns(_turns("the workers", packed, most, turns, taking), reader)

    def measure(
        self, measuring: Measuring, lacking: Mapping[Shard, Sequence[str]], watch: Watch
    ) -> None:
        orders = (
            (shard.number, ["measure"], json.dumps([astuple(shard), list(names)]))
            for shard, names in lacking.items()
        )
        most = min(self._cpus(), len(lacking))
        with reading_board(orders, watch, may_copy=False) as reader:
            packed = _counted(reader.board, Measurer, measuring)
            turns = _turns("the workers that measure", packed, most, 1, Placement(0, 1))
            _take_turns(turns, reader)

    def _cpus(self) -> int:
        """All CPUs there are, or as many as may be wanted of an autoscaler."""
        import ray

        return max(1, self._workers.max, int(ray.cluster_resources().get("CPU", 1)))

    def in_order(self, work: Callable[[T], R], items: Sequence[T]) -> Iterator[R]:
        return (result for _, result in self._results(work, items, in_order=True))

    def as_done(self, work: Callable[[T], R], items: Sequence[T]) -> Iterator[tuple[int, R]]:
        return self._results(work, items, in_order=False)

    def _results(
        self, work: Callable[[T], R], items: Sequence[T], *, in_order: bool
    ) -> Iterator[tuple[int, R]]:
        """Tasks are begun ahead of the one that is awaited, but results never pile up."""
        import ray

        most, waiting = 2 * self._cpus(), enumerate(items)
        task, packed = ray.remote(num_cpus=1, max_retries=3)(_done), ray.put(work)
        begun = dict[Any, int]()
        try:
            while True:
                some = islice(waiting, most - len(begun))
                begun |= {task.remote(packed, item): place for place, item in some}
                if not begun:
                    return
                done = next(iter(begun)) if in_order else ray.wait(list(begun))[0][0]
                yield begun.pop(done), ray.cloudpickle.loads(ray.get(done))
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


def _done(work: Callable[[T], object], item: T) -> bytes:
    """Pickled, since arrays that lie in Ray's object store cannot be added to."""
    import ray

    expect_answers()
    return cast(bytes, ray.cloudpickle.dumps(work(item)))


def _counted(board: Any, worker: type, *arguments: object) -> tuple[Any, ...]:
    """What a `CountedWorker` is made with; it lies once in each node's object store."""
    import ray

    packed = ray.put(ray.cloudpickle.dumps((worker, arguments)))
    return packed, board, pickle.dumps((UserError(LOADING_KILLS), False))


def _turns(
    who: str, packed: tuple[Any, ...], workers: int, turns: int, taking: Placement
) -> Generator[Ending, None, None]:
    """How each turn ended; `turns`: that each worker has at a time. All workers are asked for at
    once: those without a machine tell an autoscaler how many to start. A worker that is lost is
    started again without end: attempts.py says when a shard is given up."""
    import ray

    _prepare_ray_data()
    rows = [{"turn": turn} for turn in range(workers * turns)]
    actors = ray.data.ActorPoolStrategy(
        size=workers, max_tasks_in_flight_per_actor=turns, max_concurrent_calls_per_actor=turns
    )
    made = {"fn_constructor_args": packed, "batch_size": 1, "compute": actors}
    items = ray.data.from_items(rows, override_num_blocks=len(rows))
    done = items.map_batches(CountedWorker, **made, **taking.ray_options)
    try:
        for row in done.iter_rows():
            yield pickle.loads(row["ending"])
    except ray.exceptions.RayActorError as error:
        if lacking := re.search(r"No module named '[^']+'", str(error)):
            raise UserError(
                f"{who} cannot be made: {lacking[0]}: a judge's module must be on every node, see "
                "docs/cluster.md, 'A judge of your own'"
            ) from None
        said = [line for line in str(error).splitlines()[1:] if not line.startswith("\t")]
        why = one_line(" ".join(said), LONG) or type(error).__name__
        raise GivenUp(f"{who} were lost, and Ray could start no others ({why})") from error


def _take_turns(turns: Generator[Ending, None, None], reader: BoardReader) -> None:
    """Until every order is done. An error is raised when all turns have ended, unless at once. A
    worker that never began is waited for: a thread of Ray Data's that outlives Ray would end our
    process without a word."""
    ending: UserError | GivenUp | None = None
    with closing(turns):
        try:
            for error, at_once in turns:
                if error and at_once:
                    raise error
                ending = ending or error
                reader.look()
                if reader.is_done:
                    return
        finally:
            reader.board.end.remote()
    if finishing.is_set():
        raise Ended(TERMINATED)
    if reader.budget and reader.budget.is_over:
        raise Unasked
    raise ending or GivenUp("the workers ended before their work was done (Ray's logs say more)")


def _prepare_ray_data() -> None:
    """Turn off Ray Data's own bars, notes and tracebacks of errors that are raised here, too; and
    that it gives up when no turn has ended for half an hour, or when a machine goes as a first
    worker begins there."""
    import ray.data

    context = ray.data.DataContext.get_current()
    context.enable_progress_bars = False
    context.print_on_execution_start = False
    context.execution_no_progress_timeout_s = -1
    context.max_consecutive_actor_init_deaths = 9
    logging.getLogger("ray.data").setLevel(logging.CRITICAL)
    logging.getLogger("ray").setLevel(logging.ERROR)
