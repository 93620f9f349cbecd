"""A model around an engine that keeps its replies, and asks no more than a purse allows.

Where a run stops at a cap, what was answered about its open cases is kept, so that the next go does
not ask it again. Replies of batch files come back in the same way.

    replies/00003.json   {"4e1d…": {"samples": [{"text": "1. Read the …", "finish": "stop"}], …}, …}

A key is a digest of the whole question, so a reply belongs to no other.
"""

from collections.abc import Mapping, Sequence
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
    """`had`: the replies that are known by their keys, as they are stored."""

    def __init__(self, model: Model, purse: Purse, had: Mapping[str, Any]) -> None:
        super().__init__(model)
        self._purse, self._had, self.new = purse, had, dict[str, Any]()

    async def write(self, prompts: Sequence[Prompt], how: Writing) -> list[Any]:
        return await self._each([Ask(prompt, how) for prompt in prompts])

    async def choose(
        self, prompts: Sequence[Prompt], options: Options, samples: int = 0
    ) -> list[Any]:
        return await self._each([Ask(prompt, options) for prompt in prompts])

    async def weigh(self, prompts: Sequence[Prompt], texts: Sequence[str]) -> list[Any]:
        return await self._each([Ask(*both) for both in zip(prompts, texts, strict=True)])

    async def _each(self, asks: Sequence[Ask]) -> list[Reply]:
        keys = [each.key for each in asks]
        replies = {n: reply_of(self._had[key]) for n, key in enumerate(keys) if key in self._had}
        left = [n for n in range(len(asks)) if n not in replies]
        while left:
            held, came = await self._purse.take([asks[n] for n in left]), None
            if not held:
                raise Unasked
            now, left = left[: len(held)], left[len(held) :]
            try:
                came = await self._answers([asks[n] for n in now])
            finally:
                await self._purse.settle(held, came)
            replies |= zip(now, came, strict=True)
            self.new |= {keys[n]: plain(replies[n]) for n in now}
        return [replies[n] for n in range(len(asks))]

    async def _answers(self, asks: Sequence[Ask]) -> Sequence[Reply]:
        prompts, how = [ask.prompt for ask in asks], asks[0].how
        if isinstance(how, Writing):
            return await self._model.write(prompts, how)
        if isinstance(how, Options):
            return await self._model.choose(prompts, how)
        return await self._model.weigh(prompts, [str(ask.how) for ask in asks])


def plain(reply: Reply) -> dict[str, Any]:
    """A reply for JSON. Blocks of a prefix cache are left out: they are counted in one process."""
    made = asdict(replace(reply, spent=tuple(replace(s, blocks=()) for s in reply.spent)))
    return made | ({"key": str(reply.key)} if isinstance(reply, Chosen) else {})


def reply_of(stored: Mapping[str, Any]) -> Reply:
    return _REPLY.validate_python(stored)
