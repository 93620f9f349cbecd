"""A model that counts: what was asked, what it cost, and what it need not have cost less than."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeVar

from evaljudge.asks import Chosen, Failed, Options, Prompt, Spent, Weighed, Writing, Written
from evaljudge.model import Model
from evaljudge.records import Tokens

Reply = Written | Chosen | Weighed | Failed
R = TypeVar("R", Written | Failed, Chosen | Failed, Weighed | Failed)


class Counting:
    """Counts the asks of one case that reach the model beneath.

    The floor of prefilled tokens: the template heads' blocks once per worker (`heads`, shared by
    all cases), every further distinct full block once per case, and each prompt's own tail.
    """

    def __init__(self, model: Model, heads: set[int] | None = None) -> None:
        self._model = model
        self._heads = set() if heads is None else heads
        self._blocks: set[int] = set()
        self.tokens = Tokens()

    async def write(self, prompts: Sequence[Prompt], how: Writing) -> list[Written | Failed]:
        return self._count(await self._model.write(prompts, how))

    async def choose(
        self, prompts: Sequence[Prompt], options: Options, samples: int = 0
    ) -> list[Chosen | Failed]:
        return self._count(await self._model.choose(prompts, options, samples))

    async def weigh(
        self, prompts: Sequence[Prompt], texts: Sequence[str]
    ) -> list[Weighed | Failed]:
        return self._count(await self._model.weigh(prompts, texts))

    def _count(self, replies: list[R]) -> list[R]:
        for reply in replies:
            self.tokens += cost([reply])
            self.tokens += Tokens(floor=sum(map(self._floor, reply.spent)))
        return replies

    def _floor(self, spent: Spent) -> int:
        head, further = spent.blocks[: spent.head], spent.blocks[spent.head :]
        new = len(set(head) - self._heads) + len(set(further) - self._blocks)
        self._heads.update(head)
        self._blocks.update(further)
        return new * spent.block_size + spent.prompt - len(spent.blocks) * spent.block_size


def cost(replies: Iterable[Reply]) -> Tokens:
    """What these replies cost together, the floor apart."""
    total = Tokens()
    for reply in replies:
        total += Tokens(asks=1 if reply.spent else 0)
        for spent in reply.spent:
            total += Tokens(0, 1, spent.prompt, spent.cached, spent.generated)
    return total
