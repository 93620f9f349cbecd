"""vLLM's engine in this very process, stepped by one thread; batches come from an asyncio loop.

In-process on purpose: it was 1.3 to 1.8 times as fast on the CPU build as an engine in a process
of its own, and a worker that is killed takes its engine along: no `VLLM::` process is left behind.

Python's cost for each request limits how fast a small model can be asked, so a batch has one
future for all its requests, and what a reply makes necessary is asked by the engine's own thread.

Judges ask about a document in several rounds. A round that waited behind the first rounds of all
other documents would find its prefixes gone from the cache, so the batch of an earlier turn goes
first: here, and in the engine's own queue (`scheduling_policy: priority`).
"""

import asyncio
import queue
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import Any

from evaljudge.engines.internals import shut_down
from evaljudge.errors import EngineDead

Ids = tuple[int, ...]
Request = tuple[Ids, Any]  # a prompt, and vLLM's sampling parameters
Further = Callable[[int, list[Any]], Sequence[Request]]
"""The requests that an ask still needs, by its number and the outputs that it has so far."""
MOST_ADDED = 256
"""The most requests added between two steps, so that a new batch does not hold up the engine."""


class _Batch:
    """Asks that were made together; `future` has the outputs of each when all have finished."""

    def __init__(self, size: int, further: Further, turn: int) -> None:
        self.future: asyncio.Future[list[list[Any]]] = asyncio.get_running_loop().create_future()
        self.further, self.turn = further, turn
        self.outputs: list[list[Any]] = [[] for _ in range(size)]
        self.unfinished = [0] * size
        self.left = size

    def settle(self, outcome: list[list[Any]] | BaseException) -> None:
        def settle() -> None:
            if self.future.done():
                return
            if isinstance(outcome, BaseException):
                self.future.set_exception(outcome)
            else:
                self.future.set_result(outcome)

        with suppress(RuntimeError):  # the loop was closed: nobody waits any more
            self.future.get_loop().call_soon_threadsafe(settle)


@dataclass(frozen=True, slots=True)
class _Ask:
    """One request: of which ask of a batch, and where its output stands among those of the ask."""

    batch: _Batch
    number: int
    place: int


class Steps:
    """Feeds requests to the engine, the earliest turn's first, and steps it while there are any."""

    def __init__(self, engine: Any, adapter: Any = None) -> None:
        """`adapter`: vLLM's LoRARequest, if every request is to be answered with one."""
        self._engine, self._adapter = engine, adapter
        self._asked: queue.SimpleQueue[tuple[_Batch, Sequence[Request]] | None]
        self._asked = queue.SimpleQueue()
        self._ready: list[tuple[int, int, _Ask, Request]] = []
        """A heap: by turn, then in the order asked."""
        self._running: dict[str, _Ask] = {}
        self._count = 0
        self._thread = threading.Thread(target=self._run, name="engine-steps", daemon=True)
        self._thread.start()

    async def ask(
        self, requests: Sequence[Request], further: Further = lambda *_: (), turn: int = 0
    ) -> list[list[Any]]:
        """The finished outputs of each request, and of those that `further` adds to it."""
        if not requests:
            return []
        batch = _Batch(len(requests), further, turn)
        self._asked.put((batch, requests))
        return await batch.future

    def close(self) -> None:
        """End the engine now: the garbage collector could do so later, when another engine of this
        process uses what vLLM's engines share."""
        self._asked.put(None)
        self._thread.join(timeout=30)
        shut_down(self._engine)

    def _run(self) -> None:
        try:
            while self._take_asked():
                for _ in range(min(MOST_ADDED, len(self._ready))):
                    self._add(*heappop(self._ready)[1:])
                for output in self._engine.step() if self._running else ():
                    if output.finished:
                        self._finish(self._running.pop(output.request_id), output)
        except BaseException as error:  # whoever waits, or will ask, gets it
            dead = EngineDead(f"{type(error).__name__}: {error}")
            for ask in (*self._running.values(), *(ask for _, _, ask, _ in self._ready)):
                ask.batch.settle(dead)
            while asked := self._asked.get():
                asked[0].settle(dead)

    def _take_asked(self) -> bool:
        """Takes the new batches; waits for one when there is nothing else to do."""
        while True:
            try:
                asked = self._asked.get(block=not self._ready and not self._running)
            except queue.Empty:
                return True
            if asked is None:
                return False
            batch, requests = asked
            for number, request in enumerate(requests):
                self._open(batch, number, [request])

    def _open(self, batch: _Batch, number: int, requests: Sequence[Request]) -> None:
        batch.unfinished[number], outputs = len(requests), batch.outputs[number]
        for request in requests:
            self._count += 1
            ask = _Ask(batch, number, len(outputs))
            outputs.append(None)
            heappush(self._ready, (batch.turn, self._count, ask, request))

    def _add(self, number: int, ask: _Ask, request: Request) -> None:
        from vllm.inputs import tokens_input

        if ask.batch.future.cancelled():  # its run was interrupted, and the engine is kept
            return
        ids, how = request
        name = str(number)
        try:
            self._engine.add_request(
                *(name, tokens_input(list(ids)), how),
                lora_request=self._adapter,
                priority=ask.batch.turn,
            )
        except ValueError as error:  # vLLM refuses this one request; the engine lives on
            ask.batch.settle(error)
        else:
            self._running[name] = ask

    def _finish(self, ask: _Ask, output: Any) -> None:
        batch, number = ask.batch, ask.number
        batch.outputs[number][ask.place] = output
        batch.unfinished[number] -= 1
        if batch.unfinished[number]:
            return
        try:
            more = batch.further(number, batch.outputs[number])
        except Exception as error:  # whatever it is, it is this batch's and not the engine's
            batch.settle(error)
            return
        if more:
            self._open(batch, number, more)
            return
        batch.left -= 1
        if not batch.left:
            batch.settle(batch.outputs)
