"""Shards done in this process, over one engine: for laptops, notebooks and tests. No Ray.

The work of a shard and its commits are those of Ray's workers. An engine that dies is opened again
here. If that fails (a GPU may be lost to the whole process) or if the process crashes, the next run
counts the death: a case that is the cause each time is quarantined by the third rerun. A process
that was killed from outside (`kill -9`, a power cut) accuses no case: to tell them apart, Python
writes a fatal signal to a file, which the next run looks for. The notes of attempts lie beside it,
in this machine's temporary folder, so a run that goes on elsewhere knows of no crash.
"""

import asyncio
import faulthandler
import json
import os
import shutil
import sys
import tempfile
import uuid
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

from evaljudge.engines import ModelSource
from evaljudge.engines.internals import CUDA_BUILD, installed_build
from evaljudge.errors import (
    TERMINATED,
    Crashed,
    Ended,
    EngineDead,
    GivenUp,
    Unasked,
    UserError,
    finishing,
    first_words,
)
from evaljudge.execution.attempts import Here
from evaljudge.execution.budget import Budget
from evaljudge.execution.measuring import MeasuringWork
from evaljudge.execution.protocol import (
    Assignment,
    Event,
    Executor,
    Measuring,
    Order,
    R,
    Receipt,
    T,
    Watch,
    tell_receipt,
)
from evaljudge.execution.shards import ShardWork, shards_at_once
from evaljudge.storage import Output, Shard
from evaljudge.storage.failures import refusing_disk_errors


class LocalExecutor(Executor):
    def __init__(self, out: str) -> None:
        self._out = out

    def ask(
        self, assignment: Assignment, orders: Sequence[Order], watch: Watch, budget: Budget | None
    ) -> None:
        with noting_crashes(assignment.output.uri) as notes:
            left = {order.shard: order for order in orders}
            _Asking(assignment, left, watch, budget, notes).do_all()

    def in_order(self, work: Callable[[T], R], items: Sequence[T]) -> Iterator[R]:
        return Output(self._out).ahead(work, items)

    def measure(
        self, measuring: Measuring, lacking: Mapping[Shard, Sequence[str]], watch: Watch
    ) -> None:
        with noting_crashes(measuring.output.uri) as notes:
            work = MeasuringWork(measuring, _here(notes))
            for shard, names in lacking.items():
                if finishing.is_set():
                    raise Ended(TERMINATED)
                tell_receipt(watch, work.measure(shard, names))


@dataclass
class _Asking:
    """All orders of one pool: as many shards at once as one of Ray's workers does."""

    assignment: Assignment
    left: dict[Shard, Order]
    watch: Watch
    budget: Budget | None
    notes: "LocalNotes"
    unasked: bool = False

    def do_all(self) -> None:
        """Engines are opened outside the loop, where an interrupt finds them."""
        dead: EngineDead | None = None
        while self.left:
            if finishing.is_set():
                raise Ended(TERMINATED)
            self.watch(Event("loading"))
            with _crashed_after(dead):
                work = self._opened()
            self.watch(Event("loaded"))
            try:
                dead = complete(self._do_while_it_lives(work))
            except Ended:  # a step of the engine may take longer than this process has
                raise
            except BaseException:
                with suppress(Exception):  # what ended the work says more
                    work.close()
                raise
            with _crashed_after(dead):
                work.close()
            if dead and self.left and not finishing.is_set():
                message = f"the engine died and is loaded again: {dead}"
                print(message, file=sys.stderr, flush=True)
        if self.unasked:
            raise Unasked

    def _opened(self) -> ShardWork:
        def tell(events: Sequence[Event]) -> None:
            for event in events:
                self.watch(event)

        here, all_of_it, gpus = _here(self.notes), self.budget, _gpus(self.assignment.source)
        mine = (partial(all_of_it.take, ""), partial(all_of_it.settle, "")) if all_of_it else None
        return ShardWork(self.assignment, here, gpus=gpus, tell=tell, budget=mine)

    async def _do_while_it_lives(self, work: ShardWork) -> EngineDead | None:
        """What the engine died of, if it did, once all shards that were begun have ended."""
        waiting, dead = iter(list(self.left.values())), list[EngineDead]()

        async def take_turns() -> None:
            while not (dead or finishing.is_set()) and (order := next(waiting, None)):
                receipts = list[Receipt]()
                try:
                    async for receipt in work.do(order):
                        receipts.append(receipt)
                except EngineDead as error:
                    dead.append(error)
                    return
                except Unasked:
                    self.unasked = True
                    if self.budget and self.budget.is_over:
                        self.left.clear()
                        return
                self.left.pop(order.shard, None)
                for receipt in receipts:
                    tell_receipt(self.watch, receipt)

        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(shards_at_once(self.left, self.assignment.source)):
                    group.create_task(take_turns())
        except ExceptionGroup as errors:
            raise errors.exceptions[0] from None
        except asyncio.CancelledError:  # a signal ends this process
            await work.save()
            raise
        if dead:
            await work.save()
        return dead[0] if dead else None


@contextmanager
def _crashed_after(dead: EngineDead | None) -> Iterator[None]:
    """After an engine died, any error here means that this process cannot go on."""
    try:
        yield
    except Exception as error:
        if dead is None or isinstance(error, GivenUp):
            raise
        raise Crashed(
            f"the engine died ({dead}), and another cannot be loaded in this process "
            f"({first_words(error)}): run it again to go on"
        ) from error


@dataclass
class LocalNotes:
    """Notes of attempts in a folder of this machine; one that its process died over is none."""

    folder: Path

    def attempt(self, name: str) -> dict[str, Any]:
        with suppress(OSError, ValueError):
            return dict(json.loads((self.folder / name).read_text()))
        return {}

    def note_attempt(self, name: str, note: Mapping[str, Any]) -> None:
        with refusing_disk_errors(f"{self.folder}", "written"):
            self.folder.mkdir(exist_ok=True)
            (self.folder / name).write_text(json.dumps(note))
            if not note:
                (self.folder / name).unlink()


@contextmanager
def noting_crashes(out: str) -> Iterator[LocalNotes]:
    name = f"evaljudge-{os.getuid()}-{sha256(out.encode()).hexdigest()[:16]}"
    file = Path(tempfile.gettempdir(), f"{name}.crash")
    notes = LocalNotes(file.with_suffix(".notes"))
    cause = file.read_text(errors="replace").partition("\n")[0] if file.exists() else ""
    if cause:
        line = f"the run before crashed ({cause}); the documents it was at are done one at a time"
        print(line, file=sys.stderr, flush=True)
    else:
        shutil.rmtree(notes.folder, ignore_errors=True)
    with refusing_disk_errors(f"{file}", "written"):
        file.write_text("")
    was_enabled = faulthandler.is_enabled()
    with file.open("a") as faults:
        faulthandler.enable(faults)
        try:
            yield notes
        except Crashed as error:
            print(error, file=faults)
            raise
        finally:
            faulthandler.disable()
            if was_enabled:
                faulthandler.enable(sys.__stderr__ or 2)
            if not faults.tell():
                file.unlink(missing_ok=True)
                shutil.rmtree(notes.folder, ignore_errors=True)


def _gpus(source: ModelSource) -> float:
    """How many GPUs the engine holds, for what the run costs."""
    try:
        return source.gpus_per_engine if installed_build() == CUDA_BUILD else 0
    except UserError:  # no vLLM here: the engines are the user's own
        return 0


def _here(notes: LocalNotes) -> Here:
    """With a name of its own: in a container each process may have the same number."""
    name = f"{os.uname().nodename}-{os.getpid()}-{uuid.uuid4().hex[:8]}"
    return Here(name, "", lambda _: True, notes)


def complete(work: Coroutine[Any, Any, R]) -> R:
    """Run it in this thread, or in another where this one runs a notebook's event loop; then an
    interrupt of this thread ends the work in that one."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    begun: Future[tuple[asyncio.AbstractEventLoop, asyncio.Task[R]]] = Future()

    async def noted() -> R:
        task = asyncio.ensure_future(work)
        begun.set_result((asyncio.get_running_loop(), task))
        return await task

    with ThreadPoolExecutor(1) as thread:
        ending = thread.submit(asyncio.run, noted())
        try:
            return ending.result()
        except BaseException:
            if not ending.done():
                loop, task = begun.result()
                loop.call_soon_threadsafe(task.cancel)
            raise
