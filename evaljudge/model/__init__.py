"""The protocol between judges and whatever answers them.

Engines are models. Other models stand around a model: one that remembers (nothing is asked twice)
and one that counts (asks and tokens). Others need none: one that imagines (for `plan`), one that is
scripted (for tests). Each verb takes a list and keeps its order.
"""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Protocol

from evaljudge.model.asks import (
    Chosen,
    Failed,
    ModelRating,
    Options,
    Prompt,
    Rating,
    Vector,
    Weighed,
    Writing,
    Written,
)

__all__ = ["Model", "ModelAround"]


class Model(Protocol):
    async def write(self, prompts: Sequence[Prompt], how: Writing) -> list[Written | Failed]: ...

    async def choose(
        self, prompts: Sequence[Prompt], options: Options, samples: int = 0
    ) -> list[Chosen | Failed]: ...

    async def weigh(
        self, prompts: Sequence[Prompt], texts: Sequence[str]
    ) -> list[Weighed | Failed]: ...

    async def rate(
        self, prompts: Sequence[Prompt], texts: Sequence[str], how: Rating
    ) -> list[ModelRating | Failed]:
        """A number for each text after its prompt, by a model that was trained for this alone."""

    async def embed(self, texts: Sequence[str], encoder: str) -> list[Vector]:
        """Unit vectors, from a sentence encoder beside the model; not counted as an ask."""


Places = Sequence[int]
Ask = Callable[[Places], Awaitable[list[Any]]]  # asks about the prompts in these places


class ModelAround:
    """A model around a model, which asks the inner one whatever it does not do itself. What it does
    of every verb alike, it does in `_each`."""

    def __init__(self, model: Model) -> None:
        self._model = model

    async def _each(
        self, prompts: Sequence[Prompt], wanted: Callable[[int], str], ask: Ask
    ) -> list[Any]:
        """`wanted`: what is wanted of the prompt in this place, as a text."""
        return await ask(range(len(prompts)))

    async def write(self, prompts: Sequence[Prompt], how: Writing) -> list[Written | Failed]:
        def ask(at: Places) -> Awaitable[list[Any]]:
            return self._model.write([prompts[n] for n in at], how)

        return await self._each(prompts, lambda _: repr(how), ask)

    async def choose(
        self, prompts: Sequence[Prompt], options: Options, samples: int = 0
    ) -> list[Chosen | Failed]:
        def ask(at: Places) -> Awaitable[list[Any]]:
            return self._model.choose([prompts[n] for n in at], options, samples)

        return await self._each(prompts, lambda _: repr(options), ask)

    async def weigh(
        self, prompts: Sequence[Prompt], texts: Sequence[str]
    ) -> list[Weighed | Failed]:
        def ask(at: Places) -> Awaitable[list[Any]]:
            return self._model.weigh([prompts[n] for n in at], [texts[n] for n in at])

        return await self._each(prompts, lambda n: f"weigh {texts[n]!r}", ask)

    async def rate(
        self, prompts: Sequence[Prompt], texts: Sequence[str], how: Rating
    ) -> list[ModelRating | Failed]:
        def ask(at: Places) -> Awaitable[list[Any]]:
            return self._model.rate([prompts[n] for n in at], [texts[n] for n in at], how)

        return await self._each(prompts, lambda n: f"rate {texts[n]!r} {how!r}", ask)

    async def embed(self, texts: Sequence[str], encoder: str) -> list[Vector]:
        return await self._model.embed(texts, encoder)
