"""What a worker notes for its successors, so that a case that kills its workers is found.

    attempts/00003.json  {"session": "1f0c…", "worker": "host-71", "node": "a81…", "deaths": 1,
                          "killed": {"d17": 1}, "well": 5}
    attempts/alone-host-71.json  {"session": "1f0c…", "shard": "00003", "doc_id": "d17"}

A shard is begun with all its cases at once. If its worker dies, on a node that lives on, it is done
again with care: one case at a time and nothing else open over the engine, noting which. So the
third death that befalls a case, two of them with it alone, is laid at its door: it is set aside. A
node that is gone (preempted, say) took its workers with it: that is no case's doing; nor is a death
while another shard's case was alone any of this shard's.

Deaths are counted within a session: all that one driver has done. A local run's worker is the
driver, so there a session goes on from one crash to the next run (crashes.py).
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, field, replace

from evaljudge.errors import GivenUp, UserError
from evaljudge.execution.room import Room
from evaljudge.storage import Output

ENGINE_DIED = "engine died"
DEATHS_ALONE = 2
MOST_DEATHS = 10
"""Of a shard, by which no case is to blame."""
MOST_KILLERS = 8
"""In a row, none of a shard's cases ending well: then it is the engine, not the cases."""
MOST_LOADS = 3
Lives = Callable[[str], bool]
"""Whether a node does."""


@dataclass
class Note:
    session: str
    worker: str
    node: str
    deaths: int = 0
    killed: dict[str, int] = field(default_factory=dict)
    well: int = 0
    """Cases that were alone and ended well."""


@dataclass(frozen=True)
class Here:
    """The worker that tries, and how it knows which nodes live."""

    session: str
    """Of this driver: it stands in the receipts of the shards that are committed."""
    worker: str
    node: str
    lives: Lives
    deaths_within: str = ""
    """The session within which deaths are counted; the driver's own where none is named."""

    @property
    def counted_in(self) -> str:
        return self.deaths_within or self.session

    def predecessor(self, output: Output, name: str) -> Note | None:
        """What the attempt before left, its death counted; nothing where this is the first."""
        left = output.attempt(name)
        if left.get("session") != self.counted_in:
            return None
        note = Note(**left)
        if note.worker != self.worker and self.lives(note.node):
            self._count_death(output, name, note)
        return note

    def _count_death(self, output: Output, name: str, note: Note) -> None:
        alone = output.attempt(_alone(note.worker))
        if alone.get("session") != self.counted_in:
            note.deaths += 1
        elif alone["shard"] == name:
            note.killed[alone["doc_id"]] = note.killed.get(alone["doc_id"], 0) + 1

    def succeed(self, before: Note | None) -> Note:
        mine = Note(self.counted_in, self.worker, self.node)
        if before is None:
            return mine
        return replace(mine, deaths=before.deaths, killed=before.killed, well=before.well)


def _alone(worker: str) -> str:
    return f"alone-{worker}"


class Attempt:
    """One try of a shard."""

    def __init__(self, output: Output, name: str, here: Here) -> None:
        self._output, self._name, self._here = output, name, here
        before = here.predecessor(output, name)
        self.is_first, self._note = before is None, here.succeed(before)
        hopeless = len(self.aside) >= MOST_KILLERS and not self._note.well
        if hopeless or self._note.deaths >= MOST_DEATHS:
            times = self._note.deaths + sum(self._note.killed.values())
            raise GivenUp(
                f"{output.uri}: shard {name}: its worker died {times} times (the log, on Ray the "
                "workers' own, says why), so the work was given up"
            )
        self._write()

    @property
    def is_careful(self) -> bool:
        """After the first death, which is never a single case's."""
        return self._note.deaths > 0

    @property
    def aside(self) -> set[str]:
        """The documents whose cases have killed their workers."""
        return {doc for doc, times in self._note.killed.items() if times >= DEATHS_ALONE}

    @asynccontextmanager
    async def opening(self, doc_id: str, room: Room) -> AsyncIterator[None]:
        """A case's turn: among others, or alone and noted."""
        if not self.is_careful:
            async with room.among_others():
                yield
            return
        async with room.alone():
            await asyncio.to_thread(self._begin_alone, doc_id)
            yield
            await asyncio.to_thread(self._end_alone)

    def end(self) -> None:
        self._output.forget_attempt(self._name)

    def _begin_alone(self, doc_id: str) -> None:
        note = {"session": self._here.counted_in, "shard": self._name, "doc_id": doc_id}
        self._output.note_attempt(_alone(self._here.worker), note)

    def _end_alone(self) -> None:
        self._note.well += 1
        self._write()
        self._output.forget_attempt(_alone(self._here.worker))

    def _write(self) -> None:
        self._output.note_attempt(self._name, asdict(self._note))


class Loading:
    """A worker that dies while it loads its engine is replaced, but not for ever."""

    def __init__(self, output: Output, actor: str, here: Here) -> None:
        self._output, self._name = output, f"loading-{actor}"
        note = here.succeed(here.predecessor(output, self._name))
        if note.deaths >= MOST_LOADS:
            raise UserError(
                f"a worker died {MOST_LOADS} times while it loaded its model; too little memory is "
                "the first suspect, and the log (on Ray, the workers' own) says more: give it more "
                "memory, or take a smaller model"
            )
        output.note_attempt(self._name, asdict(note))

    def end(self) -> None:
        self._output.forget_attempt(self._name)
