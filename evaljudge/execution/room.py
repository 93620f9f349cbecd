"""The cases that are open at once over one engine: some together, or a single one alone.

A case that ends in an error closes the room: the engine may have died of it, and whoever went in
after it would be taken for the cause. Those who still wait get the same error.
"""

from __future__ import annotations

from asyncio import Condition
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager


class Room:
    """Those who came first enter first; who wants to be alone lets nobody in before him."""

    def __init__(self, size: int) -> None:
        self._size, self._inside, self._wanting, self._alone = size, 0, 0, False
        self._changed = Condition()
        self._error: BaseException | None = None

    @asynccontextmanager
    async def among_others(self) -> AsyncIterator[None]:
        async with self._changed:
            await self._turn(self._is_free)
            self._inside += 1
        try:
            yield
        except BaseException as error:
            self._error = self._error or error
            raise
        finally:
            async with self._changed:
                self._inside -= 1
                self._changed.notify_all()

    @asynccontextmanager
    async def alone(self) -> AsyncIterator[None]:
        async with self._changed:
            self._wanting += 1
            await self._turn(lambda: not self._inside and not self._alone)
            self._wanting -= 1
            self._alone = True
        try:
            yield
        except BaseException as error:
            self._error = self._error or error
            raise
        finally:
            async with self._changed:
                self._alone = False
                self._changed.notify_all()

    async def _turn(self, is_free: Callable[[], bool]) -> None:
        await self._changed.wait_for(lambda: self._error is not None or is_free())
        if self._error is not None:
            raise self._error

    def _is_free(self) -> bool:
        return not self._alone and not self._wanting and self._inside < self._size
