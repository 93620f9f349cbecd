"""A model with one answer for all documents to a question that is about none of them.

The steps of `geval` are written from an axis' name and description alone: they are asked once, kept
with the briefs, and served to every other document, run and worker. Where two workers ask at the
same moment, the answer that was kept first is everybody's.

    briefs/common/4e1d….json   {"text": "1. Read the summary …", "finish": "stop", "prompt": "…"}
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from evaljudge.model import Model
from evaljudge.model.asks import (
    Chosen,
    Failed,
    Options,
    Prompt,
    Sample,
    Vector,
    Weighed,
    Writing,
    Written,
)

Find = Callable[[str], Mapping[str, Any] | None]
Keep = Callable[[str, Mapping[str, Any]], bool]
"""Whether it was kept: not, where another answer was there first."""
Name = Callable[[Prompt, Writing], str]


class Common:
    def __init__(self, model: Model, find: Find, keep: Keep, name: Name) -> None:
        self._model, self._find, self._keep, self._name = model, find, keep, name
        self._turns: dict[str, asyncio.Lock] = {}
        self._known: dict[str, Written] = {}

    async def write(self, prompts: Sequence[Prompt], how: Writing) -> list[Written | Failed]:
        is_free = how.n == 1 and how.schema is None and how.regex is None
        ours = [is_free and prompt.is_common for prompt in prompts]
        others = [prompt for prompt, is_ours in zip(prompts, ours, strict=True) if not is_ours]
        replies = iter(await self._model.write(others, how) if others else [])
        return [
            await self._write(prompt, how) if is_ours else next(replies)
            for prompt, is_ours in zip(prompts, ours, strict=True)
        ]

    async def _write(self, prompt: Prompt, how: Writing) -> Written | Failed:
        name = self._name(prompt, how)
        async with self._turns.setdefault(name, asyncio.Lock()):
            if name in self._known:
                return self._known[name]
            reply = await self._find_or_ask(name, prompt, how)
            if isinstance(reply, Written):
                self._known[name] = replace(reply, spent=())
            return reply

    async def _find_or_ask(self, name: str, prompt: Prompt, how: Writing) -> Written | Failed:
        if (known := await asyncio.to_thread(self._find, name)) is not None:
            return _read(known)
        (reply,) = await self._model.write([prompt], how)
        if isinstance(reply, Failed):
            return reply
        sample = reply.samples[0]
        said = {"text": sample.text, "finish": sample.finish, "prompt": prompt.text}
        if await asyncio.to_thread(self._keep, name, said):
            return reply
        first = await asyncio.to_thread(self._find, name)
        return replace(_read(first or said), spent=reply.spent)

    async def choose(
        self, prompts: Sequence[Prompt], options: Options, samples: int = 0
    ) -> list[Chosen | Failed]:
        return await self._model.choose(prompts, options, samples)

    async def weigh(
        self, prompts: Sequence[Prompt], texts: Sequence[str]
    ) -> list[Weighed | Failed]:
        return await self._model.weigh(prompts, texts)

    async def embed(self, texts: Sequence[str], encoder: str) -> list[Vector]:
        return await self._model.embed(texts, encoder)


def _read(said: Mapping[str, Any]) -> Written:
    return Written((Sample(said["text"], said["finish"]),))
