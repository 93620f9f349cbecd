"""Log-probabilities against transformers on the same weights, by an independent route.

The oracle renders with `apply_chat_template`, tokenises with the model's own tokenizer, finds each
spelling's ids by itself and adds up path probabilities over whole forward passes.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from evaljudge.engines.vllm import VllmModel
from evaljudge.model.asks import Chosen, Options, Prompt, Weighed

pytestmark = pytest.mark.engine


ARTICLE = (
    "The river rose after two days of rain and the town council closed the old bridge. "
    "Boats were sent from the city, and the weather forecast for the week was worse. "
) * 6
PROMPTS = [
    Prompt((f"Compare the two summaries.\n\nArticle:\n{ARTICLE}\n\nTarget: {t}",))
    for t in ("A flood closed a bridge.", "The town is fine.", "It rained; boats came.")
]
CASES = {
    "a token or so each": ("Better", "Worse", "Similar"),
    "a first token shared": ("similar weather", "similar city", "worse"),
    "three tokens": ("rain closed the", "bridge of boats", "old old old"),
    "one begins another": ("Better", "Better boats", "Worse"),
    "forms that tokenise alike": ("1", "2", "5"),
}


class Oracle:
    def __init__(self, folder: Path) -> None:
        import torch
        from transformers import AutoModelForCausalLM, AutoTokenizer

        self.torch = torch
        self.tokenizer = AutoTokenizer.from_pretrained(folder)
        self.model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()

    def render(self, text: str, reply: str = "") -> list[int]:
        tokenizer = self.tokenizer
        if tokenizer.chat_template:
            turns = [{"role": "user", "content": text}]
            said = tokenizer.apply_chat_template(turns, tokenize=False, add_generation_prompt=True)
        else:
            said = text + "\n\nAnswer:"
        return list(tokenizer(said + reply, add_special_tokens=False)["input_ids"])

    def rows(self, ids: list[int]) -> Any:
        with self.torch.no_grad():
            return self.model(self.torch.tensor([ids])).logits[0].log_softmax(-1)

    def path(self, prompt: list[int], path: list[int]) -> float:
        rows = self.rows(prompt + path)
        return sum(float(rows[len(prompt) - 1 + n][t]) for n, t in enumerate(path))

    def option(self, text: str, name: str, others: list[str]) -> float:
        prompt = self.render(text)
        mine, theirs = self.spellings(text, [name]), self.spellings(text, others)
        kept = [p for p in mine if not any(p != q and p[: len(q)] == q for q in mine)]
        total = 0.0
        for path in kept:
            value = self.path(prompt, path)
            if any(q[: len(path)] == path for q in theirs):
                rows = self.rows(prompt + path)
                value += float(rows[-1][self.tokenizer.eos_token_id])
            total += math.exp(value)
        return math.log(total)

    def spellings(self, text: str, names: list[str]) -> list[list[int]]:
        prompt = self.render(text)
        found = []
        for name in names:
            for form in {name, name.lower(), name.upper(), name.capitalize()}:
                for lead in ("", " "):
                    ids = self.render(text, lead + form)
                    if ids[: len(prompt)] == prompt and ids[len(prompt) :] not in found:
                        found.append(ids[len(prompt) :])
        return found


@pytest.fixture(scope="module")
def oracles(tiny: Callable[..., Path]) -> Callable[..., Oracle]:
    made: dict[tuple[str, bool], Oracle] = {}

    def make(pieces: str, chat: bool) -> Oracle:
        if (pieces, chat) not in made:
            made[pieces, chat] = Oracle(tiny(pieces, chat))
        return made[pieces, chat]

    return make


ON_BOTH = {("bytes", True, True), ("bytes", True, False), ("words", False, True)}
"""Also on the model runner that vLLM has for CUDA, in each CI run."""
MODELS = [
    pytest.param(*one, marks=pytest.mark.cuda_path if one in ON_BOTH else ())
    for one in product(("bytes", "words"), (True, False), (True, False))
]


@pytest.mark.parametrize(("pieces", "chat", "caching"), MODELS)
@pytest.mark.parametrize("names", CASES.values(), ids=CASES.keys())
def test_choose_is_exact(
    engine: Callable[..., VllmModel],
    oracles: Callable[..., Oracle],
    pieces: str,
    chat: bool,
    caching: bool,
    names: tuple[str, ...],
) -> None:
    """With every spelling followed; and with those alone that could move a probability by 1e-4."""
    model, oracle = engine(pieces, chat, caching, exactness=0.0), oracles(pieces, chat)
    replies = asyncio.run(model.choose(PROMPTS, Options(names)))
    usual = engine(pieces, chat, caching)
    for prompt, reply, other in zip(
        PROMPTS, replies, asyncio.run(usual.choose(PROMPTS, Options(names))), strict=True
    ):
        assert isinstance(reply, Chosen) and isinstance(other, Chosen)
        assert reply.left_out == 0 <= other.left_out <= 1e-4 * other.mass
        assert other.p == pytest.approx(reply.p, abs=1e-4)
        assert len(other.spent) <= len(reply.spent)
        wanted = {n: oracle.option(prompt.text, n, [o for o in names if o != n]) for n in names}
        for name in names:
            assert reply.logprobs[name] == pytest.approx(wanted[name], abs=1e-3)
        mass = sum(map(math.exp, wanted.values()))
        assert math.log(reply.mass) == pytest.approx(math.log(mass), abs=1e-3)
        for name in names:
            assert reply.p[name] == pytest.approx(math.exp(wanted[name]) / mass, abs=1e-4)


@pytest.mark.parametrize(("pieces", "chat", "caching"), MODELS)
def test_weigh_is_exact(
    engine: Callable[..., VllmModel],
    oracles: Callable[..., Oracle],
    pieces: str,
    chat: bool,
    caching: bool,
) -> None:
    model, oracle = engine(pieces, chat, caching), oracles(pieces, chat)
    texts = ["A flood closed the bridge." * n for n in (1, 3, 20)]
    for _ in range(2):  # the second time the texts were read before
        replies = asyncio.run(model.weigh(PROMPTS, texts))
        for prompt, text, reply in zip(PROMPTS, texts, replies, strict=True):
            assert isinstance(reply, Weighed)
            before = oracle.render(prompt.text)
            after = oracle.render(prompt.text, text)
            assert after[: len(before)] == before
            assert reply.total == pytest.approx(oracle.path(before, after[len(before) :]), abs=1e-3)
            assert len(reply.logprobs) == len(after) - len(before)
