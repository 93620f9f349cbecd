"""One budget for all workers: what may be asked at once, and what the dead may have spent."""

import asyncio
from math import inf

from evaljudge.execution.budget import NOTHING, Budget, purse_of
from evaljudge.model.asks import Prompt, Spent, Written
from evaljudge.model.keeping import Ask

ONE = (1.0, 10.0, 0.0)


def test_what_is_held_is_room_for_nobody_else() -> None:
    async def work() -> None:
        budget = Budget((inf, 35.0, inf), NOTHING)
        assert await budget.take("a", [ONE] * 3) == 3
        assert await budget.take("b", [ONE] * 3) == 1, "there is room for half of it"
        waiting = asyncio.create_task(budget.take("b", [ONE] * 3))
        await asyncio.sleep(0)
        assert not waiting.done()
        await budget.settle("a", (3.0, 30.0, 0.0), (3.0, 12.0, 0.0))
        assert await waiting == 2
        budget.bury("b")  # with all that it held
        assert budget.spent == (6.0, 42.0, 0.0)
        assert (await budget.take("a", [ONE]), budget.is_over) == (0, True)

    asyncio.run(work())


def test_an_ask_may_cost_what_those_before_did() -> None:
    async def work() -> None:
        budget = Budget((inf, 1000.0, inf), NOTHING)
        purse, asks = purse_of(budget), [Ask(Prompt(("x" * 100,)), "text")] * 99
        held = await purse.take(asks)
        assert len(held) == 10, "at first each letter is a token"
        await purse.settle(held, [Written((), (Spent(20, 0, 5),))] * 10)
        assert budget.spent == (10.0, 250.0, 0.0)
        assert len(await purse.take(asks)) == 30

    asyncio.run(work())
