"""Models that remember: one within a case, one for what is common to all documents."""

import asyncio
import hashlib
from asyncio import Future, get_running_loop
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from types import MappingProxyType
from typing import Any

from pydantic import TypeAdapter

from evaljudge.errors import Unasked
from evaljudge.model import Ask, Model, ModelAround
from evaljudge.model.asks import UNASKED, Chosen, Failed, Options, Prompt, Sample, Writing, Written
from evaljudge.model.counting import Reply

_REPLY = TypeAdapter[Reply](Reply)
Find = Callable[[str], Mapping[str, Any] | None]
Keep = Callable[[str, Mapping[str, Any]], bool]
"""Whether it was kept; False where another answer was there first."""
Name = Callable[[Prompt, Writing], str]


class Memory:
    """The replies that one case has, by a digest of the question: the prompts would be most of a
    worker's memory. `had`: those that were kept of it (execution/case.py), as they are stored."""

    def __init__(self, had: Mapping[str, Any] = MappingProxyType({})) -> None:
        self.asked, self._had = dict[bytes, Future[Reply]](), dict(had)

    def __len__(self) -> int:
        return len(self.asked) + len(self._had)

    def had(self, key: bytes) -> Reply | None:
        stored = self._had.get(key.hex())
        return None if stored is None else _REPLY.validate_python(stored)

    def to_keep(self) -> dict[str, Any]:
        done = ((key, asked) for key, asked in self.asked.items() if asked.done())
        return self._had | {
            key.hex(): _plain(asked.result()) for key, asked in done if not asked.cancelled()
        }


def _plain(reply: Reply) -> Reply:
    """Blocks of a prefix cache are left out: they are counted in one process."""
    reply = replace(reply, spent=tuple(replace(each, blocks=()) for each in reply.spent))
    return replace(reply, key=str(reply.key)) if isinstance(reply, Chosen) else reply


class Remembering(ModelAround):
    """Answers from memory what was asked before in this case, or is being asked now, by any judge.

    A remembered reply has spent nothing. Failures are remembered too: the content that made a
    reply impossible has not changed. Samples are drawn from what is remembered, so that a judge
    that samples and one that reads the probabilities ask the same question once.

    Where a question may not be put to the model now, what else was asked is remembered, and the
    judge ends as Unasked.
    """

    def __init__(self, model: Model, memory: Memory | None = None) -> None:
        super().__init__(model)
        self._memory = Memory() if memory is None else memory

    def _count(self, had: list[Reply]) -> None:
        """Replies of an earlier worker, which nobody has counted here."""

    async def choose(
        self, prompts: Sequence[Prompt], options: Options, samples: int = 0
    ) -> list[Chosen | Failed]:
        replies = await super().choose(prompts, options)
        return [r.drawn(samples) if samples and isinstance(r, Chosen) else r for r in replies]

    async def _each(
        self, prompts: Sequence[Prompt], wanted: Callable[[int], str], ask: Ask
    ) -> list[Any]:
        """Asks about those in the places where a question is new."""
        keys = [digest(prompt, wanted(place)) for place, prompt in enumerate(prompts)]
        asked, new = self._memory.asked, dict[bytes, int]()
        for index, key in enumerate(keys):
            if key not in asked:
                asked[key] = get_running_loop().create_future()
                new[key] = index
        if new:
            await self._learn(new, ask)
        replies = [await asked[key] for key in keys]
        first_asked = set(new.values())
        return [
            reply if index in first_asked else replace(reply, spent=())
            for index, reply in enumerate(replies)
        ]

    async def _learn(self, new: dict[bytes, int], ask: Ask) -> None:
        asked, found = self._memory.asked, ((key, self._memory.had(key)) for key in new)
        replies = {key: reply for key, reply in found if reply}
        self._count(list(replies.values()))
        left, came = [key for key in new if key not in replies], list[Reply]()
        try:
            came = await ask([new[key] for key in left]) if left else []
        finally:
            replies |= zip(left, came, strict=False)
            for key in new:
                if (reply := replies.get(key, UNASKED)) != UNASKED:
                    asked[key].set_result(reply)
                    continue
                waited_for = asked.pop(key)  # only by this case, and it ends here
                if came:  # nobody was cancelled
                    waited_for.set_exception(Unasked())
                    waited_for.exception()  # it may be that nobody waits
                waited_for.cancel()
        if UNASKED in came:
            raise Unasked


class Common(ModelAround):
    """A model with one answer for all documents to a question that is about none of them.

    The steps of `geval` are written from an axis' name and description alone: they are asked once,
    kept with the briefs, and served to every other document, run and worker. Where two workers ask
    at the same moment, the answer that was kept first is everybody's.
    """

    def __init__(self, model: Model, find: Find, keep: Keep, name: Name) -> None:
        super().__init__(model)
        self._find, self._keep, self._name = find, keep, name
        self._turns: dict[str, asyncio.Lock] = {}
        self._known: dict[str, Written] = {}

    @property
    def kept(self) -> list[str]:
        return list(self._known)

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
        if (kept := await asyncio.to_thread(self._find, name)) is not None:
            return _read(kept)
        (reply,) = await self._model.write([prompt], how)
        if isinstance(reply, Failed):
            return reply
        sample = reply.samples[0]
        content = {"text": sample.text, "finish": sample.finish, "prompt": prompt.text}
        if await asyncio.to_thread(self._keep, name, content):
            return reply
        first = await asyncio.to_thread(self._find, name)
        return replace(_read(first or content), spent=reply.spent)


def digest(prompt: Prompt, asked: str) -> bytes:
    rest = repr((prompt.head, prompt.about, asked)).encode()
    parts = b"".join(map(_digest_of_part, prompt.parts))
    return hashlib.blake2b(parts + rest, digest_size=20).digest()


@lru_cache(1024)
def _digest_of_part(text: str) -> bytes:
    """Most prompts of a case hold the same long texts."""
    return hashlib.blake2b(text.encode(errors="surrogatepass"), digest_size=20).digest()


def _read(content: Mapping[str, Any]) -> Written:
    return Written((Sample(content["text"], content["finish"]),))
