"""Batch files: what is left to ask goes out as lines, and replies come in, in any order."""

import json
import random
from collections.abc import Mapping
from math import exp, log
from pathlib import Path
from typing import Any

import pytest

import evaljudge
from evaljudge.bundled.nano import CHECKPOINT
from evaljudge.bundled.world import make_cases
from evaljudge.engines import ModelSource
from evaljudge.engines.endpoint.batch import BatchEngines
from evaljudge.engines.endpoint.model import EndpointModel
from evaljudge.engines.scripted import ScriptedEngines, noise
from tests import build
from tests.build import command
from tests.engines.conftest import SMALL
from tests.engines.vllm_server import answer_file

TOKENS = ("Better", "Worse", "Similar", "1", "2", "3", "4", "5", "Well")
JUDGES = {"synthetic": {"levels": 3}, "geval": {}, "direct": {"steps": False}}
AXES = ["fluency", "coherence"]
MODEL = {"endpoint": {"url": "https://api.example.org/v1", "widest": 1}, "name": "gpt-x"}


def answer(body: Mapping[str, Any]) -> dict[str, Any]:
    """What a provider says, the same to the same question."""
    prompt = body["messages"][0]["content"]
    weights = {token: noise(prompt, token) for token in TOKENS}
    total = sum(weights.values())
    shown = [{"token": t, "logprob": log(weights[t] / total)} for t in TOKENS]
    said = {"content": f"{1 + int(noise(prompt) * 5)}"}
    choices = [
        {"index": n, "message": said, "finish_reason": "stop"} for n in range(body.get("n", 1))
    ]
    if "top_logprobs" in body:
        choices[0]["logprobs"] = {"content": [{"token": TOKENS[0], "top_logprobs": shown}]}
    elif body.get("n", 1) > 1:
        for n, choice in enumerate(choices):
            choice["message"] = {"content": random.Random(f"{prompt}{n}").choice(TOKENS)}
    usage = {"prompt_tokens": len(prompt.split()), "completion_tokens": 1}
    return {"model": body["model"], "choices": choices, "usage": usage}


class Provider(BatchEngines):
    """Answers at once, as an endpoint would."""

    async def run(self, work: Any) -> Any:
        return await work

    async def ask(self, path: str, body: Any, **_: Any) -> Any:
        return answer(body)

    def close(self) -> None: ...

    def open(self, source: ModelSource, seed: int) -> EndpointModel:
        model = super().open(source, seed)
        self.endpoint = model._client.endpoint
        model._client = self  # type: ignore[assignment]
        return model


@pytest.fixture
def bench(tmp_path):
    bench = build.Bench(tmp_path, judges=JUDGES, model=MODEL, axes=AXES)
    bench.corpus(build.numbered(*range(5)))
    return bench


def total(out: Path, what: str) -> int:
    return int(json.loads((out / "run.json").read_text())["total"][what])


@pytest.mark.parametrize("samples", [0, pytest.param(40, marks=pytest.mark.long)])
def test_a_run_by_files_equals_one_over_the_wire(bench, capsys, samples):
    direct = bench.config(out=str(bench.folder / "direct"))
    evaljudge.run(direct, engines=Provider({}, samples))
    config = bench.folder / "config.json"
    config.write_text(json.dumps(bench.config()))
    asks, replies, run = bench.folder / "asks.jsonl", bench.folder / "replies.jsonl", str(bench.out)
    draw, rounds, asked = random.Random(7), 0, list[str]()
    given = [str(config), "asks", "--out", str(asks), "--samples", str(samples)]
    while "nothing is left" not in command(capsys, "export", *given)[0]:
        given = [run, "asks", "--to", str(asks), "--force"]
        lines, rounds = build.lines(asks), rounds + 1
        asked += [line["custom_id"] for line in lines]
        done = [(line["custom_id"], answer(line["body"])) for line in lines]
        draw.shuffle(done)
        came = [
            {"custom_id": key, "response": {"status_code": 200, "body": body}} for key, body in done
        ]
        if rounds == 1:
            error = {"custom_id": came[0]["custom_id"], "response": None, "error": {"code": "late"}}
            came[:2] = [error, came[1], came[1], came[2] | {"custom_id": "else"}]
            came.remove(came[4])
        build.jsonl(replies, came)
        said, _ = command(capsys, "import", run, str(replies))
        if rounds == 1:
            first, second, *_ = done
            assert f"{len(lines) - 2} replies taken, of {len(lines)} asked\n" in said
            assert f'error      1: {replies}:1 ({first[0]}: {{"code": "late"}})\n' in said
            assert f"doubled    1: {replies}:3 ({second[0]})\n" in said
            assert f"unknown    1: {replies}:4 (else)\n" in said
            assert "missing    2: " in said
    assert len(asked) - 2 == len({*asked}), "what came is not asked again"
    assert rounds == 5, "references, those between, comparisons, checks; one more for what was lost"
    assert "all is answered; next: evaljudge report" in said
    command(capsys, "run" if samples else "report", str(config))
    assert build.compared(bench.out) == build.compared(bench.folder / "direct")
    assert not (bench.out / "partial").exists()
    # the steps, which all documents share, were answered before a case of theirs was done
    assert total(bench.folder / "direct", "asks") - total(bench.out, "asks") <= len(AXES)


def test_a_run_is_asked_by_files_alone_or_not_at_all(bench, capsys):
    given = bench.config(model="m", workers={"executor": "local"})
    evaljudge.run(given, engines=ScriptedEngines())
    wanted = ["export", str(bench.out), "asks", "--to", str(bench.folder / "asks.jsonl")]
    assert "begun with another way of reading" in command(capsys, *wanted, code=2)[1]
    config = bench.folder / "config.json"
    config.write_text(json.dumps(bench.config(out=str(bench.folder / "files"))))
    command(capsys, "export", str(config), *wanted[2:])
    said = command(capsys, "run", str(config), code=2)[1]
    assert "questions wait for replies of batch files: `evaljudge export" in said


@pytest.mark.engine
@pytest.mark.long
def test_vllms_run_batch_has_the_probabilities_of_the_engine_here(bench, capsys):
    bench.corpus([row | {"candidates": row["candidates"][:2]} for row in make_cases(6, seed=7)])
    here, there = bench.folder / "here", bench.folder / "there"
    asked = {"judges": {"pairs": {}}, "prompts": "nano"}
    engine = {"source": "nano", "engine": SMALL}
    evaljudge.run(bench.config(**asked, model=engine, out=str(here)))
    files = {"endpoint": "http://localhost/v1", "name": "m"}
    config, asks, replies = (bench.folder / name for name in ("c.json", "asks", "replies"))
    config.write_text(json.dumps(bench.config(**asked, model=files, out=str(there))))
    command(capsys, "export", str(config), "asks", "--to", str(asks))
    answer_file(CHECKPOINT, asks, replies)
    assert "all is answered" in command(capsys, "import", str(there), str(replies))[0]
    ours, theirs = probabilities(here), probabilities(there)
    assert len(ours) == 6 * 2 * len(AXES) * 2 * 3
    assert theirs == pytest.approx(ours, abs=1e-3)


def probabilities(out: Path) -> dict[str, float]:
    """Of each answer to each comparison, in both orders."""
    return {
        f"{row['doc_id']} {row['system']} {row['axis']} {place} {answer}": exp(logprob)
        for row in build.stored(out / "verdicts")
        for place in ("first", "second")
        for answer, logprob in json.loads(row["evidence"])["comparisons"][0][place].items()
    }
