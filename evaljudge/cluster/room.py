"""The cases that are open at once over one engine: some together, or a single one alone."""

from __future__ import annotations

from asyncio import Condition
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class Room:
    """Those who came first enter first; who wants to be alone lets nobody in before him."""

    def __init__(self, size: int) -> None:
        self._size, self._inside, self._wanting, self._alone = size, 0, 0, False
        self._changed = Condition()

    @asynccontextmanager
    async def among_others(self) -> AsyncIterator[None]:
        async with self._changed:
            await self._changed.wait_for(self._is_free)
            self._inside += 1
        try:
            yield
        finally:
            async with self._changed:
                self._inside -= 1
                self._changed.notify_all()

    @asynccontextmanager
    async def alone(self) -> AsyncIterator[None]:
        async with self._changed:
            self._wanting += 1
            await self._changed.wait_for(lambda: not self._inside and not self._alone)
            self._wanting -= 1
            self._alone = True
        try:
            yield
        finally:
            async with self._changed:
                self._alone = False
                self._changed.notify_all()

    def _is_free(self) -> bool:
        return not self._alone and not self._wanting and self._inside < self._size
