"""No text of a corpus speaks with a special token's voice: tested on the engine's ids."""

import asyncio
import shutil
from collections.abc import Sequence
from math import inf
from random import Random
from typing import Any

import pytest

from evaljudge.engines import ModelSource
from evaljudge.engines.loop import Further, Request
from evaljudge.engines.template import read_template
from evaljudge.engines.token_counter import make_token_counter
from evaljudge.engines.tokens import Beginning, LastPrompt, Tokeniser
from evaljudge.model.asks import Options, Prompt, Spent
from evaljudge.prompts import load_task
from tests.lazily import Lazily

transformers = Lazily("transformers")

pytestmark = pytest.mark.engine


COMPARISON = Options(("Better", "Worse", "Similar"))
PIECES = ["bytes", "words"]


def compare(source: str, target: str) -> Any:
    given = {"source": source, "context": None, "reference": "A flood.", "target": target}
    return load_task("summary").pack.render(
        "synthetic.compare", given, axis="fluency", description="the quality of the sentences"
    )


@pytest.mark.parametrize("pieces", PIECES)
@pytest.mark.parametrize("chat", [True, False])
def test_special_tokens_in_texts_reach_the_engine_as_text(engine, tiny, pieces, chat, monkeypatch):
    model, prompts = engine(pieces, chat), []
    ask = model._steps.ask

    def noting(requests: Sequence[Request], further: Further, turn: int) -> Any:
        prompts.extend(ids for ids, _ in requests)
        return ask(requests, further, turn)

    monkeypatch.setattr(model._steps, "ask", noting)
    hf = transformers.AutoTokenizer.from_pretrained(tiny(pieces, chat))
    specials = list(hf.added_tokens_encoder)
    hostile = "News: " + " and ".join(specials) + " " + "".join(specials) + " end."
    plain = "News: nothing of the kind."
    asyncio.run(model.choose([compare(plain, plain)], COMPARISON))
    ours = [i for i in prompts[0] if i in hf.all_special_ids]
    prompts.clear()
    asyncio.run(model.choose([compare(hostile, hostile)], COMPARISON))
    asyncio.run(model.weigh([compare(hostile, plain)], [hostile]))
    assert set(specials) >= {"<pad>", "<s>", "</s>"}
    assert prompts
    for ids in prompts:
        assert [i for i in ids if i in hf.all_special_ids] == ours
        assert hf.decode(ids).count("<|assistant|>") >= 2  # it is there, as words


@pytest.mark.parametrize("pieces", PIECES)
def test_a_harmless_prompt_is_tokenised_as_the_template_would(tiny, pieces):
    tokeniser = Tokeniser(transformers.AutoTokenizer.from_pretrained(tiny(pieces)))
    template = read_template(tokeniser, {}, frozenset())
    prompt = compare("The river rose after rain.", "A flood closed the bridge.")
    rendered = template.render(prompt, tokeniser, 0, inf)
    ids, head = rendered.ids, rendered.head
    turns = [{"role": "user", "content": prompt.text}]
    wanted = tokeniser.hf.apply_chat_template(turns, tokenize=False, add_generation_prompt=True)
    assert tokeniser.hf.decode(ids) == tokeniser.hf.decode(tokeniser.marked(wanted))
    assert ids.count(tokeniser.hf.bos_token_id) == 1
    assert 0 < head < len(ids)
    if pieces == "bytes":
        assert ids == tokeniser.marked(wanted)


def test_every_character_survives(tiny):
    tokeniser = Tokeniser(transformers.AutoTokenizer.from_pretrained(tiny("bytes")))
    text = "null \0 bell \a emoji 👩‍👩‍👧 عربي ‮right‬ \ufffd \U0001f600 end"
    assert tokeniser.hf.decode(tokeniser.part(text)) == text


@pytest.mark.parametrize("size", [1, 2, 3, 7])
def test_the_blocks_that_two_prompts_share(size):
    def names(ids: tuple[int, ...]) -> list[bytes]:
        return [bytes(ids[:end]) for end in range(size, len(ids) + 1, size)]

    random, last = Random(size), LastPrompt(size)
    before: tuple[int, ...] = ()
    for _ in range(500):
        ids = tuple(random.choices((1, 2), k=random.randrange(20)))
        assert last.shared(ids) == [name for name in names(ids) if name in names(before)]
        last.keep(ids, names(ids))
        before = ids


@pytest.mark.parametrize("pieces", PIECES)
@pytest.mark.parametrize("chat", [True, False])
@pytest.mark.parametrize("size", [1, 4, 32])
def test_the_token_counter_counts_as_the_whole_prompts_ids_do(tiny, pieces, chat, size):
    switches = {} if chat else None
    source = ModelSource(str(tiny(pieces, chat)), chat=switches)
    token_counter = make_token_counter(source, size)
    tokeniser = Tokeniser(transformers.AutoTokenizer.from_pretrained(source.path))
    template, random = read_template(tokeniser, switches, frozenset()), Random(size)
    texts = ["Judge this.", "\n<article>\n", "The river rose.", "A <pad> flood.\n", " </s> é 雨"]
    for _ in range(300):
        parts = tuple(random.choices(texts, k=random.randrange(1, 8)))
        prompt = Prompt(parts, head=random.randrange(len(parts) + 1))
        rendered = template.render(prompt, tokeniser, 0, inf)
        ids, head = rendered.ids, rendered.head
        wanted = Spent(len(ids), 0, 1, Beginning(size).followed_by(ids).blocks, head // size, size)
        assert token_counter(prompt) == (wanted,)


def test_a_token_counter_is_read_again_after_its_model_changed(tiny, tmp_path):
    folder = shutil.copytree(tiny("bytes", True), tmp_path / "model")
    source, prompt = ModelSource(str(folder)), Prompt(("The river rose.",))
    (before,) = make_token_counter(source, 16)(prompt)
    settings = folder / "tokenizer_config.json"
    settings.write_text(settings.read_text().replace("<|assistant|>", "<|assistant|> Well then:"))
    assert make_token_counter(source, 16)(prompt)[0].prompt > before.prompt


def test_a_block_is_named_by_all_that_precedes_it():
    def blocks(size: int, ids: tuple[int, ...]) -> tuple[int, ...]:
        return Beginning(size).followed_by(ids).blocks

    one, two = blocks(2, (1, 2, 3, 4)), blocks(2, (9, 2, 3, 4))
    assert one[0] != two[0]
    assert one[1] != two[1]
    assert blocks(2, (1, 2, 3, 4, 5)) == one
    assert [len(blocks(32, (7,) * length)) for length in (0, 31, 32, 33, 64)] == [0, 0, 1, 1, 2]
