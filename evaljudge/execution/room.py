"""The cases that are open at once over one engine: some together, or a single one alone.

A case that ends in an error closes the room: the engine may have died of it, and whoever went in
after it would be taken for the cause. Those who still wait get the same error.
"""

from __future__ import annotations

from asyncio import Condition
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager


class Room:
    """Those who came first enter first; who wants to be alone lets nobody in before him."""

    def __init__(self, size: int) -> None:
        self._size, self._taken, self._wanting_all = size, 0, 0
        self._changed = Condition()
        self._error: BaseException | None = None

    def among_others(self) -> AbstractAsyncContextManager[None]:
        return self._taking(1)

    def alone(self) -> AbstractAsyncContextManager[None]:
        return self._taking(self._size)

    @asynccontextmanager
    async def _taking(self, places: int) -> AsyncIterator[None]:
        async with self._changed:
            await self._turn(places)
            self._taken += places
        try:
            yield
        except BaseException as error:
            self._error = self._error or error
            raise
        finally:
            async with self._changed:
                self._taken -= places
                self._changed.notify_all()

    async def _turn(self, places: int) -> None:
        wants_all = places == self._size
        self._wanting_all += wants_all
        try:
            await self._changed.wait_for(lambda: self._error or self._has(places, wants_all))
        finally:
            self._wanting_all -= wants_all
        if self._error:
            raise self._error

    def _has(self, places: int, wants_all: bool) -> bool:
        is_next = wants_all or not self._wanting_all
        return is_next and self._taken + places <= self._size
