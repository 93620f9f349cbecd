"""Prompt log-probabilities that an engine leaves out: asked for again, and then a reason.

Rows are missing where the prefix cache served a token, or where a request was preempted in the
middle of its prompt (vLLM's second model runner forgets what it had).
"""

import asyncio
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest

from evaljudge.engines.sampling import Sampling
from evaljudge.engines.vllm import VllmModel
from evaljudge.model.asks import Prompt

pytestmark = [pytest.mark.engine, pytest.mark.cuda_path]
PROMPT, SINCE = (7, 8, 9, 5, 6), 3
ASKED = [Prompt(("The river rose after two days of rain. " * 30,))]


def row(token: int, value: float) -> dict[int, Any]:
    return {token: SimpleNamespace(logprob=value)}


@pytest.mark.parametrize(
    ("rows", "found"),
    [
        ([None, row(8, -1), row(9, -2), row(5, -3), row(6, -4)], (-3.0, -4.0)),
        ([row(5, -3), row(6, -4)], (-3.0, -4.0)),  # only of tokens that were computed
        ([row(6, -4)], None),
        ([row(8, -1), row(9, -2)], None),  # others', where memory was not written
        ([], None),
        (None, None),
    ],
)
def test_rows_are_found_from_the_end_by_the_tokens_asked_for(rows, found):
    sampling = Sampling([], takes_rows=False)
    output = SimpleNamespace(num_cached_tokens=0, prompt_logprobs=rows)
    assert sampling.of_prompt(output, PROMPT, SINCE) == found
    assert sampling.of_prompt(SimpleNamespace(num_cached_tokens=SINCE), PROMPT, SINCE) is None


def test_of_chosen_rows_there_are_all_or_none():
    sampling = Sampling([], takes_rows=True)
    output = SimpleNamespace(num_cached_tokens=0, prompt_token_id_logprobs=np.array([[-3], [-4]]))
    assert sampling.of_prompt(output, PROMPT, SINCE) == (-3.0, -4.0)
    output.prompt_token_id_logprobs = None
    assert sampling.of_prompt(output, PROMPT, SINCE) is None


@pytest.fixture
def losing(engine):
    """A model whose engine gives no row of a prompt in the first so many of its outputs."""
    model = engine()
    given = model._sampling.of_prompt
    losses: list[bool] = []

    def of_prompt(output: Any, prompt: Sequence[int], since: int) -> tuple[float, ...] | None:
        is_lost = output.__dict__.setdefault("lost", bool(losses) and losses.pop())
        return None if is_lost else given(output, tuple(prompt), since)

    def lose(count: int) -> VllmModel:
        losses.extend([True] * count)
        return model

    with patch.object(model._sampling, "of_prompt", of_prompt):
        yield lose


def test_a_text_whose_rows_are_missing_is_weighed_again(losing):
    texts = ["A flood closed the bridge."]
    (wanted,) = asyncio.run(losing(0).weigh(ASKED, texts))
    (again,) = asyncio.run(losing(1).weigh(ASKED, texts))
    (never,) = asyncio.run(losing(2).weigh(ASKED, texts))
    assert len(again.spent) == 2
    assert again.spent[1].cached == 0
    assert again.logprobs == pytest.approx(wanted.logprobs, abs=1e-4)
    assert never.reason == "the engine gave no probability of a token of the text"
