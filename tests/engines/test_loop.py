"""The engine's loop on an engine that keeps what it is given: batches, limits, further requests."""

import asyncio
import subprocess
import sys
import threading
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field
from random import Random
from types import SimpleNamespace
from typing import Any

import pytest

from evaljudge.engines import ModelSource, VllmEngines
from evaljudge.engines.loop import MOST_ADDED, Request, Steps
from evaljudge.errors import EngineDead
from evaljudge.model.asks import Chosen, Options, Prompt

pytestmark = pytest.mark.engine


def nothing_further(number: int, outputs: list[Any]) -> Sequence[Request]:
    return ()


@dataclass(eq=False)
class Kept:
    """Finishes all that it has at each step; keeps the order, and how many it had each time."""

    refused: int | None = None
    """A prompt of this one id is refused."""
    dies_at: int | None = None
    may_begin: threading.Event = field(default_factory=threading.Event)
    added: list[tuple[int, ...]] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)
    engine_core: Any = field(default_factory=lambda: SimpleNamespace(shutdown=lambda: None))
    _waiting: list[Any] = field(default_factory=list)

    def add_request(
        self, name: str, prompt: dict[str, Any], how: Any, lora_request: Any, priority: int
    ) -> None:
        ids = tuple(prompt["prompt_token_ids"])
        if ids == (self.refused,):
            raise ValueError("this prompt is refused")
        self.added.append(ids)
        self._waiting.append(SimpleNamespace(request_id=name, finished=True, ids=ids, how=how))

    def step(self) -> list[Any]:
        self.may_begin.wait(10)
        if len(self.sizes) == self.dies_at:
            raise RuntimeError("out of memory")
        self.sizes.append(len(self._waiting))
        done, self._waiting = self._waiting, []
        return done


def asked_of(engine: Kept, *asks: tuple[Any, ...]) -> list[Any]:
    """What each of these batches gets, which are all there before the engine takes a step."""

    async def ask(steps: Steps) -> list[Any]:
        answers = [asyncio.ensure_future(steps.ask(*one)) for one in asks]
        await asyncio.sleep(0.05)
        engine.may_begin.set()
        return await asyncio.gather(*answers, return_exceptions=True)

    with closing(Steps(engine)) as steps:
        return asyncio.run(ask(steps))


def requests(*ids: int) -> list[Request]:
    return [((one,), f"how {one}") for one in ids]


def ids_of(outputs: Sequence[Sequence[Any]]) -> list[list[tuple[int, ...]]]:
    return [[one.ids for one in mine] for mine in outputs]


def test_outputs_come_in_the_order_asked():
    found, none = asked_of(Kept(), (requests(3, 1, 2), nothing_further), ([], nothing_further))
    assert ids_of(found) == [[(3,)], [(1,)], [(2,)]]
    assert [mine[0].how for mine in found] == ["how 3", "how 1", "how 2"]
    assert none == []


def test_a_large_batch_does_not_hold_up_the_engine():
    engine = Kept()
    asked_of(engine, *[(requests(*range(600)), nothing_further)] * 2)
    assert sum(engine.sizes) == 1200
    assert max(engine.sizes) == MOST_ADDED


def test_what_a_reply_makes_necessary_is_asked_before_a_later_turn():
    def further(number: int, outputs: list[Any]) -> Sequence[Request]:
        if len(outputs) == 1 and number == 0:
            return requests(1001, 1002)
        return requests(1003) if len(outputs) == 3 else []

    engine = Kept()
    later, found = asked_of(
        engine, (requests(*range(300, 600)), nothing_further, 1), (requests(0, 1), further, 0)
    )
    assert ids_of(found) == [[(0,), (1001,), (1002,), (1003,)], [(1,)]]
    assert len(later) == 300
    assert engine.added[:3] == [(0,), (1,), (300,)]
    assert engine.added[MOST_ADDED : MOST_ADDED + 3] == [(1001,), (1002,), (MOST_ADDED + 298,)]


def unreadable(number: int, outputs: list[Any]) -> Sequence[Request]:
    raise KeyError("no such token")


@pytest.mark.parametrize(
    ("asked", "error"),
    [
        ((requests(1, 7), nothing_further), ValueError),  # vLLM refuses the second
        ((requests(1), unreadable), KeyError),
    ],
)
def test_what_is_wrong_with_a_batch_ends_it_alone(asked, error):
    wrong, other = asked_of(Kept(refused=7), asked, (requests(2), nothing_further))
    assert isinstance(wrong, error)
    assert ids_of(other) == [[(2,)]]


def test_a_dead_engine_answers_whoever_asks():
    engine = Kept(dies_at=0)
    engine.may_begin.set()
    with closing(Steps(engine)) as steps:
        for _ in range(2):
            with pytest.raises(EngineDead, match="RuntimeError: out of memory"):
                asyncio.run(steps.ask(requests(*range(300))))


def test_what_an_interrupted_batch_had_still_to_ask_is_dropped():
    engine = Kept()

    async def cut_short(steps: Steps) -> None:
        asked = asyncio.ensure_future(steps.ask(requests(*range(600))))
        await asyncio.sleep(0.05)
        asked.cancel()

    with closing(Steps(engine)) as steps:
        asyncio.run(cut_short(steps))
        engine.may_begin.set()
        found = asyncio.run(steps.ask(requests(1001)))
    assert ids_of(found) == [[(1001,)]]
    assert len(engine.added) <= MOST_ADDED + 1


CLOSED = """
import sys
from evaljudge.engines import ModelSource, VllmEngines
from evaljudge.model.asks import Prompt, Writing
import asyncio
source = ModelSource(sys.argv[1], engine={"kv_cache_memory_bytes": 1 << 27})
first, second = (VllmEngines().open(source, seed=0) for _ in range(2))
from vllm.distributed.parallel_state import model_parallel_is_initialized as shared
first.close()
(written,) = asyncio.run(second.write([Prompt("The river")], Writing(max_tokens=4)))
between = shared()
second.close()
sys.exit(0 if (between, shared()) == (True, False) else f"{between} {shared()}")
"""


@pytest.mark.long
def test_what_engines_share_goes_with_the_last_one_that_closes(tiny):
    """Else those who ask another one would hear that its groups are not initialised."""
    line = [sys.executable, "-c", CLOSED, str(tiny())]
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


# turns


DOCUMENTS, ROUNDS, ASKS, WORDS = 24, 3, 8, 300
OPTIONS = Options(("Better", "Worse", "Similar"))


def words(count: int, seed: int) -> str:
    return " ".join(Random(seed).choices(["flood", "bridge", "river", "town", "rain"], k=count))


def test_the_rounds_of_a_document_find_its_prefix_in_a_small_cache(tiny):
    """The cache holds a few of the documents that are asked about at the same time."""
    small = {"dtype": "float32", "kv_cache_memory_bytes": 5 << 20, "max_num_batched_tokens": 1024}
    with closing(VllmEngines().open(ModelSource(str(tiny()), engine=small), seed=0)) as engine:

        async def prefilled(document: int) -> list[int]:
            """In each round."""
            counts, source = [], words(WORDS, document)
            for number in range(ROUNDS):
                targets = [f"\nTarget {number} {n}: {words(20, n)}" for n in range(ASKS)]
                prompts = [Prompt(("Article:\n", source, target), head=1) for target in targets]
                replies = await engine.choose(prompts, OPTIONS)
                spent = [one for r in replies if isinstance(r, Chosen) for one in r.spent[:1]]
                counts.append(sum(one.prompt - one.cached for one in spent))
            return counts

        async def ask() -> list[list[int]]:
            return await asyncio.gather(*map(prefilled, range(DOCUMENTS)))

        rounds = asyncio.run(ask())
    first, *later = (sum(each) for each in zip(*rounds, strict=True))
    once = DOCUMENTS * WORDS
    assert first > once
    assert all(count < first - once // 2 for count in later)
