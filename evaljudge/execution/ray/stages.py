"""The two stages as Ray Data jobs: shards in, receipts out, engines in between.

A row is a shard's order, never a prompt: cases are read and prompts made inside the worker that
asks them. Writer and judge of one model do both stages over one pool, each engine loaded once;
different models are two pools, the first released before the second starts.
"""

from __future__ import annotations

import json
import logging
import warnings
from collections.abc import Generator, Sequence
from contextlib import closing

from evaljudge.config import WorkersConfig
from evaljudge.errors import GivenUp, UserError
from evaljudge.execution.executor import Receipt, Watch
from evaljudge.execution.orders import Assignment, Order, write_order
from evaljudge.execution.ray.placement import Placement
from evaljudge.execution.ray.session import placement, ray_session
from evaljudge.execution.ray.worker import GIVEN_UP, OF_ALL, REFUSED, Worker
from evaljudge.execution.shards import SHARDS_AT_ONCE


def do_orders(
    assignment: Assignment, orders: Sequence[Order], workers: WorkersConfig, watch: Watch
) -> None:
    """Have every order done, telling `watch` of each receipt."""
    workers = _no_idlers(workers, len(orders))
    with ray_session(workers):
        taking = placement(workers, assignment.source.gpus_per_engine)
        ending: UserError | GivenUp | None = None
        with closing(_receipts(assignment, orders, workers, taking)) as receipts:
            for receipt in receipts:
                if REFUSED not in receipt and GIVEN_UP not in receipt:
                    watch(receipt)
                    continue
                ending = ending or _error(receipt)
                if not receipt.get(OF_ALL):
                    raise ending
        if ending:  # a worker that never began refuses all its orders at once: let it, since a
            raise ending  # thread of Ray Data's that outlives Ray ends our process without a word


def _error(receipt: Receipt) -> UserError | GivenUp:
    return UserError(receipt[REFUSED]) if REFUSED in receipt else GivenUp(receipt[GIVEN_UP])


def _no_idlers(workers: WorkersConfig, orders: int) -> WorkersConfig:
    """A worker without a shard to do would cost a machine, and the loading of a model."""
    most = min(workers.max, orders)
    return workers.model_copy(update={"max": most, "min": min(workers.min, most)})


def _receipts(
    assignment: Assignment, orders: Sequence[Order], workers: WorkersConfig, taking: Placement
) -> Generator[Receipt, None, None]:
    import ray

    hush()
    rows = [{"order": write_order(order)} for order in orders]
    with warnings.catch_warnings():  # Ray has no other name yet for `max_task_retries`
        warnings.simplefilter("ignore", DeprecationWarning)
        receipts = ray.data.from_items(rows, override_num_blocks=len(rows)).map_batches(
            Worker,
            fn_constructor_args=(assignment, taking.gpus),
            batch_size=1,
            compute=ray.data.ActorPoolStrategy(
                min_size=workers.min,
                max_size=workers.max,
                max_tasks_in_flight_per_actor=SHARDS_AT_ONCE,
                max_concurrent_calls_per_actor=SHARDS_AT_ONCE,
            ),
            max_task_retries=-1,  # attempts.py says when a shard is given up
            **taking.ray_options,
        )
    try:
        for row in receipts.iter_rows():
            yield json.loads(row["receipt"])
    except ray.exceptions.RayActorError as error:
        raise GivenUp(
            f"the workers were lost ({type(error).__name__}), and Ray could start no others "
            "(its logs say more)"
        ) from error


def hush() -> None:
    """Ray Data's own bars and notes; ours say what matters to the user."""
    import ray.data

    context = ray.data.DataContext.get_current()
    context.enable_progress_bars = False
    context.print_on_execution_start = False
    context.autoscaling_config.actor_pool_util_upscaling_threshold = 1.0  # all that may be asked
    for name in ("ray.data", "ray"):
        logging.getLogger(name).setLevel(logging.ERROR)
