"""Log-probabilities, and the score of `likelihood`, are those that transformers gives."""

import asyncio
import math
from itertools import product
from typing import Any

import pytest

from evaljudge.judges.likelihood.judge import Likelihood
from evaljudge.model import ModelAround
from evaljudge.model.asks import Options, Prompt
from evaljudge.prompts import load_task
from tests.build import case

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


ON_BOTH = {("bytes", True, True), ("bytes", True, False), ("words", False, True)}
"""Also on the model runner that vLLM has for CUDA, in each CI run."""
MODELS = [
    pytest.param(*one, marks=pytest.mark.cuda_path if one in ON_BOTH else ())
    for one in product(("bytes", "words"), (True, False), (True, False))
]


@pytest.mark.parametrize(("pieces", "chat", "caching"), MODELS)
@pytest.mark.parametrize("names", CASES.values(), ids=CASES.keys())
def test_choose_is_exact(engine, oracles, pieces, chat, caching, names):
    """With every spelling followed; and with those alone that could move a probability by 1e-4."""
    model, oracle = engine(pieces, chat, caching, exactness=0.0), oracles(pieces, chat)
    replies = asyncio.run(model.choose(PROMPTS, Options(names)))
    usual = engine(pieces, chat, caching)
    for prompt, reply, other in zip(
        PROMPTS, replies, asyncio.run(usual.choose(PROMPTS, Options(names))), strict=True
    ):
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
def test_weigh_is_exact(engine, oracles, pieces, chat, caching):
    model, oracle = engine(pieces, chat, caching), oracles(pieces, chat)
    texts = ["A flood closed the bridge." * n for n in (1, 3, 20)]
    for _ in range(2):  # the second time the texts were read before
        replies = asyncio.run(model.weigh(PROMPTS, texts))
        for prompt, text, reply in zip(PROMPTS, texts, replies, strict=True):
            before = oracle.render(prompt.text)
            after = oracle.render(prompt.text, text)
            assert after[: len(before)] == before
            assert reply.total == pytest.approx(oracle.path(before, after[len(before) :]), abs=1e-3)
            assert len(reply.logprobs) == len(after) - len(before)


TASK = load_task("summary", ["fluency", "relevance"])
RAIN = "The river rose after two days of rain. The town council closed the bridge. " * 4
CASE = case("A flood closed the bridge.", "Boats were sent. " * 20, source=RAIN)
EXAMPLES = [{"source": "Snow fell on the city.", "target": "It snowed.", "axis": "fluency"}]


class Noting(ModelAround):
    def __init__(self, model: Any) -> None:
        super().__init__(model)
        self.asked: list[tuple[str, str]] = []

    async def weigh(self, prompts: Any, texts: Any) -> Any:
        self.asked += [(p.text, text) for p, text in zip(prompts, texts, strict=True)]
        return await super().weigh(prompts, texts)


@pytest.mark.parametrize("chat", [True, False])
@pytest.mark.parametrize("settings", [{}, {"reversed": True}, {"demonstrations": EXAMPLES}])
def test_the_score_is_the_mean_log_probability(engine, oracles, settings, chat):
    one, model = Likelihood(settings, TASK), Noting(engine("bytes", chat))
    oracle = oracles("bytes", chat)
    found = asyncio.run(one.verdicts(CASE, [], model)).verdicts
    assert [(v.axis, v.system) for v in found] == [
        (axis, system) for axis in ("fluency", "relevance") for system in ("s0", "s1")
    ]
    for verdict, asked in zip(found, model.asked, strict=True):
        (score,) = one.score(verdict)
        before, whole = (oracle.render(asked[0], reply) for reply in ("", asked[1]))
        assert whole[: len(before)] == before
        path = whole[len(before) :]
        wanted = oracle.path(before, path) / len(path)
        assert score.value == pytest.approx(wanted, abs=1e-3)
