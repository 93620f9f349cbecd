"""Notes that a worker leaves for its successors, so that a case that kills its workers is found.

    00003          {"worker": "host-71", "node": "a81…", "deaths": 1, "killed": {"d17": 1}, …}
    alone-host-71  {"shard": "00003", "doc_id": "d17"}
    measure-00003  {"worker": …, "killed": {"bertscore d7": 2}, "well": 5}

A shard is begun with all its cases at once. If its worker dies on a node that is still up, the next
worker opens one case at a time, with nothing else open over the engine, and notes which. A case is
quarantined after its third death, two of them alone. A node that is gone (preempted, say) took its
workers with it, which is no case's fault; nor is a death while a case of another shard was alone.
A worker that measures does the same; what is quarantined is a case for a metric.

On Ray the notes are the board's (ray/board.py), those of a local run lie in a temporary folder of
its machine (local.py). No storage sees any.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, nullcontext
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Protocol

from evaljudge.errors import GivenUp

ENGINE_DIED = "engine died"
DEATHS_ALONE = 2
MOST_DEATHS = 10  # deaths of a shard's workers for which no case is to blame
MOST_KILLERS = 8
"""Quarantined cases of a shard in which none ended well: then the engine is at fault."""
MOST_LOADS = 3
EARLY_DEATH = (
    "before it could begin; too little memory for its model, or a package (of a metric, say) that "
    "fails as it is imported, is the first suspect, and the workers' own log, in the folder `logs` "
    "of Ray's session, says more"
)
LOADING_KILLS = f"a worker died {MOST_LOADS} times {EARLY_DEATH}"


class CaseSlots:
    """Slots for the cases open at once over one engine; a case that must be alone takes them all.
    Cases enter in the order in which they came. An error in a case may mean that the engine died:
    all that wait get the same error, so that no later case is taken for the cause."""

    def __init__(self, size: int) -> None:
        self._size, self._taken, self._wanting_all = size, 0, 0
        self._changed = asyncio.Condition()
        self._error: BaseException | None = None

    @asynccontextmanager
    async def take(self, *, alone: bool = False) -> AsyncIterator[None]:
        slots = self._size if alone else 1
        async with self._changed:
            self._wanting_all += alone
            try:
                await self._changed.wait_for(lambda: self._error or self._are_free(slots, alone))
            finally:
                self._wanting_all -= alone
            if self._error:
                raise self._error
            self._taken += slots
        try:
            yield
        except BaseException as error:
            if not isinstance(error, asyncio.CancelledError):
                self._error = self._error or error
            raise
        finally:
            async with self._changed:
                self._taken -= slots
                self._changed.notify_all()

    def _are_free(self, slots: int, alone: bool) -> bool:
        return (alone or not self._wanting_all) and self._taken + slots <= self._size


@dataclass
class Note:
    worker: str
    node: str
    deaths: int = 0
    killed: dict[str, int] = field(default_factory=dict)
    well: int = 0  # cases that were alone and ended well


class Notes(Protocol):
    def attempt(self, name: str) -> dict[str, Any]: ...

    def note_attempt(self, name: str, note: dict[str, Any]) -> None:
        """An empty note is none."""


@dataclass(frozen=True)
class Here:
    worker: str
    node: str
    lives: Callable[[str], bool]
    notes: Notes

    def predecessor(self, name: str) -> Note | None:
        """The note of the attempt before, with its death counted, as this worker's; None if this is
        the first."""
        if not (left := self.notes.attempt(name)):
            return None
        note = Note(**left)
        if note.worker != self.worker and self.lives(note.node):
            alone = self.notes.attempt(f"alone-{note.worker}")
            if not alone:
                note.deaths += 1
            elif alone["shard"] == name:
                note.killed[alone["doc_id"]] = note.killed.get(alone["doc_id"], 0) + 1
        return replace(note, worker=self.worker, node=self.node)


class Attempt:
    def __init__(self, name: str, here: Here) -> None:
        self._name, self._here, self._notes = name, here, here.notes
        before = here.predecessor(name)
        self.is_first, self._note = before is None, before or Note(here.worker, here.node)
        hopeless = len(self.quarantined) >= MOST_KILLERS and not self._note.well
        if hopeless or self._note.deaths >= MOST_DEATHS:
            times = self._note.deaths + sum(self._note.killed.values())
            raise GivenUp(
                f"shard {name}: its worker died {times} times (the log, on Ray the workers' own, "
                "says why), so the work was given up"
            )
        self._write()

    @property
    def is_careful(self) -> bool:
        """One case at a time: after the first death, which is never a single case's."""
        return self._note.deaths > 0

    @property
    def quarantined(self) -> set[str]:
        return {doc for doc, times in self._note.killed.items() if times >= DEATHS_ALONE}

    @asynccontextmanager
    async def opening(self, doc_id: str, slots: CaseSlots) -> AsyncIterator[None]:
        async with slots.take(alone=self.is_careful):
            with self.alone(doc_id) if self.is_careful else nullcontext():
                yield

    @contextmanager
    def alone(self, what: str) -> Iterator[None]:
        """Noted, so that a death within this block is known to be of this case."""
        alone = f"alone-{self._here.worker}"
        self._notes.note_attempt(alone, {"shard": self._name, "doc_id": what})
        yield
        self._note.well += 1
        self._write()
        self._notes.note_attempt(alone, {})

    def end(self) -> None:
        self._notes.note_attempt(self._name, {})

    def _write(self) -> None:
        self._notes.note_attempt(self._name, asdict(self._note))
