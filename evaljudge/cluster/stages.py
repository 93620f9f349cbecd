"""The two stages as Ray Data jobs: shards in, receipts out, engines in between.

A row is a shard's order, never a prompt: cases are read and prompts made inside the worker that
asks them. Writer and judge of one model do both stages over one pool, each engine loaded once;
different models are two pools, the first released before the second starts.
"""

from __future__ import annotations

import json
import logging
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from evaljudge.cluster.orders import Assignment, Order, write_order
from evaljudge.cluster.placement import Placement
from evaljudge.cluster.session import ray_session
from evaljudge.cluster.shards import MOST_OPEN_CASES
from evaljudge.cluster.worker import GIVEN_UP, REFUSED, Worker
from evaljudge.config import WorkersConfig
from evaljudge.errors import GivenUp, UserError

SHARDS_AT_ONCE = 1 + MOST_OPEN_CASES // 32
Receipt = dict[str, Any]
Watch = Callable[[Receipt], None]


def do_orders(
    assignment: Assignment, orders: Sequence[Order], workers: WorkersConfig, watch: Watch
) -> None:
    """Have every order done, telling `watch` of each receipt."""
    with ray_session(workers, assignment.source.gpus_per_engine) as placement:
        for receipt in _receipts(assignment, orders, workers, placement):
            if REFUSED in receipt:
                raise UserError(receipt[REFUSED])
            if GIVEN_UP in receipt:
                raise GivenUp(receipt[GIVEN_UP])
            watch(receipt)


def _receipts(
    assignment: Assignment, orders: Sequence[Order], workers: WorkersConfig, placement: Placement
) -> Iterator[Receipt]:
    import ray

    _hush()
    rows = [{"order": write_order(order)} for order in orders]
    with warnings.catch_warnings():  # Ray has no other name yet for `max_task_retries`
        warnings.simplefilter("ignore", DeprecationWarning)
        receipts = ray.data.from_items(rows, override_num_blocks=len(rows)).map_batches(
            Worker,
            fn_constructor_args=(assignment, placement.gpus),
            batch_size=1,
            compute=ray.data.ActorPoolStrategy(
                min_size=workers.min,
                max_size=workers.max,
                max_tasks_in_flight_per_actor=SHARDS_AT_ONCE,
                max_concurrent_calls_per_actor=SHARDS_AT_ONCE,
            ),
            max_task_retries=-1,  # attempts.py says when a shard is given up
            **placement.ray_options,
        )
    try:
        for row in receipts.iter_rows():
            yield json.loads(row["receipt"])
    except ray.exceptions.RayActorError as error:
        raise GivenUp(
            f"the workers were lost ({type(error).__name__}), and Ray could start no others; what "
            "was committed is kept, and a rerun resumes. Ray's logs say more"
        ) from error


def _hush() -> None:
    """Ray Data's own bars and notes; ours say what matters to the user."""
    import ray.data

    context = ray.data.DataContext.get_current()
    context.enable_progress_bars = False
    context.print_on_execution_start = False
    context.autoscaling_config.actor_pool_util_upscaling_threshold = 1.0  # all that may be asked
    for name in ("ray.data", "ray"):
        logging.getLogger(name).setLevel(logging.ERROR)
