"""One budget for all workers: what may be asked at once, and what the dead may have spent."""

import asyncio
from functools import partial
from math import inf
from typing import Any

from evaljudge.engines.scripted import Scripted
from evaljudge.execution.budget import NOTHING, Budget, Paying
from evaljudge.model.asks import UNASKED, Options, Prompt, Spent, Weighed

ONE = (1.0, 10.0, 0.0)


async def test_what_is_held_is_room_for_nobody_else():
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


async def test_an_ask_may_cost_what_those_before_did():
    budget, held = Budget((inf, 1000.0, inf), NOTHING), list[int]()

    class Engine(Scripted):
        async def weigh(self, prompts: Any, texts: Any) -> Any:
            held.append(len(prompts))
            return [Weighed((), (Spent(20, 0, 5),)) for _ in prompts]

    mine = partial(budget.take, ""), partial(budget.settle, "")
    paying = Paying(Engine(), mine, (0, 0, 0), 0, since=0)
    replies = await paying.weigh([Prompt(("x" * 100,))] * 99, ["text"] * 99)
    assert held == [10, 30], "at first each letter is a token"
    assert budget.spent == (40.0, 1000.0, 0.0)
    assert replies[40:] == [UNASKED] * 59 and UNASKED not in replies[:40]


async def test_an_ask_with_thoughts_may_cost_what_they_do():
    mine = partial(Budget((inf, inf, inf), NOTHING).take, ""), None
    paying = Paying(Scripted(), mine, (0, 0, 0), 0, since=0, thoughts=(4, 50))  # type: ignore[arg-type]
    assert paying._cost_of_one([Prompt(("x" * 100,))])[1] == 100 + 4 * (100 + 2 * 50)


async def test_answers_are_drawn_where_a_run_has_a_cap():
    budget = Budget((inf, inf, inf), NOTHING)
    mine = partial(budget.take, ""), partial(budget.settle, "")
    paying = Paying(Scripted(), mine, (0, 0, 0), 0, since=0)
    (reply,) = await paying.choose([Prompt(("x",))], Options(("Yes", "No")), samples=3)
    assert len(reply.samples) == 3
