"""One answer for all documents: asked once, kept once, and everybody's."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from evaljudge.engines.scripted import Scripted
from evaljudge.model.asks import (
    Chosen,
    Failed,
    Options,
    Prompt,
    Sample,
    Spent,
    Weighed,
    Writing,
    Written,
)
from evaljudge.model.counting import CountingModel
from evaljudge.model.remembering import Common, Remembering
from evaljudge.prompts import load_task

HOW = Writing(max_tokens=10)
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


def test_one_ask_for_all_documents() -> None:
    inner, kept = Writer(), Kept()
    model = common(inner, kept)

    async def ask() -> list[list[Written | Failed]]:
        return [await model.write([STEPS, of(str(n))], HOW) for n in range(3)]

    replies = asyncio.run(ask())
    assert [texts(one) for one in replies] == [["w2", "w1"], ["w2", "w3"], ["w2", "w4"]]
    assert inner.asked.count(STEPS.text) == 1
    assert [bool(one[0].spent) for one in replies] == [True, False, False]
    assert kept.replies == {
        f"{STEPS.text}|{HOW}": {"text": "w2", "finish": "stop", "prompt": STEPS.text}
    }


def test_who_ask_at_the_same_moment_ask_once() -> None:
    inner, kept = Writer(delay=0.01), Kept()
    model = common(inner, kept)

    async def ask() -> list[list[Written | Failed]]:
        return await asyncio.gather(*(model.write([STEPS, OTHER, STEPS], HOW) for _ in range(5)))

    replies = asyncio.run(ask())
    assert sorted(inner.asked) == sorted([STEPS.text, OTHER.text])
    assert len({tuple(texts(one)) for one in replies}) == 1
    first = texts(replies[0])
    assert first[0] == first[2] != first[1]
    assert sum(len(reply.spent) for one in replies for reply in one) == 2


def test_a_second_worker_and_a_later_run_ask_nothing() -> None:
    first, second, kept = Writer("a"), Writer("b"), Kept()
    (said,) = asyncio.run(common(first, kept).write([STEPS], HOW))
    (again,) = asyncio.run(common(second, kept).write([STEPS], HOW))
    assert second.batches == []
    assert isinstance(said, Written) and isinstance(again, Written)
    assert said.samples == again.samples == (Sample("a1", "stop"),)
    assert (len(said.spent), again.spent) == (1, ())


def test_the_loser_of_a_race_takes_what_was_kept_first() -> None:
    """Both find nothing and ask; what the loser spent is still counted."""
    quick, slow, kept = Writer("quick", 0.01), Writer("slow", 0.1), Kept()

    async def race() -> list[list[Written | Failed]]:
        workers = [common(slow, kept), common(quick, kept)]
        return await asyncio.gather(*(worker.write([STEPS], HOW) for worker in workers))

    (lost,), (won,) = asyncio.run(race())
    assert quick.asked == slow.asked == [STEPS.text]
    assert isinstance(lost, Written) and isinstance(won, Written)
    assert lost.samples == won.samples == (Sample("quick1", "stop"),)
    assert len(lost.spent) == len(won.spent) == 1


def test_a_failure_is_not_kept() -> None:
    inner, kept = Writer(), Kept()
    model, fails = common(inner, kept), Prompt(("fail",), head=1)

    async def twice() -> list[Written | Failed]:
        return [reply for _ in range(2) for reply in await model.write([fails], HOW)]

    assert asyncio.run(twice()) == [Failed("no"), Failed("no")]
    assert (inner.asked, kept.replies) == (["fail", "fail"], {})


def test_a_dead_engine_leaves_the_turn_to_the_next() -> None:
    kept = Kept()

    class DeadOnce(Writer):
        async def write(self, prompts: Sequence[Prompt], how: Writing) -> list[Written | Failed]:
            if not self.batches:
                self.batches.append([])
                raise RuntimeError("dead")
            return await super().write(prompts, how)

    model = common(DeadOnce(), kept)

    async def ask() -> list[Written | Failed]:
        with pytest.raises(RuntimeError, match="dead"):
            await model.write([STEPS], HOW)
        assert kept.replies == {}
        return await asyncio.wait_for(model.write([STEPS], HOW), 5)

    assert texts(asyncio.run(ask())) == ["w1"]


def test_prompts_with_a_text_of_a_document_pass_through_in_order_and_at_once() -> None:
    inner, kept = Writer(), Kept()
    asked = [of("a"), STEPS, of("b"), Prompt(("no head",)), OTHER, of("a")]
    replies = asyncio.run(common(inner, kept).write(asked, HOW))
    assert inner.batches == [[asked[0], asked[2], asked[3], asked[5]], [STEPS], [OTHER]]
    assert texts(replies) == ["w1", "w5", "w2", "w3", "w6", "w4"]
    assert set(kept.replies) == {f"{STEPS.text}|{HOW}", f"{OTHER.text}|{HOW}"}


@pytest.mark.parametrize(
    "how", [Writing(10, n=2), Writing(10, schema='{"type": "string"}'), Writing(10, regex="[a-z]+")]
)
def test_several_samples_and_forms_pass_through(how: Writing) -> None:
    inner, kept = Writer(), Kept()
    model = common(inner, kept)

    async def twice() -> list[Written | Failed]:
        return [reply for _ in range(2) for reply in await model.write([STEPS, of("a")], how)]

    replies = asyncio.run(twice())
    assert inner.batches == [[STEPS, of("a")]] * 2
    assert [len(r.samples) for r in replies if isinstance(r, Written)] == [how.n] * 4
    assert kept.replies == {}


def test_written_another_way_is_another_answer() -> None:
    inner, kept = Writer(), Kept()
    model = common(inner, kept)

    async def both() -> list[str]:
        replies = [await model.write([STEPS], Writing(most)) for most in (10, 20, 10)]
        return [text for one in replies for text in texts(one)]

    assert asyncio.run(both()) == ["w1", "w2", "w1"]


def test_how_a_reply_ended_is_kept_too() -> None:
    kept = Kept()

    class Cut(Writer):
        async def write(self, prompts: Sequence[Prompt], how: Writing) -> list[Written | Failed]:
            return [Written((Sample("1. Read the", "length"),), (Spent(3, 0, 3),))]

    asyncio.run(common(Cut(), kept).write([STEPS], HOW))
    (again,) = asyncio.run(common(Writer(), kept).write([STEPS], HOW))
    assert again == Written((Sample("1. Read the", "length"),))


def test_choices_and_weights_pass_through() -> None:
    class Asked(Scripted):
        told: list[object] = []

        async def choose(
            self, prompts: Sequence[Prompt], options: Options, samples: int = 0
        ) -> list[Chosen | Failed]:
            self.told += [list(prompts), options, samples]
            return await super().choose(prompts, options, samples)

        async def weigh(
            self, prompts: Sequence[Prompt], texts: Sequence[str]
        ) -> list[Weighed | Failed]:
            self.told += [list(prompts), list(texts)]
            return await super().weigh(prompts, texts)

    inner, options = Asked(), Options(("Yes", "No"))
    model = common(inner, Kept())

    async def ask() -> tuple[list[Chosen | Failed], list[Weighed | Failed]]:
        return await model.choose([STEPS], options, 3), await model.weigh([STEPS], ["a b"])

    (chosen,), (weighed,) = asyncio.run(ask())
    assert inner.told == [[STEPS], options, 3, [STEPS], ["a b"]]
    assert isinstance(chosen, Chosen) and len(chosen.samples) == 3
    assert isinstance(weighed, Weighed) and len(weighed.logprobs) == 2


def test_under_a_memory_and_a_count_only_what_reached_the_engine_counts() -> None:
    """As in a case: what another case had asked is no ask of this one."""
    inner, kept = Writer(), Kept()
    model = common(inner, kept)
    cases = [CountingModel(model) for _ in range(3)]

    async def ask() -> None:
        for case in cases:
            memory = Remembering(case)
            for _ in range(2):
                await memory.write([STEPS, of("a")], HOW)

    asyncio.run(ask())
    assert [case.tokens.asks for case in cases] == [2, 1, 1]
    assert len(inner.asked) == 4


def test_steps_of_an_axis_are_the_only_common_prompts_of_a_task() -> None:
    pack = load_task("summary").pack
    told = {"axis": "fluency", "description": "how it reads"}
    assert pack.render("geval.steps", {}, **told).is_common
    source = {"source": "The river rose.", "context": None}
    assert not pack.render("synthetic.extreme", source, extreme="worst", **told).is_common
