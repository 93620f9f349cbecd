"""A Ray actor with one engine; its rows are shards to do, what it gives back are receipts.

    {"order": '{"shard": [3, 32, 96], "stages": ["judge"], …}'} -> {"receipt": '{"shard": 3, …}'}

What ends the run instead is a receipt too: `refused` (the user's to mend) or `given up`.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

from evaljudge.errors import EngineDead, GivenUp, UserError
from evaljudge.execution.attempts import Here, Loading
from evaljudge.execution.orders import Assignment, read_order
from evaljudge.execution.shards import ShardWork

DEAD_ENGINE = 70
REFUSED, GIVEN_UP, OF_ALL = "refused", "given up", "of all"


class Worker:
    def __init__(self, assignment: Assignment, gpus: float) -> None:
        self._ending: dict[str, Any] = {}
        try:
            self._work = _begin(assignment, gpus)
        except (UserError, GivenUp) as error:  # said by the driver; a retry would not mend it
            self._ending = _ending(error) | {OF_ALL: True}

    async def __call__(self, batch: dict[str, Any]) -> dict[str, Any]:
        if self._ending:
            return {"receipt": [json.dumps(self._ending)]}
        receipts: list[dict[str, Any]] = []
        for order in map(read_order, batch["order"]):
            try:
                receipts += await self._work.do(order)
            except EngineDead as error:  # a worker without its engine is of no use: be replaced
                print(f"engine died: {error}", file=sys.stderr, flush=True)
                os._exit(DEAD_ENGINE)
            except (UserError, GivenUp) as error:
                receipts.append(_ending(error))
        return {"receipt": [json.dumps(receipt) for receipt in receipts]}


def _begin(assignment: Assignment, gpus: float) -> ShardWork:
    import ray

    context = ray.get_runtime_context()
    worker = f"{os.uname().nodename}-{os.getpid()}"
    here = Here(assignment.session, worker, context.get_node_id(), _lives)
    loading = Loading(assignment.open_output(), context.get_actor_id(), here)
    work = ShardWork(assignment, here, gpus=gpus)
    loading.end()
    return work


def _lives(node: str) -> bool:
    import ray

    return any(known["Alive"] for known in ray.nodes() if known["NodeID"] == node)


def _ending(error: UserError | GivenUp) -> dict[str, Any]:
    return {REFUSED if isinstance(error, UserError) else GIVEN_UP: str(error)}
