"""Ray's actors: their rows are turns, in which they do orders of the board until none is left.

    {"turn": 3} -> {"ending": b"…"}

A turn ends with the error that ends the run, if there is one, and whether that is at once.

What workers have committed they count at Prometheus' endpoint of each of Ray's nodes:

    ray_evaljudge_asks_total{stage="judge", judge="synthetic"} 4032.0
"""

import asyncio
import json
import os
import signal
import sys
import threading
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import count
from typing import Any

from evaljudge.errors import EngineDead, GivenUp, Unasked, UserError
from evaljudge.execution.attempts import Here
from evaljudge.execution.measuring import MeasuringWork
from evaljudge.execution.protocol import Assignment, Event, Measuring, Order, Receipt
from evaljudge.execution.ray.board import Taken
from evaljudge.execution.shards import ShardWork, Superseded
from evaljudge.storage import Shard, expect_answers

COUNTERS = {
    "evaljudge_cases": ("Cases done.", ("stage",)),
    "evaljudge_asks": ("Questions put to a model.", ("stage", "judge")),
    "evaljudge_prompt_tokens": ("Prompt tokens of all requests.", ("stage", "judge")),
    "evaljudge_cached_tokens": ("Those from the prefix cache.", ("stage", "judge")),
    "evaljudge_generated_tokens": ("Tokens that came out.", ("stage", "judge")),
    "evaljudge_judge_seconds": (
        "Seconds of cases with a judge, waiting for the engine included; cases overlap.",
        ("stage", "judge"),
    ),
    "evaljudge_unscored": ("Texts and briefs without a score.", ("stage", "reason")),
}
WORKER_SECONDS = "evaljudge_worker_seconds"
"""How long a worker has been there, loading its model included."""
TOKENS = {
    "evaljudge_asks": "asks",
    "evaljudge_prompt_tokens": "prompt",
    "evaljudge_cached_tokens": "cached",
    "evaljudge_generated_tokens": "generated",
}


class Counters:
    def __init__(self) -> None:
        from ray.util.metrics import Counter, Gauge

        self._counters = {
            name: Counter(name, description, tag_keys=labels)
            for name, (description, labels) in COUNTERS.items()
        }
        self._seconds = Gauge(WORKER_SECONDS, "Seconds since it began to load its model.")

    def add(self, receipt: Mapping[str, Any]) -> None:
        stage = receipt["stage"]
        self._add("evaljudge_cases", receipt["cases"], stage=stage)
        for judge, asked in receipt.get("asked", {}).items():
            labels = {"stage": stage, "judge": judge}
            for name, counted in TOKENS.items():
                self._add(name, asked["tokens"][counted], **labels)
            self._add("evaljudge_judge_seconds", asked["seconds"], **labels)
        for reason, times in receipt["reasons"].items():
            self._add("evaljudge_unscored", times, stage=stage, reason=reason)
        self._seconds.set(receipt["worker_seconds"])

    def _add(self, name: str, amount: float, **labels: str) -> None:
        if amount > 0:
            self._counters[name].inc(amount, tags=labels)


DEAD_ENGINE, LEFT = 70, 128 + signal.SIGTERM  # exit codes of workers, which Ray replaces then
Ending = tuple[UserError | GivenUp | None, bool]


class TurnTaker(ABC):
    """What every worker does with a turn. At SIGTERM it commits what it has in hand, and ends; what
    is done by then is saved at once, as it is when its machine is to go."""

    def __init__(self, board: Any, who: tuple[str, str, str]) -> None:
        """`board`: the handle of the actor with the orders; `who`: the worker's name there, its
        actor's and its node's."""
        expect_answers()
        self._board, self._who, self._name = board, who, who[0]
        self._tickets, self._counters = count(), Counters()
        self._here = _here(who[2], BoardNotes(board))
        self._loop: asyncio.AbstractEventLoop | None = None
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, self._on_signal)

    @abstractmethod
    def do(self, taken: Taken) -> AsyncIterator[Receipt]:
        """The receipt of each stage as it is committed."""

    @abstractmethod
    async def save(self) -> None:
        """What is done of the shards in hand."""

    async def take_turn(self) -> Ending:
        if self._loop is None:
            self._loop = asyncio.get_running_loop()
            self._noticing = asyncio.ensure_future(self._save_at_notice())
        while given := await self._board.take.remote(*self._who, next(self._tickets)):
            taken = Taken(*given)
            try:
                await self._do_unless_lost(taken)
            except EngineDead as error:  # Ray replaces this worker, which has no engine any more
                print(f"engine died: {error}", file=sys.stderr, flush=True)
                await self.save()
                os._exit(DEAD_ENGINE)
            except (UserError, GivenUp) as error:
                return error, True
        return None, False

    async def _do_unless_lost(self, taken: Taken) -> None:
        work = asyncio.create_task(self._do(taken))
        lost = asyncio.ensure_future(self._board.lost.remote(self._name, taken.shard))
        await asyncio.wait([work, lost], return_when=asyncio.FIRST_COMPLETED)
        for task in (work, lost):
            task.cancel()
        with suppress(asyncio.CancelledError, Superseded):
            try:
                await work
            except Unasked:
                await self._board.unasked.remote(self._name, taken.shard)

    async def _do(self, taken: Taken) -> None:
        async for receipt in self.do(taken):
            if receipt["worker"] == self._here.worker:  # else an earlier one's, who counted it
                self._counters.add(receipt)
            await self._board.committed.remote(self._name, receipt)

    async def _save_at_notice(self) -> None:
        await self._board.notice.remote(self._name)
        await self.save()

    def _on_signal(self, *_: object) -> None:
        if self._loop is None:
            os._exit(LEFT)
        self._loop.call_soon_threadsafe(lambda: asyncio.ensure_future(self._leave()))

    async def _leave(self) -> None:
        try:
            leaving = self.save(), self._board.leaves.remote(self._name)
            await asyncio.gather(*leaving, return_exceptions=True)
        finally:
            os._exit(LEFT)


class Worker(TurnTaker):
    def __init__(
        self,
        board: Any,
        who: tuple[str, str, str],
        assignment: Assignment,
        gpus: float,
        is_capped: bool,
    ) -> None:
        super().__init__(board, who)
        self._refusal: UserError | GivenUp | None = None
        name = self._name

        def tell(events: Sequence[Event]) -> None:
            board.post.remote(name, list(map(tuple, events)))

        budget = partial(board.spend.remote, name), partial(board.settle.remote, name)
        try:
            self._work = ShardWork(
                assignment,
                self._here,
                gpus=gpus,
                tell=tell,
                may_commit=partial(board.may_commit.remote, name),
                budget=budget if is_capped else None,
            )
            tell([Event("loaded")])
        except (UserError, GivenUp) as error:  # said by the driver; a retry would not help
            self._refusal = error

    async def take_turn(self) -> Ending:
        return (self._refusal, False) if self._refusal else await super().take_turn()

    async def save(self) -> None:
        await self._work.save()

    async def do(self, taken: Taken) -> AsyncIterator[Receipt]:
        shard, stages, text, is_again, is_copy = taken
        order = Order.read(text, stages=stages, is_copy=is_copy)
        order = replace(order, is_again=is_again or order.is_again)
        try:
            async for receipt in self._work.do(order):
                yield receipt
        except (asyncio.CancelledError, Superseded):
            self._work.drop(shard)
            raise


class Measurer(TurnTaker):
    def __init__(self, board: Any, who: tuple[str, str, str], measuring: Measuring) -> None:
        super().__init__(board, who)
        self._work = MeasuringWork(measuring, self._here)

    async def do(self, taken: Taken) -> AsyncIterator[Receipt]:
        shard, names = json.loads(taken.text)
        yield await asyncio.to_thread(self._work.measure, Shard(*shard), names)

    async def save(self) -> None:
        """Nothing: what a shard's metrics give is written with the shard."""


@dataclass
class BoardNotes:
    board: Any

    def attempt(self, name: str) -> dict[str, Any]:
        import ray

        return dict(ray.get(self.board.attempt.remote(name)))

    def note_attempt(self, name: str, note: Mapping[str, Any]) -> None:
        import ray

        ray.get(self.board.note_attempt.remote(name, dict(note)))


def _here(node: str, notes: BoardNotes) -> Here:
    import ray

    def is_up(node: str) -> bool:
        return any(entry["Alive"] for entry in ray.nodes() if entry["NodeID"] == node)

    return Here(f"{os.uname().nodename}-{os.getpid()}", node, is_up, notes)
