"""A model around an engine that keeps its replies, and asks no more than a purse allows.

Where a run stops at a cap, what was answered about its open cases is kept, so that the next go does
not ask it again. Replies of batch files come back in the same way.

    replies/00003.json   {"4e1d…": {"samples": [{"text": "1. Read the …", "finish": "stop"}], …}, …}

A key is a digest of the whole question, so a reply belongs to no other.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Protocol

from pydantic import TypeAdapter

from evaljudge.errors import Unasked
from evaljudge.model import Model, ModelAround
from evaljudge.model.asks import Chosen, Options, Prompt, Writing
from evaljudge.model.counting import Reply
from evaljudge.model.remembering import digest

Amounts = tuple[float, float, float]
"""Asks, tokens, and money."""
_REPLY = TypeAdapter[Reply](Reply)


@dataclass(frozen=True, slots=True)
class Ask:
    """A question as it reaches an engine."""

    prompt: Prompt
    how: Writing | Options | str
    """A text is one that is weighed."""

    @property
    def key(self) -> str:
        return digest(self.prompt, repr(self.how)).hex()


class Purse(Protocol):
    async def take(self, asks: Sequence[Ask]) -> Sequence[Amounts]:
        """What is set aside for each of these that may be asked now, from the first on; nothing
        where none may be asked any more."""

    async def settle(self, held: Sequence[Amounts], replies: Sequence[Reply] | None) -> None:
        """`replies`: None where it is not known what was spent."""


class Keeping(ModelAround):
    """`had`: the replies that are known by their keys, as they are stored. `new` are those of a
    model with a purse."""

    def __init__(self, model: Model, purse: Purse | None, had: Mapping[str, Any]) -> None:
        super().__init__(model)
        self._purse, self._had, self.new = purse, had, dict[str, Any]()

    async def write(self, prompts: Sequence[Prompt], how: Writing) -> list[Any]:
        asks = [Ask(prompt, how) for prompt in prompts]
        return await self._each(
            asks, lambda some: self._model.write([prompts[n] for n in some], how)
        )

    async def choose(
        self, prompts: Sequence[Prompt], options: Options, samples: int = 0
    ) -> list[Any]:
        asks = [Ask(prompt, options) for prompt in prompts]
        return await self._each(
            asks, lambda some: self._model.choose([prompts[n] for n in some], options)
        )

    async def weigh(self, prompts: Sequence[Prompt], texts: Sequence[str]) -> list[Any]:
        asks = [Ask(prompt, text) for prompt, text in zip(prompts, texts, strict=True)]
        return await self._each(
            asks,
            lambda some: self._model.weigh([prompts[n] for n in some], [texts[n] for n in some]),
        )

    async def _each(
        self, asks: Sequence[Ask], ask: Callable[[Sequence[int]], Awaitable[Sequence[Reply]]]
    ) -> list[Reply]:
        """`ask` asks for those at these indices."""
        keys = [each.key for each in asks]
        replies = {n: reply_of(self._had[key]) for n, key in enumerate(keys) if key in self._had}
        left = [n for n in range(len(asks)) if n not in replies]
        while left and self._purse:
            held = await self._purse.take([asks[n] for n in left])
            if not held:
                raise Unasked
            now, left, came = left[: len(held)], left[len(held) :], None
            try:
                came = await ask(now)
                replies |= zip(now, came, strict=True)
                self.new |= {keys[n]: plain(replies[n]) for n in now}
            finally:
                await self._purse.settle(held, came)
        if left:
            replies |= zip(left, await ask(left), strict=True)
        return [replies[n] for n in range(len(asks))]


def plain(reply: Reply) -> dict[str, Any]:
    """A reply for JSON. Blocks of a prefix cache are left out: they are counted in one process."""
    made = asdict(replace(reply, spent=tuple(replace(s, blocks=()) for s in reply.spent)))
    return made | ({"key": str(reply.key)} if isinstance(reply, Chosen) else {})


def reply_of(stored: Mapping[str, Any]) -> Reply:
    return _REPLY.validate_python(stored)
