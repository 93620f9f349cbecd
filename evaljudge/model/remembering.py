"""A model that remembers: within one case nothing is asked twice, whichever judge asks."""

from __future__ import annotations

import hashlib
from asyncio import Future, gather, get_running_loop
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Any

from evaljudge.model import Model
from evaljudge.model.asks import Chosen, Failed, Options, Prompt, Vector, Weighed, Writing, Written

Memory = dict[bytes, "Future[Any]"]
"""Replies by a digest of the question: the prompts would be most of a worker's memory."""


class Remembering:
    """Answers from memory what was asked before, or is being asked now.

    A remembered reply has spent nothing. Failures are remembered too: the content that made a
    reply impossible has not changed. Samples are drawn from what is remembered, so that a judge
    that samples and one that reads the probabilities ask the same question once.
    """

    def __init__(self, model: Model, memory: Memory | None = None) -> None:
        self._model = model
        self._memory: Memory = {} if memory is None else memory

    async def write(self, prompts: Sequence[Prompt], how: Writing) -> list[Written | Failed]:
        async def ask(indices: list[int]) -> list[Written | Failed]:
            return await self._model.write([prompts[i] for i in indices], how)

        return await self._recall([_digest("write", p, how) for p in prompts], ask)

    async def choose(
        self, prompts: Sequence[Prompt], options: Options, samples: int = 0
    ) -> list[Chosen | Failed]:
        async def ask(indices: list[int]) -> list[Chosen | Failed]:
            return await self._model.choose([prompts[i] for i in indices], options)

        replies = await self._recall([_digest("choose", p, options) for p in prompts], ask)
        if not samples:
            return replies
        return [r.drawn(samples) if isinstance(r, Chosen) else r for r in replies]

    async def weigh(
        self, prompts: Sequence[Prompt], texts: Sequence[str]
    ) -> list[Weighed | Failed]:
        async def ask(indices: list[int]) -> list[Weighed | Failed]:
            return await self._model.weigh(
                [prompts[i] for i in indices], [texts[i] for i in indices]
            )

        keys = [_digest("weigh", p, t) for p, t in zip(prompts, texts, strict=True)]
        return await self._recall(keys, ask)

    async def embed(self, texts: Sequence[str], encoder: str) -> list[Vector]:
        return await self._model.embed(texts, encoder)

    async def _recall(
        self, keys: Sequence[bytes], ask: Callable[[list[int]], Awaitable[list[Any]]]
    ) -> list[Any]:
        new: dict[bytes, int] = {}
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
        self, new: dict[bytes, int], ask: Callable[[list[int]], Awaitable[list[Any]]]
    ) -> None:
        try:
            replies = await ask(list(new.values()))
        except BaseException:
            for key in new:  # whoever waits for these belongs to this case, which ends here
                self._memory.pop(key).cancel()
            raise
        for key, reply in zip(new, replies, strict=True):
            self._memory[key].set_result(reply)


def _digest(verb: str, prompt: Prompt, told: object) -> bytes:
    return hashlib.blake2b(repr((verb, prompt, told)).encode(), digest_size=20).digest()
