"""Ray's actors: their rows are orders of shards, and what they give back are receipts.

    {"order": '{"shard": {"number": 3, …}, …}'} -> {"receipt": '{"shard": 3, …}'}
    {"order": '[[3, 32, 96, ""], ["rouge1"]]'} -> {"receipt": '{"stage": "measure", …}'}

What ends the run instead is a receipt too: `refused` (the user can correct it) or `given up`. Where
the driver ends after the shards in hand, the receipt of any other says `not begun`.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

from evaljudge.errors import Damaged, EngineDead, GivenUp, UserError
from evaljudge.execution.attempts import Here
from evaljudge.execution.measuring import MeasuringWork
from evaljudge.execution.protocol import Assignment, Event, Measuring, Order
from evaljudge.execution.ray.board import Counters
from evaljudge.execution.shards import ShardWork
from evaljudge.storage import Shard, expect_answers

DEAD_ENGINE = 70
REFUSED, GIVEN_UP, AT_ONCE, DAMAGED = "refused", "given up", "at once", "damaged"
UNBEGUN = "not begun"


class Worker:
    def __init__(self, assignment: Assignment, gpus: float, board: Any) -> None:
        """`board`: the handle of the actor for events (see board.py)."""
        expect_answers()
        self._ending: dict[str, Any] = {}
        self._board, self._counters = board, Counters()
        self._here = _here(assignment.session)
        try:
            self._work = ShardWork(assignment, self._here, gpus=gpus, tell=board.post.remote)
            board.post.remote([Event("loaded")])
        except (UserError, GivenUp) as error:  # said by the driver; a retry would not help
            self._ending = _ending(error)

    async def __call__(self, batch: dict[str, Any]) -> dict[str, Any]:
        if self._ending:
            return {"receipt": [json.dumps(self._ending)]}
        receipts: list[dict[str, Any]] = []
        for order in map(Order.read, batch["order"]):
            if await self._board.is_finishing.remote():
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
                if receipt["worker"] == self._here.worker:  # else an earlier one's, who counted it
                    self._counters.add(receipt)
            receipts += done
        return {"receipt": [json.dumps(receipt) for receipt in receipts]}


class Measurer:
    def __init__(self, measuring: Measuring) -> None:
        expect_answers()
        self._work = MeasuringWork(measuring, _here(measuring.session))
        self._counters = Counters()

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


def _here(session: str) -> Here:
    import ray

    def is_up(node: str) -> bool:
        return any(entry["Alive"] for entry in ray.nodes() if entry["NodeID"] == node)

    name, node = f"{os.uname().nodename}-{os.getpid()}", ray.get_runtime_context().get_node_id()
    return Here(session, name, node, is_up)


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
