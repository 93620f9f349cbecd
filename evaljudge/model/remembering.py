"""A model that remembers: within one case nothing is asked twice."""

from __future__ import annotations

from asyncio import Future, gather, get_running_loop
from collections.abc import Awaitable, Callable, Hashable, Sequence
from dataclasses import replace
from typing import Any

from evaljudge.asks import Chosen, Failed, Options, Prompt, Weighed, Writing, Written
from evaljudge.model import Model


class Remembering:
    """Answers from memory what was asked before, or is being asked now.

    A remembered reply has spent nothing. Failures are remembered too: the content that made a
    reply impossible has not changed.
    """

    def __init__(self, model: Model) -> None:
        self._model = model
        self._memory: dict[Hashable, Future[Any]] = {}

    async def write(self, prompts: Sequence[Prompt], how: Writing) -> list[Written | Failed]:
        async def ask(indices: list[int]) -> list[Written | Failed]:
            return await self._model.write([prompts[i] for i in indices], how)

        return await self._recall([("write", p, how) for p in prompts], ask)

    async def choose(
        self, prompts: Sequence[Prompt], options: Options, samples: int = 0
    ) -> list[Chosen | Failed]:
        async def ask(indices: list[int]) -> list[Chosen | Failed]:
            return await self._model.choose([prompts[i] for i in indices], options, samples)

        return await self._recall([("choose", p, options, samples) for p in prompts], ask)

    async def weigh(
        self, prompts: Sequence[Prompt], texts: Sequence[str]
    ) -> list[Weighed | Failed]:
        async def ask(indices: list[int]) -> list[Weighed | Failed]:
            return await self._model.weigh(
                [prompts[i] for i in indices], [texts[i] for i in indices]
            )

        keys = [("weigh", p, t) for p, t in zip(prompts, texts, strict=True)]
        return await self._recall(keys, ask)

    async def _recall(
        self, keys: Sequence[Hashable], ask: Callable[[list[int]], Awaitable[list[Any]]]
    ) -> list[Any]:
        new: dict[Hashable, int] = {}
        for index, key in enumerate(keys):
            if key not in self._memory:
                self._memory[key] = get_running_loop().create_future()
                new[key] = index
        if new:
            await self._learn(new, ask)
        replies = await gather(*(self._memory[key] for key in keys))
        first_asked = set(new.values())
        return [
            reply if index in first_asked else replace(reply, spent=())
            for index, reply in enumerate(replies)
        ]

    async def _learn(
        self, new: dict[Hashable, int], ask: Callable[[list[int]], Awaitable[list[Any]]]
    ) -> None:
        try:
            replies = await ask(list(new.values()))
        except BaseException:
            for key in new:  # whoever waits for these belongs to this case, which ends here
                self._memory.pop(key).cancel()
            raise
        for key, reply in zip(new, replies, strict=True):
            self._memory[key].set_result(reply)
