"""Votes by the real engine: every reply keeps its form, and each confidence is the model's own."""

import asyncio
import re
from collections.abc import Sequence
from dataclasses import replace
from math import exp
from statistics import fmean
from typing import Any

import pytest

from evaljudge.judges.roles.judge import Roles
from evaljudge.judges.roles.polling import CUT
from evaljudge.model import ModelAround
from evaljudge.model.asks import Prompt, Writing
from evaljudge.prompts import load_task
from evaljudge.records import Verdict
from tests.build import case
from tests.engines.oracle import Oracle

pytestmark = pytest.mark.engine

TASK = load_task("summary")
ARTICLE = "The river rose after two days of rain and the town council closed the old bridge. " * 12
CASE = case(
    "A flood closed a bridge.",
    "The town is fine.",
    source=ARTICLE,
    references=("The river rose, and the bridge was closed.",),
)


class Terse(ModelAround):
    """The real engine, made to end each line soon, as random weights would not; notes replies."""

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
        found.append(exp(fmean(logprobs[n] for n, (at, _) in places if start <= at < end)))
    return found


def verdicts(model: Terse, **settings: Any) -> tuple[Roles, list[Verdict]]:
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
    model = Terse(engine())
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
    model = Terse(engine())
    _, whole = verdicts(model)
    (spent,) = model.written[0][1].spent
    _, cut = verdicts(Terse(engine()), max_tokens=spent.generated - 2)
    before, after = votes(whole[:1], "fixed"), votes(cut[:1], "fixed")
    assert after[:-1] == [vote | {"confidence": pytest.approx(vote["confidence"], rel=1e-3)}
                          for vote in before[:-1]]  # fmt: skip
    assert after[-1] == {"failed": CUT.reason}
    _, nothing = verdicts(Terse(engine()), max_tokens=3)
    assert all("failed" in vote for vote in votes(nothing, "fixed"))
    assert sum(verdict.tokens.asks for verdict in nothing) == len(CASE.candidates)
