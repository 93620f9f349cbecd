"""What a run may spend at most: one budget for all its workers, and what each worker pays from it.

    Budget(most=(1000, inf, 20.0), spent=(400, 1.2e6, 8.5))     asks, tokens, money

For what is being asked something is held, at the rate of what was answered before. So as much is
asked at once as the budget has room for, and it ends within what the last asks cost beyond that.
On Ray the budget is the board's, whose process must import nothing of evaljudge (ray/board.py).
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from itertools import takewhile
from typing import Any

from evaljudge.model import Ask, Model, ModelAround
from evaljudge.model.asks import UNASKED, Prompt
from evaljudge.model.counting import Reply, cost
from evaljudge.records import MILLION

Amounts = tuple[float, float, float]  # asks, tokens, and money
Mine = tuple[
    Callable[[list[Amounts]], Awaitable[int]], Callable[[Amounts, Amounts], Awaitable[None]]
]
NOTHING: Amounts = (0.0, 0.0, 0.0)


def added(one: Amounts, other: Amounts, times: int = 1) -> Amounts:
    asks, tokens, money = (a + times * b for a, b in zip(one, other, strict=True))
    return asks, tokens, money


class Budget:
    def __init__(self, most: Amounts, spent: Amounts) -> None:
        self.most, self.spent, self.is_over = most, spent, False
        self._held = dict[str, Amounts]()
        self._waiting = list[asyncio.Event]()

    def has_room(self) -> bool:
        sums = [sum(each) for each in zip(self.spent, *self._held.values(), strict=True)]
        return all(there < most for there, most in zip(sums, self.most, strict=True))

    async def take(self, who: str, wanted: Sequence[Amounts]) -> int:
        """How many of these may be asked now, from the first on; 0: none any more."""
        while not self.is_over:
            fit = sum(1 for _ in takewhile(lambda each: self._holds(who, each), wanted))
            if fit:
                return fit
            if not any(asks for asks, *_ in self._held.values()):
                self.is_over = True
            else:
                self._waiting.append(settled := asyncio.Event())
                await settled.wait()
        return 0

    def _holds(self, who: str, amounts: Amounts) -> bool:
        if not self.has_room():
            return False
        self._held[who] = added(self._held.get(who, NOTHING), amounts)
        return True

    async def settle(self, who: str, held: Amounts, spent: Amounts) -> None:
        asks, tokens, money = added(self._held.get(who, NOTHING), held, -1)
        self._held[who] = max(0, asks), tokens, money  # a board that was lost knew of more
        self._spend(spent)

    def _spend(self, amounts: Amounts) -> None:
        self.spent = added(self.spent, amounts)
        for waiting in self._waiting:
            waiting.set()
        self._waiting.clear()

    def bury(self, who: str) -> None:
        """What a worker was asking when it died may have been answered."""
        self._spend(self._held.pop(who, NOTHING))


class Paying(ModelAround):
    """A worker's engine, which is asked as much as the budget allows; the rest gets UNASKED.
    `mine`: the budget's `take` and `settle`, for this worker; `price`: of a million tokens;
    `per_second`: what the worker's own time costs, since then."""

    def __init__(
        self,
        model: Model,
        mine: Mine,
        price: Sequence[float],
        per_second: float,
        since: float,
        thoughts: tuple[int, int] = (0, 0),
    ) -> None:
        """`thoughts`: how many there are before an answer, and how many tokens each may have."""
        super().__init__(model)
        self._thoughts = thoughts
        (self._take, self._settle), self._price, self._per_second = mine, price, per_second
        self._since, self._came = since, NOTHING  # what was answered so far, and what it cost

    async def _each(
        self, prompts: Sequence[Prompt], wanted: Callable[[int], str], ask: Ask
    ) -> list[Any]:
        replies = list[Any]()
        while left := prompts[len(replies) :]:
            each = self._cost_of_one(left)
            fit = await self._take([each] * len(left))
            if not fit:
                return replies + [UNASKED] * len(left)
            came = None
            try:
                came = await ask(range(len(replies), len(replies) + fit))
            finally:
                await self._pay((each[0] * fit, each[1] * fit, each[2] * fit), came)
            replies += came
        return replies

    def _cost_of_one(self, prompts: Sequence[Prompt]) -> Amounts:
        """The mean of those before; at first, a token for each character."""
        answered, tokens, money = self._came
        if answered:
            return 1.0, tokens / answered, money / answered
        size = sum(len(part) for prompt in prompts for part in prompt.parts) / len(prompts)
        samples, most = self._thoughts
        size += samples * (size + 2 * most)
        return 1.0, size, size * max(self._price) / MILLION

    async def _pay(self, held: Amounts, replies: Sequence[Reply] | None) -> None:
        """`replies`: None where it is not known what was spent."""
        spent, now = held, time.monotonic()
        if replies is not None:
            tokens, time_cost = cost(replies), (now - self._since) * self._per_second
            money = tokens.priced(self._price) + time_cost
            spent = (float(tokens.asks), float(tokens.prompt + tokens.generated), money)
            self._came = added(self._came, spent)
        self._since = now
        await self._settle(held, spent)
