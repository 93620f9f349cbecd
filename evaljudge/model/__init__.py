"""The protocol between judges and whatever answers them.

Engines are models. Other models stand around a model: one that remembers (nothing is asked twice)
and one that counts (asks and tokens). Others need none: one that imagines (for `plan`), one that is
scripted (for tests). Each verb takes a list and keeps its order.
"""

from collections.abc import Sequence
from typing import Protocol

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


class ModelAround:
    """A model around a model, which asks the inner one whatever it does not do itself."""

    def __init__(self, model: Model) -> None:
        self._model = model

    async def write(self, prompts: Sequence[Prompt], how: Writing) -> list[Written | Failed]:
        return await self._model.write(prompts, how)

    async def choose(
        self, prompts: Sequence[Prompt], options: Options, samples: int = 0
    ) -> list[Chosen | Failed]:
        return await self._model.choose(prompts, options, samples)

    async def weigh(
        self, prompts: Sequence[Prompt], texts: Sequence[str]
    ) -> list[Weighed | Failed]:
        return await self._model.weigh(prompts, texts)

    async def rate(
        self, prompts: Sequence[Prompt], texts: Sequence[str], how: Rating
    ) -> list[ModelRating | Failed]:
        return await self._model.rate(prompts, texts, how)

    async def embed(self, texts: Sequence[str], encoder: str) -> list[Vector]:
        return await self._model.embed(texts, encoder)
