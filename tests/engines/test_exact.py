"""Log-probabilities, and what `likelihood` and `roles` make of them, are those of transformers."""

import asyncio
import math
import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from statistics import fmean
from typing import Any

import pytest

from evaljudge.judges.likelihood.judge import Likelihood
from evaljudge.judges.roles.judge import Roles
from evaljudge.judges.roles.polling import CUT
from evaljudge.model import ModelAround
from evaljudge.model.asks import Options, Prompt, Writing
from evaljudge.prompts import load_task
from evaljudge.records import Verdict
from tests.build import case
from tests.engines.oracle import Oracle

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
OFTEN = {("bytes", True, True), ("words", False, True)}
"""The others are long."""
MODELS = [
    pytest.param(
        *one,
        marks=[pytest.mark.cuda_path] * (one in ON_BOTH) + [pytest.mark.long] * (one not in OFTEN),
    )
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


TASK = load_task("summary")
CASE = case(
    "A flood closed a bridge.",
    "Boats were sent. " * 20,
    source="The river rose after two days of rain. The town council closed the bridge. " * 8,
    references=("The river rose, and the bridge was closed.",),
)
EXAMPLES = [{"source": "Snow fell on the city.", "target": "It snowed.", "axis": "fluency"}]


class Noting(ModelAround):
    """Notes what the engine is asked, which is made to end each line soon."""

    def __init__(self, model: Any) -> None:
        super().__init__(model)
        self.written: list[tuple[Prompt, Any, Writing]] = []
        self.weighed: list[tuple[Prompt, str]] = []

    async def write(self, prompts: Any, how: Writing) -> Any:
        shorter = (how.regex or "").replace(r"[^\n]+", r"[^\n]{1,40}")
        replies = await super().write(prompts, replace(how, regex=shorter))
        self.written += [(*two, how) for two in zip(prompts, replies, strict=True)]
        return replies

    async def weigh(self, prompts: Any, texts: Any) -> Any:
        self.weighed += zip(prompts, texts, strict=True)
        return await super().weigh(prompts, texts)


@pytest.mark.parametrize("chat", [True, False])
@pytest.mark.parametrize("settings", [{}, {"reversed": True}, {"demonstrations": EXAMPLES}])
def test_the_score_is_the_mean_log_probability(engine, oracles, settings, chat):
    task = load_task("summary", ["fluency", "relevance"])
    one, model = Likelihood(settings, task), Noting(engine("bytes", chat))
    oracle = oracles("bytes", chat)
    found = asyncio.run(one.verdicts(CASE, [], model)).verdicts
    assert [(v.axis, v.system) for v in found] == [
        (axis, system) for axis in ("fluency", "relevance") for system in ("s0", "s1")
    ]
    for verdict, (prompt, text) in zip(found, model.weighed, strict=True):
        (score,) = one.score(verdict)
        before, whole = (oracle.render(prompt.text, reply) for reply in ("", text))
        assert whole[: len(before)] == before
        path = whole[len(before) :]
        wanted = oracle.path(before, path) / len(path)
        assert score.value == pytest.approx(wanted, abs=1e-3)


# votes


def confidences(oracle: Oracle, prompt: str, reply: str) -> list[float]:
    """The mean over the tokens that offsets place in a vote's choice and reason."""
    turns = [{"role": "user", "content": prompt}]
    before = oracle.tokenizer.apply_chat_template(turns, tokenize=False, add_generation_prompt=True)
    told = oracle.tokenizer(before + reply, add_special_tokens=False, return_offsets_mapping=True)
    ids, rows = told["input_ids"], oracle.rows(told["input_ids"])
    logprobs = [float(rows[n - 1][token]) for n, token in enumerate(ids)]
    found = []
    for line in re.finditer(r"[^\n]+", reply):
        start = len(before) + line.start() + line[0].index(": ") + 1
        end = len(before) + line.end()
        places = enumerate(told["offset_mapping"])
        found.append(math.exp(fmean(logprobs[n] for n, (at, _) in places if start <= at < end)))
    return found


def verdicts(model: Noting, **settings: Any) -> tuple[Roles, list[Verdict]]:
    one = Roles({"dynamic": 0, "max_tokens": 2000} | settings, TASK)
    return one, asyncio.run(one.verdicts(CASE, [], model)).verdicts


def votes(found: Sequence[Verdict], order: str) -> list[dict[str, Any]]:
    return [role["votes"][order] for one in found for role in one.evidence["roles"]]


@pytest.mark.parametrize(
    ("settings", "replies"),
    [({"order": "both"}, 4), ({"batch": False}, 6), ({"batch": False, "order": "swapped"}, 6)],
)
def test_replies_keep_their_form_and_confidences_are_the_model_s(
    engine, oracles, settings, replies
):
    model = Noting(engine())
    one, found = verdicts(model, **settings)
    assert len(model.written) == len(model.weighed) == replies
    wanted: list[float] = []
    for prompt, reply, how in model.written:
        assert how.regex and re.fullmatch(how.regex, reply.text)
        assert (prompt, reply.text) in model.weighed
        wanted += confidences(oracles("bytes", True), prompt.text, reply.text)
    chosen = settings.get("order", "fixed")
    orders = ["fixed", "swapped"] if chosen == "both" else [chosen]
    cast = [vote for order in orders for vote in votes(found, order)]
    assert sorted(vote["confidence"] for vote in cast) == pytest.approx(sorted(wanted), rel=2e-3)
    assert all(score.value is not None for verdict in found for score in one.score(verdict))
    assert sum(verdict.tokens.asks for verdict in found) == 2 * replies


def test_a_token_limit_leaves_the_votes_that_were_whole(engine):
    model = Noting(engine())
    _, whole = verdicts(model)
    (spent,) = model.written[0][1].spent
    _, cut = verdicts(Noting(engine()), max_tokens=spent.generated - 2)
    before, after = votes(whole[:1], "fixed"), votes(cut[:1], "fixed")
    assert after[:-1] == [vote | {"confidence": pytest.approx(vote["confidence"], rel=1e-3)}
                          for vote in before[:-1]]  # fmt: skip
    assert after[-1] == {"failed": CUT.reason}
    _, nothing = verdicts(Noting(engine()), max_tokens=3)
    assert all("failed" in vote for vote in votes(nothing, "fixed"))
    assert sum(verdict.tokens.asks for verdict in nothing) == len(CASE.candidates)
