"""What a run may spend at most: one budget for all its workers, and each worker's purse.

    Budget(most=(1000, inf, 20.0), spent=(400, 1.2e6, 8.5))     asks, tokens, money

For what is being asked something is held, at the rate of what was answered before. So as much is
asked at once as the budget has room for, and it ends within what the last asks cost beyond that.
On Ray the budget is the board's, whose process must import nothing of evaljudge (ray/board.py).
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from itertools import takewhile
from math import inf

from evaljudge.model.counting import Reply, cost
from evaljudge.model.keeping import Amounts, Ask
from evaljudge.records import MILLION

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


class WorkerPurse:
    """A worker's part in it. `take` and `settle`: the budget's, for this worker; `price`: of a
    million tokens; `per_second`: what the worker's own time costs."""

    def __init__(
        self,
        take: Callable[[list[Amounts]], Awaitable[int]],
        settle: Callable[[Amounts, Amounts], Awaitable[None]],
        price: Sequence[float],
        per_second: float,
    ) -> None:
        self._take, self._settle, self._price, self._per_second = take, settle, price, per_second
        self._since, self._came = time.monotonic(), NOTHING

    async def take(self, asks: Sequence[Ask]) -> list[Amounts]:
        """What each may cost: the mean of those before; at first, a token for each character."""
        answered, tokens, money = self._came
        size = sum(len(part) for ask in asks for part in ask.prompt.parts) / len(asks)
        each = (1.0, size, size * max(self._price) / MILLION)
        if answered:
            each = (1.0, tokens / answered, money / answered)
        return [each] * await self._take([each] * len(asks))

    async def settle(self, held: Sequence[Amounts], replies: Sequence[Reply] | None) -> None:
        a, b, c = zip(*held, strict=True)
        total = spent = (sum(a), sum(b), sum(c))
        now = time.monotonic()
        if replies is not None:
            tokens, time_cost = cost(replies), (now - self._since) * self._per_second
            money = tokens.priced(self._price) + time_cost
            spent = (float(tokens.asks), float(tokens.prompt + tokens.generated), money)
            self._came = added(self._came, spent)
        self._since = now
        await self._settle(total, spent)


def purse_of(
    budget: Budget, price: Sequence[float] = (0.0, 0.0, 0.0), per_second: float = 0.0
) -> WorkerPurse:
    """That of the only worker."""
    return WorkerPurse(partial(budget.take, ""), partial(budget.settle, ""), price, per_second)


UNLIMITED = Budget((inf, inf, inf), NOTHING)
