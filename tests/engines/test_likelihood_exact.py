"""`likelihood` on a real engine: its score is the mean log-probability that transformers gives."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest

from evaljudge.engines.vllm import VllmModel
from evaljudge.judges.likelihood.judge import Likelihood
from evaljudge.model import ModelAround
from evaljudge.prompts import load_task
from evaljudge.records import Candidate, Case, Document

pytestmark = pytest.mark.engine

TASK = load_task("summary", ["fluency", "relevance"])
CASE = Case(
    Document(
        "d1", "The river rose after two days of rain. The town council closed the bridge. " * 4
    ),
    (Candidate("A", "A flood closed the bridge."), Candidate("B", "Boats were sent. " * 20)),
)
EXAMPLES = [{"source": "Snow fell on the city.", "target": "It snowed.", "axis": "fluency"}]


class Noting(ModelAround):
    def __init__(self, model: Any) -> None:
        super().__init__(model)
        self.asked: list[tuple[str, str]] = []

    async def weigh(self, prompts: Any, texts: Any) -> Any:
        self.asked += [(p.text, text) for p, text in zip(prompts, texts, strict=True)]
        return await super().weigh(prompts, texts)


def mean_by_transformers(folder: Path, prompt: str, text: str) -> float:
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    before = prompt + "\n\nAnswer:"
    if tokenizer.chat_template:
        turns = [{"role": "user", "content": prompt}]
        before = tokenizer.apply_chat_template(turns, tokenize=False, add_generation_prompt=True)
    start, ids = (
        tokenizer(said, add_special_tokens=False)["input_ids"] for said in (before, before + text)
    )
    assert ids[: len(start)] == start
    with torch.no_grad():
        rows = model(torch.tensor([ids])).logits[0].log_softmax(-1)
    return fmean(float(rows[n - 1][ids[n]]) for n in range(len(start), len(ids)))


@pytest.mark.parametrize("chat", [True, False])
@pytest.mark.parametrize("settings", [{}, {"reversed": True}, {"demonstrations": EXAMPLES}])
def test_the_score_is_the_mean_log_probability(
    engine: Callable[..., VllmModel],
    tiny: Callable[..., Path],
    settings: dict[str, Any],
    chat: bool,
) -> None:
    one, model = Likelihood(settings, TASK), Noting(engine("bytes", chat))
    found = asyncio.run(one.verdicts(CASE, [], model)).verdicts
    assert [(v.axis, v.system) for v in found] == [
        (axis, system) for axis in ("fluency", "relevance") for system in "AB"
    ]
    for verdict, asked in zip(found, model.asked, strict=True):
        (score,) = one.score(verdict)
        wanted = mean_by_transformers(tiny("bytes", chat), *asked)
        assert score.value == pytest.approx(wanted, abs=1e-3)
