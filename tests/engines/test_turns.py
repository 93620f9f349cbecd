"""A document's rounds of questions stay together, so that its prefix is read once."""

import asyncio
from contextlib import closing
from random import Random

import pytest

from evaljudge.engines import ModelSource, VllmEngines
from evaljudge.model.asks import Chosen, Options, Prompt

pytestmark = pytest.mark.engine

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
