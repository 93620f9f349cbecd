"""The models around a model: what is remembered, what is counted, what is the floor."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from itertools import chain
from random import Random

import pytest

from evaljudge.engines.scripted import Scripted, any_option
from evaljudge.engines.tokens import Beginning, Blocks
from evaljudge.model.asks import Chosen, Failed, Options, Prompt, Spent, Weighed, Writing, Written
from evaljudge.model.counting import CountingModel, cost
from evaljudge.model.imagining import Imagining
from evaljudge.model.remembering import Remembering
from evaljudge.reasons import too_long

YES_NO = Options(("Yes", "No"))
HOW = Writing(max_tokens=10)


class Slow(Scripted):
    """Counts what reaches it."""

    def __init__(self) -> None:
        super().__init__(chooses=self._choose, delay=0.01)
        self.asked: list[str] = []

    def _choose(self, prompt: Prompt, options: Options) -> Mapping[str, float] | Failed:
        self.asked.append(prompt.text)
        return Failed("no") if "fail" in prompt.text else any_option(prompt, options)


def prompts(*texts: str) -> list[Prompt]:
    return [Prompt((text,)) for text in texts]


def test_nothing_is_asked_twice_and_order_is_kept() -> None:
    inner = Slow()
    model = Remembering(inner)

    async def ask() -> list[list[Chosen | Failed]]:
        one, two = await asyncio.gather(
            model.choose(prompts("a", "b", "a"), YES_NO), model.choose(prompts("b", "c"), YES_NO)
        )
        return [one, two, await model.choose(prompts("c", "a"), YES_NO)]

    one, two, three = asyncio.run(ask())
    assert sorted(inner.asked) == ["a", "b", "c"]
    assert [r.logprobs for r in one if isinstance(r, Chosen)] == [
        any_option(p, YES_NO) for p in prompts("a", "b", "a")
    ]
    assert [bool(r.spent) for r in (*one, *two, *three)] == [1, 1, 0, 0, 1, 0, 0]


def test_other_options_are_another_question() -> None:
    inner = Slow()
    model = Remembering(inner)
    asyncio.run(_both(model))
    assert inner.asked == ["a", "a"]


async def _both(model: Remembering) -> None:
    await model.choose(prompts("a"), YES_NO)
    await model.choose(prompts("a"), Options(("Better", "Worse")))


def test_a_dead_engine_is_not_remembered() -> None:
    calls = []

    class Dying(Scripted):
        async def write(self, prompts: object, how: Writing) -> list[Written | Failed]:
            calls.append(1)
            raise RuntimeError("dead")

    model = Remembering(Dying())

    async def twice() -> None:
        for _ in range(2):
            with pytest.raises(RuntimeError, match="dead"):
                await model.write(prompts("a"), HOW)

    asyncio.run(twice())
    assert len(calls) == 2


def test_counting_adds_up_what_was_spent() -> None:
    counting = CountingModel(Scripted())

    async def ask() -> None:
        await counting.write(prompts("one two", "three"), HOW)
        await counting.choose(prompts("four five six"), YES_NO)

    asyncio.run(ask())
    assert (counting.tokens.asks, counting.tokens.prompt, counting.tokens.generated) == (3, 6, 3)
    assert counting.masses.choices == 1
    assert counting.masses.total == pytest.approx(1.0)


def spent(ids: tuple[int, ...], head: int = 0, size: int = 2) -> Spent:
    return Spent(len(ids), 0, 1, Blocks(size).of(ids), head, size)


def floor_of(*asks: Spent, heads: set[int] | None = None) -> int:
    class Costs(Scripted):
        async def choose(
            self, prompts: object, options: Options, samples: int = 0
        ) -> list[Chosen | Failed]:
            return [Failed("x", (ask,)) for ask in asks]

    counting = CountingModel(Costs(), heads)
    asyncio.run(counting.choose([], YES_NO))
    return counting.tokens.floor


def test_the_floor_by_hand() -> None:
    """Blocks of two: the first prompt computes all of itself, the next only what differs."""
    assert floor_of(spent((1, 2, 3, 4, 5))) == 5
    assert floor_of(spent((1, 2, 3, 4, 5)), spent((1, 2, 3, 4, 6))) == 5 + 1
    assert floor_of(spent((1, 2, 3, 4, 5)), spent((1, 2, 9, 4, 6))) == 5 + 3
    assert floor_of(spent((1, 2, 3, 4)), spent((1, 2, 3, 4))) == 4 + 2  # a last token is computed
    assert floor_of(spent((1, 2, 3, 4)), spent((1, 2, 3, 4, 5))) == 4 + 1


def floor_by_sets(asks: list[Spent]) -> int:
    """As `CountingModel` says it in words: every distinct block that a cache could not serve."""
    heads, blocks, floor = set[int](), set[int](), 0
    for ask in asks:
        served = (ask.prompt - 1) // ask.block_size
        head = ask.blocks[: min(ask.head, served)]
        new = {*head} - heads, {*ask.blocks[len(head) : served]} - blocks
        floor += sum(map(len, new)) * ask.block_size + ask.prompt - served * ask.block_size
        heads.update(head)
        blocks.update(ask.blocks[len(head) :])
    return floor


@pytest.mark.parametrize("seed", range(20))
def test_the_floor_of_random_prompts(seed: int) -> None:
    random = Random(seed)
    asks = [
        spent(tuple(random.choices((1, 2), k=random.randrange(1, 12))), random.randrange(4))
        for _ in range(50)
    ]
    assert floor_of(*asks) == floor_by_sets(asks)


@pytest.mark.parametrize("size", [1, 2, 3, 7])
def test_parts_are_counted_as_the_whole(size: int) -> None:
    random = Random(size)
    for _ in range(300):
        parts = [tuple(random.choices((1, 2), k=random.randrange(9))) for _ in range(5)]
        begun = Beginning(size)
        for part in parts:
            begun = begun.followed_by(part)
        ids = tuple(chain.from_iterable(parts))
        assert (begun.tokens, begun.blocks) == (len(ids), Blocks(size).of(ids))
        assert begun.rest == ids[len(ids) // size * size :]


def test_a_question_is_known_by_its_parts_its_label_and_what_is_asked() -> None:
    inner = Slow()
    model = Remembering(inner)
    different = [
        Prompt(("ab",)),
        Prompt(("a", "b")),
        Prompt(("ab",), about="2"),
        Prompt(("ab",), head=1),
        Prompt(("ab", "")),
    ]
    asyncio.run(model.choose([*different, *different], YES_NO))
    assert len(inner.asked) == len(different)


def test_template_heads_count_once_per_worker() -> None:
    heads: set[int] = set()
    first, second = spent((1, 2, 7, 7, 7), head=1), spent((1, 2, 8, 8, 8), head=1)
    assert floor_of(first, heads=heads) == 5
    assert floor_of(second, heads=heads) == 3
    assert floor_of(spent((1, 2, 7, 7, 7), head=1), heads=heads) == 3  # another case, same text


def test_cost_leaves_out_what_was_remembered() -> None:
    assert cost([Failed("x"), Failed("y", (spent((1, 2, 3)),))]).asks == 1


def test_imagined_replies_are_measured_by_the_gauge() -> None:
    model = CountingModel(Imagining(lambda prompt, options=None: (Spent(len(prompt.text), 0, 1),)))

    async def ask() -> tuple[list[Written | Failed], list[Chosen | Failed]]:
        return (
            await model.write(prompts("12345"), HOW),
            await model.choose(prompts("123"), YES_NO),
        )

    written, chosen = asyncio.run(ask())
    assert isinstance(written[0], Written)
    assert isinstance(chosen[0], Chosen)
    assert chosen[0].p == pytest.approx({"Yes": 0.5, "No": 0.5})
    assert (model.tokens.asks, model.tokens.prompt) == (2, 8)


def test_an_imagined_text_that_does_not_fit_is_not_weighed() -> None:
    """The text is read with its prompt, and one token is left for the engine to write."""
    model = Imagining(lambda prompt, options=None: (Spent(len(prompt.text), 0, 1),), context=8)
    weighed, failed = asyncio.run(model.weigh(prompts("12345", "12345"), ["67", "678"]))
    assert isinstance(weighed, Weighed) and weighed.spent[0].prompt == 7
    assert failed == Failed(too_long(8, 1, 8))
