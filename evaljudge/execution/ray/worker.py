"""Ray's actors: their rows are orders of shards, and what they give back are receipts.

    {"order": '{"shard": {"number": 3, …}, …}'} -> {"receipt": '{"shard": 3, …}'}
    {"order": '[[3, 32, 96], ["rouge1"]]'} -> {"receipt": '{"stage": "measure", …}'}

What ends the run instead is a receipt too: `refused` (the user can correct it) or `given up`. Where
the driver ends after the shards in hand, the receipt of any other says `not begun`.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from typing import Any

from evaljudge.errors import Damaged, EngineDead, GivenUp, UserError
from evaljudge.execution.attempts import Here
from evaljudge.execution.measuring import MeasuringWork
from evaljudge.execution.protocol import Assignment, Event, Measuring, read_order
from evaljudge.execution.ray.board import Counters
from evaljudge.execution.shards import ShardWork
from evaljudge.storage import Shard, expect_answers

DEAD_ENGINE = 70
REFUSED, GIVEN_UP, AT_ONCE, DAMAGED = "refused", "given up", "at once", "damaged"
UNBEGUN = "not begun"
FINISHING = "finishing"
"""The note by which the driver says that no other shard is to be begun."""


class Worker:
    def __init__(self, assignment: Assignment, gpus: float, board: Any) -> None:
        """`board`: the handle of the actor for events (see board.py)."""
        import ray

        expect_answers()
        self._ending: dict[str, Any] = {}
        self._output, self._session = assignment.open_output(), assignment.session
        self._counters, self._name = Counters(), f"{os.uname().nodename}-{os.getpid()}"
        here = Here(self._session, self._name, ray.get_runtime_context().get_node_id(), _is_up)
        try:
            self._work = ShardWork(assignment, here, gpus=gpus, tell=board.post.remote)
            board.post.remote([Event("loaded")])
        except (UserError, GivenUp) as error:  # said by the driver; a retry would not help
            self._ending = _ending(error)

    async def __call__(self, batch: dict[str, Any]) -> dict[str, Any]:
        if self._ending:
            return {"receipt": [json.dumps(self._ending)]}
        receipts: list[dict[str, Any]] = []
        for order in map(read_order, batch["order"]):
            if await asyncio.to_thread(self._is_finishing):
                receipts.append({UNBEGUN: True})
                continue
            try:
                done = await self._work.do(order)
            except EngineDead as error:  # Ray replaces this worker, which has no engine any more
                print(f"engine died: {error}", file=sys.stderr, flush=True)
                os._exit(DEAD_ENGINE)
            except (UserError, GivenUp) as error:
                receipts.append(_ending(error) | {AT_ONCE: True})
                continue
            for receipt in done:
                if receipt["worker"] == self._name:  # else an earlier one's, who counted it
                    self._counters.add(receipt)
            receipts += done
        return {"receipt": [json.dumps(receipt) for receipt in receipts]}

    def _is_finishing(self) -> bool:
        return bool(self._output.attempt(FINISHING).get("session") == self._session)


class Measurer:
    def __init__(self, measuring: Measuring) -> None:
        import ray

        expect_answers()
        worker = ray.get_runtime_context().get_actor_id()
        self._work, self._counters = MeasuringWork(measuring, worker), Counters()

    async def __call__(self, batch: dict[str, Any]) -> dict[str, Any]:
        return {"receipt": [json.dumps(self._receipt(order)) for order in batch["order"]]}

    def _receipt(self, order: str) -> dict[str, Any]:
        shard, names = json.loads(order)
        try:
            receipt = self._work.measure(Shard(*shard), names)
        except (UserError, GivenUp) as error:
            return _ending(error)
        self._counters.add(receipt)
        return receipt


def _is_up(node: str) -> bool:
    import ray

    return any(entry["Alive"] for entry in ray.nodes() if entry["NodeID"] == node)


def _ending(error: UserError | GivenUp) -> dict[str, Any]:
    if isinstance(error, Damaged):
        return {REFUSED: str(error), DAMAGED: error.args}
    return {REFUSED if isinstance(error, UserError) else GIVEN_UP: str(error)}


def ended(receipt: dict[str, Any]) -> UserError | GivenUp | None:
    """What a receipt says has ended the run, as the error that it was."""
    if DAMAGED in receipt:
        return Damaged(*receipt[DAMAGED])
    if REFUSED in receipt:
        return UserError(receipt[REFUSED])
    return GivenUp(receipt[GIVEN_UP]) if GIVEN_UP in receipt else None
