"""The models around a model: what is remembered, what is counted, what is the floor."""

import asyncio
from collections.abc import Awaitable, Mapping, Sequence
from itertools import chain
from random import Random
from typing import Any, cast

import pytest

import evaljudge
from evaljudge.engines import Engines
from evaljudge.engines.scripted import Scripted, any_option
from evaljudge.engines.tokens import Beginning
from evaljudge.errors import UserError
from evaljudge.model.asks import (
    Chosen,
    Failed,
    Options,
    Prompt,
    Sample,
    Spent,
    Writing,
    Written,
)
from evaljudge.model.counting import CountingModel, cost
from evaljudge.model.imagining import Imagining
from evaljudge.model.remembering import Common, Remembering
from evaljudge.prompts import load_task
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


def together(*asks: Awaitable[Any]) -> list[Any]:
    async def ask() -> list[Any]:
        return await asyncio.gather(*asks)

    return asyncio.run(ask())


def test_nothing_is_asked_twice_and_order_is_kept():
    inner = Slow()
    model = Remembering(inner)
    asks = [prompts("a", "b", "a"), prompts("b", "c"), prompts("c", "a")]
    one, two = together(*(model.choose(asked, YES_NO) for asked in asks[:2]))
    three = asyncio.run(model.choose(asks[2], YES_NO))
    assert sorted(inner.asked) == ["a", "b", "c"]
    assert [reply.logprobs for reply in one] == [any_option(p, YES_NO) for p in asks[0]]
    assert [bool(r.spent) for r in (*one, *two, *three)] == [1, 1, 0, 0, 1, 0, 0]


@pytest.mark.parametrize(
    ("chooses", "said"),
    [
        (lambda p, o: "Yes", "log-probability .*: not Yes"),
        (lambda p, o: {"Yes": -1.0}, "of each of .'Yes', 'No'., 0 or less"),
        (lambda p, o: {"Yes": 0.7, "No": 0.3}, r"as log\(0.7\).: not .'Yes': 0.7"),
        (lambda p: {"Yes": -1.0}, "fails: TypeError: .*takes 1 positional argument but 2"),
    ],
)
def test_a_script_that_gives_no_log_probabilities_is_named_itself(chooses, said):
    model = Scripted(chooses=chooses)
    with pytest.raises(UserError, match=f"^Scripted: its .*{said}"):
        asyncio.run(model.choose(prompts("a"), YES_NO))
    with pytest.raises(UserError, match=r"give ScriptedEngines\(lambda: Scripted"):
        evaljudge.score([{"text": "a"}], judges="direct", model="m", engines=cast(Engines, model))


def test_a_dead_engine_is_not_remembered():
    calls = []

    class Dying(Scripted):
        async def write(self, prompts: object, how: Writing) -> list[Written | Failed]:
            calls.append(1)
            raise RuntimeError("dead")

    model = Remembering(Dying())
    for _ in range(2):
        with pytest.raises(RuntimeError, match="dead"):
            asyncio.run(model.write(prompts("a"), HOW))
    assert len(calls) == 2


def test_counting_adds_up_what_was_spent():
    counting = CountingModel(Scripted())
    asyncio.run(counting.write(prompts("one two", "three"), HOW))
    asyncio.run(counting.choose(prompts("four five six"), YES_NO))
    assert (counting.tokens.asks, counting.tokens.prompt, counting.tokens.generated) == (3, 6, 3)
    assert counting.masses.choices == 1
    assert counting.masses.total == pytest.approx(1.0)


def spent(ids: tuple[int, ...], head: int = 0, size: int = 2) -> Spent:
    return Spent(len(ids), 0, 1, Beginning(size).followed_by(ids).blocks, head, size)


def floor_of(*asks: Spent, heads: set[int] | None = None) -> int:
    class Costs(Scripted):
        async def choose(
            self, prompts: object, options: Options, samples: int = 0
        ) -> list[Chosen | Failed]:
            return [Failed("x", (ask,)) for ask in asks]

    counting = CountingModel(Costs(), heads)
    asyncio.run(counting.choose([], YES_NO))
    return counting.tokens.floor


def test_the_floor_by_hand():
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
def test_the_floor_of_random_prompts(seed):
    random = Random(seed)
    asks = [
        spent(tuple(random.choices((1, 2), k=random.randrange(1, 12))), random.randrange(4))
        for _ in range(50)
    ]
    assert floor_of(*asks) == floor_by_sets(asks)


@pytest.mark.parametrize("size", [1, 2, 3, 7])
def test_parts_are_counted_as_the_whole(size):
    random = Random(size)
    for _ in range(300):
        parts = [tuple(random.choices((1, 2), k=random.randrange(9))) for _ in range(5)]
        begun = Beginning(size)
        for part in parts:
            begun = begun.followed_by(part)
        ids = tuple(chain.from_iterable(parts))
        assert (begun.tokens, begun.blocks) == (len(ids), Beginning(size).followed_by(ids).blocks)
        assert begun.rest == ids[len(ids) // size * size :]


def test_a_question_is_known_by_its_parts_its_label_and_what_is_asked():
    inner = Slow()
    model = Remembering(inner)
    different = [
        Prompt(("ab",)),
        Prompt(("a", "b")),
        Prompt(("ab",), about="2"),
        Prompt(("ab",), head=1),
        Prompt(("ab", "")),
    ]
    for options in (YES_NO, Options(("Better", "Worse"))):
        asyncio.run(model.choose([*different, *different], options))
    assert len(inner.asked) == 2 * len(different)


def test_template_heads_count_once_per_worker():
    heads: set[int] = set()
    first, second = spent((1, 2, 7, 7, 7), head=1), spent((1, 2, 8, 8, 8), head=1)
    assert floor_of(first, heads=heads) == 5
    assert floor_of(second, heads=heads) == 3
    assert floor_of(spent((1, 2, 7, 7, 7), head=1), heads=heads) == 3  # another case, same text


def test_cost_leaves_out_what_was_remembered():
    assert cost([Failed("x"), Failed("y", (spent((1, 2, 3)),))]).asks == 1


def test_imagined_replies_are_measured_by_the_token_counter():
    model = CountingModel(Imagining(lambda prompt, options=None: (Spent(len(prompt.text), 0, 1),)))
    asyncio.run(model.write(prompts("12345"), HOW))
    (chosen,) = asyncio.run(model.choose(prompts("123"), YES_NO))
    assert chosen.p == pytest.approx({"Yes": 0.5, "No": 0.5})
    assert (model.tokens.asks, model.tokens.prompt) == (2, 8)


def test_an_imagined_text_that_does_not_fit_is_not_weighed():
    """The text is read with its prompt, and one token is left for the engine to write."""
    model = Imagining(lambda prompt, options=None: (Spent(len(prompt.text), 0, 1),), context=8)
    weighed, failed = asyncio.run(model.weigh(prompts("12345", "12345"), ["67", "678"]))
    assert weighed.spent[0].prompt == 7
    assert failed == Failed(too_long(8, 1, 8))


# one answer for all documents: asked once, kept once, and everybody's


STEPS = Prompt(("Write the steps for fluency.",), head=1)
OTHER = Prompt(("Write the steps for relevance.",), head=1)


def of(document: str) -> Prompt:
    return Prompt(("Write the worst summary of ", document), head=1)


class Writer(Scripted):
    """Says who asked and how often; every call of `write` is one batch."""

    def __init__(self, name: str = "w", delay: float = 0.0) -> None:
        super().__init__(writes=self._say, delay=delay)
        self.name, self.asked, self.batches = name, list[str](), list[list[Prompt]]()

    async def write(self, prompts: Sequence[Prompt], how: Writing) -> list[Written | Failed]:
        self.batches.append(list(prompts))
        return await super().write(prompts, how)

    def _say(self, prompt: Prompt, how: Writing) -> str | Failed:
        self.asked.append(prompt.text)
        return Failed("no") if "fail" in prompt.text else f"{self.name}{len(self.asked)}"


class Kept:
    """A folder, where what was kept first stays."""

    def __init__(self) -> None:
        self.replies: dict[str, Mapping[str, Any]] = {}

    def find(self, name: str) -> Mapping[str, Any] | None:
        return self.replies.get(name)

    def keep(self, name: str, said: Mapping[str, Any]) -> bool:
        return self.replies.setdefault(name, said) is said


def common(model: Scripted, kept: Kept) -> Common:
    return Common(model, kept.find, kept.keep, lambda prompt, how: f"{prompt.text}|{how}")


def texts(replies: Sequence[Written | Failed]) -> list[str]:
    return [reply.text if isinstance(reply, Written) else reply.reason for reply in replies]


def test_one_ask_for_all_documents():
    inner, kept = Writer(), Kept()
    model = common(inner, kept)
    replies = [asyncio.run(model.write([STEPS, of(str(n))], HOW)) for n in range(3)]
    assert [texts(one) for one in replies] == [["w2", "w1"], ["w2", "w3"], ["w2", "w4"]]
    assert inner.asked.count(STEPS.text) == 1
    assert [bool(one[0].spent) for one in replies] == [True, False, False]
    assert kept.replies == {
        f"{STEPS.text}|{HOW}": {"text": "w2", "finish": "stop", "prompt": STEPS.text}
    }


def test_who_ask_at_the_same_moment_ask_once():
    inner, kept = Writer(delay=0.01), Kept()
    model = common(inner, kept)

    replies = together(*(model.write([STEPS, OTHER, STEPS], HOW) for _ in range(5)))
    assert sorted(inner.asked) == sorted([STEPS.text, OTHER.text])
    assert len({tuple(texts(one)) for one in replies}) == 1
    first = texts(replies[0])
    assert first[0] == first[2] != first[1]
    assert sum(len(reply.spent) for one in replies for reply in one) == 2


def test_a_second_worker_and_a_later_run_ask_nothing():
    class Cut(Writer):
        async def write(self, prompts: Sequence[Prompt], how: Writing) -> list[Written | Failed]:
            return [Written((Sample("1. Read the", "length"),), (Spent(3, 0, 3),))]

    second, kept = Writer(), Kept()
    (said,) = asyncio.run(common(Cut(), kept).write([STEPS], HOW))
    (again,) = asyncio.run(common(second, kept).write([STEPS], HOW))
    assert second.batches == []
    assert len(said.spent) == 1
    assert again == Written((Sample("1. Read the", "length"),))


def test_the_loser_of_a_race_takes_what_was_kept_first():
    """Both find nothing and ask; what the loser spent is still counted."""
    quick, slow, kept = Writer("quick", 0.01), Writer("slow", 0.1), Kept()

    workers = [common(slow, kept), common(quick, kept)]
    (lost,), (won,) = together(*(worker.write([STEPS], HOW) for worker in workers))
    assert quick.asked == slow.asked == [STEPS.text]
    assert lost.samples == won.samples == (Sample("quick1", "stop"),)
    assert len(lost.spent) == len(won.spent) == 1


def test_a_failure_is_not_kept():
    inner, kept = Writer(), Kept()
    model, fails = common(inner, kept), Prompt(("fail",), head=1)
    for _ in range(2):
        assert asyncio.run(model.write([fails], HOW)) == [Failed("no")]
    assert (inner.asked, kept.replies) == (["fail", "fail"], {})


def test_prompts_with_a_text_of_a_document_pass_through_in_order_and_at_once():
    inner, kept = Writer(), Kept()
    asked = [of("a"), STEPS, of("b"), Prompt(("no head",)), OTHER, of("a")]
    replies = asyncio.run(common(inner, kept).write(asked, HOW))
    assert inner.batches == [[asked[0], asked[2], asked[3], asked[5]], [STEPS], [OTHER]]
    assert texts(replies) == ["w1", "w5", "w2", "w3", "w6", "w4"]
    assert set(kept.replies) == {f"{STEPS.text}|{HOW}", f"{OTHER.text}|{HOW}"}


@pytest.mark.parametrize(
    "how", [Writing(10, n=2), Writing(10, schema='{"type": "string"}'), Writing(10, regex="[a-z]+")]
)
def test_several_samples_and_forms_pass_through(how):
    inner, kept = Writer(), Kept()
    model = common(inner, kept)
    replies = [asyncio.run(model.write([STEPS, of("a")], how)) for _ in range(2)]
    assert inner.batches == [[STEPS, of("a")]] * 2
    assert [len(reply.samples) for one in replies for reply in one] == [how.n] * 4
    assert kept.replies == {}


def test_steps_of_an_axis_are_the_only_common_prompts_of_a_task():
    pack = load_task("summary").pack
    told = {"axis": "fluency", "description": "how it reads"}
    assert pack.render("geval.steps", {}, **told).is_common
    source = {"source": "The river rose.", "context": None}
    assert not pack.render("synthetic.extreme", source, extreme="worst", **told).is_common
