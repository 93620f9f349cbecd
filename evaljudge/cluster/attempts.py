"""What a worker notes for its successors, so that a case that kills its workers is found.

    attempts/00003.json  {"session": "1f0c…", "worker": "host-71", "node": "a81…", "deaths": 2,
                          "alone": "d17", "killed": {"d17": 1}}

A shard is begun with all its cases at once. If its worker dies, on a node that lives on, it is done
again with care: one case at a time and nothing else open over the engine, noting which. So the
third death that befalls a case, two of them with it alone, is laid at its door: it is set aside. A
node that is gone (preempted, say) took its workers with it: that is no case's doing.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, field, replace

from evaljudge.cluster.room import Room
from evaljudge.errors import GivenUp
from evaljudge.storage import Output

ENGINE_DIED = "engine died"
DEATHS_ALONE = 2
MOST_DEATHS = 10
"""One shard is not tried for ever."""
MOST_LOADS = 3
Lives = Callable[[str], bool]
"""Whether a node does."""


@dataclass
class Note:
    session: str
    worker: str
    node: str
    deaths: int = 0
    alone: str | None = None
    killed: dict[str, int] = field(default_factory=dict)

    def count_death(self) -> None:
        self.deaths += 1
        if self.alone:
            self.killed[self.alone] = self.killed.get(self.alone, 0) + 1


@dataclass(frozen=True)
class Here:
    """The worker that tries, and how it knows which nodes live."""

    session: str
    worker: str
    node: str
    lives: Lives

    def predecessor(self, output: Output, name: str) -> Note | None:
        """What the attempt before left, its death counted; nothing where this is the first."""
        left = output.attempt(name)
        if left.get("session") != self.session:
            return None
        note = Note(**left)
        if note.worker != self.worker and self.lives(note.node):
            note.count_death()
        return note

    def succeed(self, before: Note | None) -> Note:
        mine = Note(self.session, self.worker, self.node)
        return replace(mine, deaths=before.deaths, killed=before.killed) if before else mine


class Attempt:
    """One try of a shard."""

    def __init__(self, output: Output, name: str, here: Here) -> None:
        self._output, self._name = output, name
        before = here.predecessor(output, name)
        self.is_first, self._note = before is None, here.succeed(before)
        if self._note.deaths >= MOST_DEATHS:
            raise GivenUp(
                f"{output.uri}: shard {name}: its worker died {MOST_DEATHS} times, so the work was "
                "given up; what was committed is kept, and a rerun resumes. Ray's logs of the "
                "workers say why they died"
            )
        output.note_attempt(name, asdict(self._note))

    @property
    def is_careful(self) -> bool:
        return bool(self._note.deaths)

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
            await self._note_alone(doc_id)
            yield
            await self._note_alone(None)

    def end(self) -> None:
        self._output.forget_attempt(self._name)

    async def _note_alone(self, doc_id: str | None) -> None:
        self._note.alone = doc_id
        await asyncio.to_thread(self._output.note_attempt, self._name, asdict(self._note))


class Loading:
    """A worker that dies while it loads its engine is restarted by Ray, but not for ever."""

    def __init__(self, output: Output, actor: str, here: Here) -> None:
        self._output, self._name = output, f"loading-{actor}"
        note = here.succeed(here.predecessor(output, self._name))
        if note.deaths >= MOST_LOADS:
            raise GivenUp(
                f"{output.uri}: a worker died {MOST_LOADS} times while it loaded its model; Ray's "
                "logs of the workers say why (too little memory is the first suspect)"
            )
        output.note_attempt(self._name, asdict(note))

    def end(self) -> None:
        self._output.forget_attempt(self._name)
