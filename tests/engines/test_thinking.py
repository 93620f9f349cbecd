"""Thought before an answer, on the real engine: what is read after it is what transformers reads.

The tiny model's template opens a block of thoughts, and their end is as probable as that of a turn:
so some thoughts are ended, some end with the turn, and some are cut.
"""

import asyncio
import json
import shutil
from math import exp, fsum, log, sqrt
from pathlib import Path
from statistics import fmean, stdev
from typing import Any
from unittest.mock import patch

import pytest

from evaljudge import run
from evaljudge.engines import ModelSource, VllmEngines
from evaljudge.engines.endpoint.settings import Endpoint
from evaljudge.engines.source import Thinking
from evaljudge.errors import CapReached, UserError
from evaljudge.model.asks import Chosen, Failed, Options, Prompt, Writing
from evaljudge.model.counting import CountingModel
from tests.build import config, document, jsonl, planned_text, stored
from tests.engines.conftest import SMALL
from tests.engines.oracle import Oracle
from tests.engines.vllm_server import serving
from tests.tiny import CHAT_TEMPLATE

pytestmark = pytest.mark.engine
NAMES = ("Better", "Worse", "Similar")
END = "</think>\n\n"
ARTICLE = "The river rose after two days of rain and the town council closed the bridge. " * 8
PROMPTS = [Prompt(("Compare.\n", ARTICLE, f"\nTarget: {n} boats."), 1) for n in range(6)]


@pytest.fixture(scope="module")
def thinker(tiny, tmp_path_factory):
    """`<pad>` becomes `</think>`, and the model says it about as often as it ends its turn."""
    from safetensors.numpy import load_file, save_file

    folder = Path(shutil.copytree(tiny(), tmp_path_factory.mktemp("thinker") / "model"))
    for name in ("tokenizer.json", "tokenizer_config.json"):
        text = (folder / name).read_text().replace("<pad>", "</think>")
        (folder / name).write_text(text)
    file = folder / "tokenizer_config.json"
    opening = CHAT_TEMPLATE.replace("<|assistant|>\n", "<|assistant|>\n<think>\n")
    file.write_text(json.dumps(json.loads(file.read_text()) | {"chat_template": opening}))
    weights = load_file(folder / "model.safetensors")
    said = weights["lm_head.weight"]
    said[0] = said[2]
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    return folder


@pytest.fixture
def opened(thinker, shared_engines):
    def open_one(**thinking: Any) -> Any:
        how = Thinking(**{"tokens": 24, "temperature": 1.0} | thinking) if thinking else None
        source = ModelSource(str(thinker), engine=SMALL, exactness=0.0, reply="", thinking=how)
        return shared_engines.open(source, seed=0)

    return open_one


def chosen(model: Any, prompts: list[Prompt] = PROMPTS) -> list[Chosen]:
    replies = asyncio.run(model.choose(prompts, Options(NAMES)))
    assert all(isinstance(reply, Chosen) for reply in replies), replies
    return list(replies)


def after(oracle: Oracle, begun: tuple[int, ...]) -> dict[str, float]:
    """The probability of each answer after these ids."""

    def ids(text: str) -> list[int]:
        return list(oracle.tokenizer(text, add_special_tokens=False)["input_ids"])

    def p(name: str) -> float:
        forms = {lead + f for f in (name, name.lower(), name.upper()) for lead in ("", " ")}
        paths = {tuple(ids(END + form)[len(ids(END)) :]) for form in forms}
        return fsum(exp(oracle.path(list(begun), list(path))) for path in paths)

    return {name: p(name) for name in NAMES}


@pytest.mark.cuda_path
def test_answers_are_read_after_each_thought_and_averaged(opened, thinker):
    model, oracle, asked = opened(tokens=24, samples=4), Oracle(thinker), dict[Any, Any]()
    closed = model._thinker.closed

    def noting(before: Any, ids: tuple[int, ...]) -> Any:
        begun = closed(before, ids)
        asked.setdefault(before.ids, {})[ids] = begun.ids
        return begun

    with patch.object(model._thinker, "closed", noting):
        replies = chosen(model)
    by_prompt = {oracle.tokenizer.decode(ids): begun for ids, begun in asked.items()}
    ended = set[str]()
    for prompt, reply in zip(PROMPTS, replies, strict=True):
        (before,) = [text for text in by_prompt if prompt.text in text]
        assert before.endswith("<|assistant|>\n<think>\n")
        begun = list(by_prompt[before].values())
        assert len(begun) == len(reply.thoughts) == 4
        each = [after(oracle, ids) for ids in begun]
        shares = [{n: p / fsum(one.values()) for n, p in one.items()} for one in each]
        for name in NAMES:
            wanted = log(fmean(one[name] for one in each))
            assert reply.logprobs[name] == pytest.approx(wanted, abs=1e-3)
        spread = max(stdev(one[name] for one in shares) / sqrt(4) for name in NAMES)
        assert reply.within == pytest.approx(spread, abs=1e-3)
        for (ids, whole), thought in zip(by_prompt[before].items(), reply.thoughts, strict=True):
            is_ended = oracle.tokenizer.decode(ids[-1:]) == "</think>"
            assert thought.finish == ("stop" if is_ended else "length")
            assert oracle.tokenizer.decode(whole).endswith(END if is_ended else f"\n{END}")
            assert thought.text == oracle.tokenizer.decode(ids, skip_special_tokens=True)
            ended.add(thought.finish)
        assert reply.evidence["thoughts"] == [t.text for t in reply.thoughts if t.text]
    assert ended == {"stop", "length"}, "some are cut, and some are not"


def test_a_thought_costs_its_own_tokens_and_shares_its_prompt(opened):
    counting = CountingModel(opened(tokens=40, samples=3))
    replies = chosen(counting)  # type: ignore[arg-type]
    thoughts = [thought for reply in replies for thought in reply.thoughts]
    cut = sum(thought.finish == "length" for thought in thoughts)
    assert (counting.masses.thoughts, counting.masses.cut) == (18, cut)
    assert counting.tokens.asks == len(PROMPTS)
    for reply in replies:
        thought, *read = reply.spent
        assert len(read) == 3 and 3 <= thought.generated - len(read) <= 3 * 40
        for each in read:  # all but what follows the prompt, and a block, is there
            assert each.cached >= thought.prompt - 2 * each.block_size


@pytest.mark.cuda_path
def test_it_thinks_alike_alone_together_and_again(opened):
    """So a resumed run has the thoughts that one which was not killed would have had."""
    for how in ({"temperature": 0.0}, {"samples": 3}):
        model = opened(tokens=24, **how)
        if "samples" in how and not model._takes_seeds:
            continue  # the CPU build's own model runner takes no seeds
        together = chosen(model)
        alone = [chosen(model, [prompt])[0] for prompt in reversed(PROMPTS)][::-1]
        for one, other in zip(together, alone, strict=True):
            assert one.thoughts == other.thoughts
            assert one.logprobs == pytest.approx(other.logprobs, abs=1e-4)


def test_what_is_written_is_asked_for_without_a_thought(opened):
    how = Writing(max_tokens=8)
    with_thoughts, without = (
        asyncio.run(m.write(PROMPTS, how)) for m in (opened(tokens=9), opened())
    )
    assert [r.samples for r in with_thoughts] == [r.samples for r in without]


def test_thoughts_that_are_not_kept_are_counted(opened):
    kept, dropped = (chosen(opened(tokens=3, temperature=0.0, keep=k)) for k in (True, False))
    for one, other in zip(kept, dropped, strict=True):
        assert one.cut_thoughts == other.cut_thoughts
        assert "thoughts" not in other.evidence
        assert other.logprobs == pytest.approx(one.logprobs, abs=1e-4)


def test_a_prompt_with_no_room_for_a_thought_has_its_reason(opened):
    long = Prompt(("The river rose. " * 1990,))
    (reply,) = asyncio.run(opened(tokens=4000).choose([long], Options(NAMES)))
    assert isinstance(reply, Failed) and reply.reason.startswith("prompt too long: ")


def test_a_run_that_is_cut_short_goes_on_to_the_same_verdicts(thinker, shared_engines, tmp_path):
    jsonl(tmp_path / "cases.jsonl", [document(n, fluency=n % 3 + 1.0) for n in range(4)])
    thinking = {"tokens": 1, "temperature": 0}
    model = {"source": str(thinker), "engine": SMALL, "least_mass": 0, "thinking": thinking}

    def verdicts(name: str, most: int | None = None) -> Any:
        wanted = config(tmp_path, model=model, judges={"pairs": {}}, coverage_floor=0)
        wanted |= {"out": str(tmp_path / name), "most": {"asks": most} if most else None}
        outcome = run(wanted, engines=shared_engines)
        return outcome, stored(tmp_path / name / "verdicts/pairs")

    outcome, whole = verdicts("whole")
    with pytest.raises(CapReached):
        verdicts("cut", most=5)
    _, resumed = verdicts("cut")
    for one, other in zip(whole, resumed, strict=True):
        mine, theirs = (json.loads(row["evidence"])["comparisons"] for row in (one, other))
        for pair, again in zip(mine, theirs, strict=True):
            assert pair["first after"] == again["first after"]
            assert pair["first"] == pytest.approx(again["first"], abs=1e-4)
    mass = json.loads((tmp_path / "whole/run.json").read_text())["mass"]["pairs"]
    assert mass["thoughts"] == mass["thoughts_cut"] == 8
    assert any("thoughts were cut, and closed" in warning for warning in outcome.warnings)
    (signature,) = {row["signature"] for row in stored(tmp_path / "whole/scores")}
    assert 'thinking {"tokens": 1, "samples": 1, "temperature": 0.0}' in signature
    page = (tmp_path / "whole/report/index.html").read_text()
    assert "The model thought: " in page


def test_a_template_without_thoughts_is_refused(tiny, tmp_path):
    jsonl(tmp_path / "cases.jsonl", [document(0)])
    model = {"source": str(tiny()), "thinking": {"tokens": 12}}
    with pytest.raises(UserError, match=r"^model\.thinking: .* opens no block of thoughts"):
        run(config(tmp_path, model=model))


def test_answers_that_it_does_not_come_to_end_the_run_with_its_thought(
    thinker, shared_engines, tmp_path
):
    jsonl(tmp_path / "cases.jsonl", [document(0)])
    model = {"source": str(thinker), "engine": SMALL, "thinking": {"tokens": 3, "temperature": 0}}
    asked = config(tmp_path, model=model, judges={"pairs": {}, "direct": {"steps": False}})
    with pytest.raises(
        UserError, match="it had thought “.*”. Let it think longer, `thinking: "
    ) as no:
        run(asked, engines=shared_engines)
    assert "\n" not in str(no.value)
    plan = planned_text(asked)
    assert "Thoughts are planned as long as they may be" in plan
    assert "judges.direct has no probabilities of answers read" in plan
    assert "judges.pairs has" not in plan


@pytest.mark.long
def test_vllm_s_own_server_thinks_as_the_engine_here(opened, thinker, tmp_path):
    here = chosen(opened(tokens=24, temperature=0.0))
    with serving(thinker, tmp_path / "log") as server:
        how = Thinking(tokens=24, temperature=0.0)
        source = ModelSource("m", endpoint=Endpoint(url=server.url), exactness=0.0, thinking=how)
        model = VllmEngines().open(source, seed=0)
        there = chosen(model)
        model.close()
    for one, other in zip(here, there, strict=True):
        assert one.thoughts == other.thoughts
        assert other.logprobs == pytest.approx(one.logprobs, abs=1e-3)
