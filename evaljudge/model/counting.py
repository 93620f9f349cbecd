"""A model that counts what was asked, what it cost, and the least that it could have cost."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from evaljudge.model import Ask, Model, ModelAround
from evaljudge.model.asks import Chosen, Failed, ModelRating, Prompt, Spent, Weighed, Written
from evaljudge.records import Tokens

Reply = Written | Chosen | Weighed | ModelRating | Failed
LOW_MASS = 0.5


@dataclass(frozen=True, slots=True)
class Masses:
    """How much of the model's probability the options held: over all choices, and how often low;
    and how much of it their spellings that were not followed may hold, in any choice. Then the
    thoughts before these choices, and how many were cut."""

    choices: int = 0
    total: float = 0.0
    low: int = 0
    left_out: float = 0.0
    thoughts: int = 0
    cut: int = 0

    def __add__(self, other: "Masses") -> "Masses":
        sums = self.choices + other.choices, self.total + other.total, self.low + other.low
        thoughts = self.thoughts + other.thoughts, self.cut + other.cut
        return Masses(*sums, max(self.left_out, other.left_out), *thoughts)


class CountingModel(ModelAround):
    """Counts the asks of one judge on one case that reach the inner model.

    The floor of prefilled tokens: the template heads' blocks once per worker (`heads`, shared by
    all cases), every further distinct full block once per case (`blocks`, shared by all judges),
    and each prompt's own tail.
    """

    def __init__(
        self, model: Model, heads: set[int] | None = None, blocks: set[int] | None = None
    ) -> None:
        super().__init__(model)
        self._heads: set[int] = set() if heads is None else heads
        self._blocks: set[int] = set() if blocks is None else blocks
        self.tokens = Tokens()
        self.masses = Masses()

    async def _each(
        self, prompts: Sequence[Prompt], wanted: Callable[[int], str], ask: Ask
    ) -> list[Any]:
        replies = await super()._each(prompts, wanted, ask)
        self.count(replies)
        return replies

    def count(self, replies: Sequence[Reply]) -> None:
        for reply in replies:
            if isinstance(reply, Chosen):
                mass = reply.mass
                thoughts = len(reply.thoughts), reply.cut_thoughts
                self.masses += Masses(1, mass, int(mass < LOW_MASS), reply.left_out, *thoughts)
        floor = sum(self._floor(spent) for reply in replies for spent in reply.spent)
        self.tokens += cost(replies) + Tokens(floor=floor)

    def _floor(self, spent: Spent) -> int:
        size = spent.block_size
        served = (spent.prompt - 1) // size if size else 0  # blocks that a cache could serve
        in_head = min(spent.head, served)
        known = len(self._heads) + len(self._blocks)
        self._heads.update(spent.blocks[:in_head])
        self._blocks.update(spent.blocks[in_head:served])
        new = len(self._heads) + len(self._blocks) - known
        self._blocks.update(spent.blocks[served:])
        return new * size + spent.prompt - served * size


def cost(replies: Iterable[Reply]) -> Tokens:
    """What these replies cost together, without the floor."""
    asked = [reply.spent for reply in replies if reply.spent]
    spent = [request for requests in asked for request in requests]
    return Tokens(
        asks=len(asked),
        requests=len(spent),
        prompt=sum(s.prompt for s in spent),
        cached=sum(s.cached for s in spent),
        generated=sum(s.generated for s in spent),
        further=sum(s.prompt for requests in asked for s in requests[1:]),
    )
