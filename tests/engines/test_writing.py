"""Writing on the real engine: texts, their tokens' places and probabilities, limits, forms."""

import asyncio
import json
import re
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

from evaljudge.engines import ModelSource, VllmEngines
from evaljudge.model.asks import Failed, Options, Prompt, Writing, Written
from evaljudge.model.counting import CountingModel

pytestmark = [pytest.mark.engine, pytest.mark.cuda_path]


ASK = [Prompt((f"Write about the {thing}.",)) for thing in ("river", "bridge", "town", "rain")]
GREEDY = Writing(max_tokens=24)


@pytest.mark.parametrize(
    ("pieces", "own"), [("bytes", "Öl “für” die Straße. —\nNaïve\tlines"), ("words", "The river.")]
)
def test_tokens_cover_the_text_in_order(engine, pieces, own):
    model = engine(pieces)
    written = asyncio.run(model.write(ASK, GREEDY))
    texts = [reply.text for reply in written if isinstance(reply, Written)]
    texts[-1] = own
    for text, reply in zip(texts, asyncio.run(model.weigh(ASK, texts)), strict=True):
        assert reply.tokens[0].start == 0
        assert reply.tokens[-1].end == len(text)
        for before, after in pairwise(reply.tokens):
            assert before.end == after.start
        assert all(token.logprob <= 0 for token in reply.tokens)


SAMPLED = replace(GREEDY, temperature=1.0, n=3)


@pytest.mark.parametrize("how", [GREEDY, SAMPLED])
def test_replies_do_not_depend_on_company(engine, how):
    """Nor on the hour: a resumed run draws what one that was not killed would have drawn."""
    model = engine()
    if how.temperature and not model._takes_seeds:
        pytest.skip("the CPU build's own model runner takes no seeds")
    together = asyncio.run(model.write(ASK, how))
    alone = [asyncio.run(model.write([prompt], how))[0] for prompt in ASK]
    assert [replace(r, spent=()) for r in together] == [replace(r, spent=()) for r in alone]


def test_sampled_replies_to_more_prompts_than_one_step_reads(engine):
    """One of them is read in two steps, of which an engine died that was given a seed."""
    long = [Prompt((f"Target {n}. ", "A town by a river. " * 150)) for n in range(12)]
    replies = asyncio.run(engine().write(long, replace(SAMPLED, max_tokens=2)))
    assert all(isinstance(reply, Written) for reply in replies)
    assert sum(reply.spent[0].prompt for reply in replies) > 4096


def test_a_reply_cut_by_its_limit_says_so(engine):
    (reply,) = asyncio.run(engine().write(ASK[:1], Writing(max_tokens=1)))
    assert reply.samples[0].finish == "length"


def test_several_samples_of_one_prompt(engine):
    how = Writing(max_tokens=12, temperature=1.0, n=5)
    (reply,) = asyncio.run(engine().write(ASK[:1], how))
    assert len(reply.samples) == 5
    assert len({sample.text for sample in reply.samples}) > 1


def test_a_schema_is_followed(engine):
    schema = {"type": "object", "properties": {"vote": {"enum": ["yes", "no"]}},
              "required": ["vote"], "additionalProperties": False}  # fmt: skip
    how = Writing(max_tokens=64, schema=json.dumps(schema))
    replies = asyncio.run(engine().write(ASK, how))
    stopped = [
        r.samples[0] for r in replies if isinstance(r, Written) and r.samples[0].finish == "stop"
    ]
    assert stopped
    for sample in stopped:
        assert json.loads(sample.text)["vote"] in ("yes", "no")


@pytest.mark.parametrize(
    ("pieces", "regex"),
    [
        ("bytes", r"Critic \(of films & art\): (Café|River 2\+) — [^\n]{1,12}\n[0-9]\. [^:\n]:"),
        ("words", r"Critic \(of films\): (River|Town) [^\n]{1,12}\n[0-9]{1,2}\. [^:\n]{1,9}:"),
    ],
)  # fmt: skip
def test_a_regex_is_followed(engine, pieces, regex):
    """Escapes, letters beyond ASCII and line breaks are as Python reads them."""
    replies = asyncio.run(engine(pieces).write(ASK, Writing(max_tokens=200, regex=regex)))
    for reply in replies:
        assert reply.samples[0].finish == "stop"
        assert re.fullmatch(regex, reply.text)


def test_a_prompt_longer_than_the_context_fails_in_words(engine):
    model, asked = engine(), [Prompt(("The river rose. " * 4000,)), ASK[0]]
    asks: list[Any] = [
        model.write(asked, GREEDY),
        model.choose(asked, Options(("Better", "Worse"))),
        model.weigh(asked, ["rain", "rain"]),
    ]
    for failed, fine in map(asyncio.run, asks):
        assert "leaves no room" in failed.reason
        assert "context of 8192" in failed.reason
        assert not isinstance(fine, Failed)


def test_an_empty_text_cannot_be_weighed(engine):
    (failed,) = asyncio.run(engine().weigh(ASK[:1], [""]))
    assert isinstance(failed, Failed)


def test_mixed_asks_in_one_batch_are_each_exact(engine):
    """Writing, choosing and weighing share engine steps without disturbing one another."""
    model, options = engine(), Options(("Better", "Worse", "Similar"))

    def asks() -> list[Any]:
        texts = ["rain"] * len(ASK)
        return [model.write(ASK, GREEDY), model.choose(ASK, options), model.weigh(ASK, texts)]

    async def together() -> list[Any]:
        return await asyncio.gather(*asks())

    mixed, alone = asyncio.run(together()), [asyncio.run(ask) for ask in asks()]
    assert [one.samples for one in mixed[0]] == [one.samples for one in alone[0]]
    for one, other in zip(mixed[1] + mixed[2], alone[1] + alone[2], strict=True):
        assert one.logprobs == pytest.approx(other.logprobs, abs=1e-4)


def test_prefixes_shared_are_served_from_cache(engine):
    article = "The council closed the bridge while the river rose. " * 30
    prompts = [Prompt(("Compare.\n", article, f"\nTarget: {n}"), 1) for n in range(20)]
    counting = CountingModel(engine())
    asyncio.run(counting.choose(prompts, Options(("Better", "Worse", "Similar"))))
    tokens = counting.tokens
    assert tokens.asks == 20
    assert tokens.prefilled < tokens.prompt / 4
    assert tokens.floor >= 0.9 * tokens.prefilled


def test_a_form_that_the_tokenizer_cannot_spell_fails_in_words(engine):
    """And what else is asked is answered."""
    model = engine("words")
    (failed,) = asyncio.run(model.write(ASK[:1], Writing(max_tokens=20, regex="river — rain")))
    assert failed == Failed("the engine gave the reply up: error")
    (fine,) = asyncio.run(model.write(ASK[:1], Writing(max_tokens=20, regex="river rain")))
    assert fine.text == "river rain"


@pytest.mark.parametrize("length", range(40, 76, 5))
def test_what_was_just_written_is_weighed_from_its_prompt_s_cache(engine, length):
    """Wherever the blocks' bounds fall: only the text, and a block at most of its prompt, is read,
    also where the engine has written or weighed it before."""
    model = engine()
    prompt = Prompt(("Write about it.\n" + "rain " * length,))
    for _ in range(2):
        (written,) = asyncio.run(model.write([prompt], Writing(max_tokens=80, regex="(rain )+")))
        (weighed,) = asyncio.run(model.weigh([prompt], [written.text]))
        (spent,) = weighed.spent
        text_at = spent.prompt - len(weighed.tokens)
        assert text_at - spent.block_size <= spent.cached < text_at


def test_a_revision_changes_with_the_weights(tiny):
    engines = VllmEngines()
    one = engines.describe(ModelSource(str(tiny()))).identity
    again = engines.describe(ModelSource(str(tiny()))).identity
    other = engines.describe(ModelSource(str(tiny(seed=1)))).identity
    assert one == again
    assert one.revision != other.revision
