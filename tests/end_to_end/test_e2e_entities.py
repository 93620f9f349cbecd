"""The judge of entities on the real engine, over three SummEval documents.

The model is tiny and random: what it says means nothing, but it says it under a schema, and votes.
"""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from evaljudge import run
from tests import build
from tests.tiny import make_tiny_model

CORPUS = Path(__file__).parents[3] / "shared" / "data" / "summeval.jsonl"
SETTINGS = {"at_least": 1, "most_entities": 3, "max_tokens": 1024, "votes": "modelled"}
ENGINE = {"dtype": "float32", "kv_cache_memory_bytes": 1 << 28, "block_size": 32}
SYSTEMS = 3
LEAST_SHARE = 0.9
"""Of what is prefilled, that which no cache could have saved."""


pytestmark = [pytest.mark.engine, pytest.mark.long]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    if not CORPUS.exists():
        pytest.skip("the shared human judgements are not here")
    folder = tmp_path_factory.mktemp("entities")
    lines = CORPUS.read_text().splitlines()
    rows = [json.loads(line) for line in lines[:3]]
    cut = (row | {"candidates": row["candidates"][:SYSTEMS]} for row in rows)
    (folder / "three.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in cut))
    answers = "Yes No Contradict Partially Unknown " * 500  # a token each, as of any real model
    texts = [answers, *(json.loads(line)["source"] for line in lines[:40])]
    make_tiny_model(folder / "tiny", texts)
    return folder


def model_of(folder: Path) -> dict[str, Any]:
    return {"source": str(folder / "tiny"), "engine": ENGINE, "least_mass": 0}


@pytest.fixture(scope="module")
def finished(folder, shared_engines):
    config = {
        "corpus": str(folder / "three.jsonl"),
        "out": str(folder / "out"),
        "model": model_of(folder),
        "judges": {"entities": SETTINGS},
        "coverage_floor": 0.5,
    }
    (folder / "config.yaml").write_text(json.dumps(config))
    assert run(config, engines=shared_engines).exit_code == 0
    return folder / "out"


def told(table: Path, column: str) -> list[dict[str, Any]]:
    return [json.loads(row[column]) for row in build.stored(table)]


def test_every_reply_that_ended_parses_and_the_share_of_cut_ones_is_said(finished):
    replies: Counter[str] = Counter()
    for one in (*told(finished / "briefs", "content"), *told(finished / "verdicts", "evidence")):
        replies.update(one["replies"])
    print(f"structured replies: {dict(replies)}, {replies['cut'] / replies['structured']:.1%} cut")
    assert replies["structured"] > 3 * 11 + 3 * SYSTEMS
    assert replies["malformed"] == 0


def test_what_has_a_verdict_has_a_score_and_all_else_its_reason(finished):
    rows = pq.read_table(finished / "scores").to_pylist()
    counts = Counter((row["scorer"], row["axis"]) for row in rows)
    assert set(counts.values()) == {3 * SYSTEMS}
    assert all((row["value"] is None) == bool(row["reason"]) for row in rows)
    scored = Counter(row["scorer"] for row in rows if row["status"] == "ok")
    assert (
        scored["entities.completeness"] == 3 * SYSTEMS
    )  # `at_least: 1`: every document has a rubric
    assert scored["entities.readability"] == 3 * SYSTEMS
    assert scored["entities.correctness"] == scored["entities.correctness.modelled"] > 0
    fitted = json.loads((finished / "report/fitted.json").read_text())
    assert fitted["entities"]["completeness"]["identified"]


def test_prompts_of_one_document_share_their_prefixes(finished):
    rows = json.loads((finished / "run.json").read_text())["asked"]
    prompt, prefilled, floor = (
        sum(row[what] for row in rows) for what in ("prompt", "prefilled", "floor")
    )
    print(f"prefilled/prompt {prefilled / prompt:.3f}, floor/prefilled {floor / prefilled:.3f}")
    assert floor / prefilled >= LEAST_SHARE
    assert prefilled < prompt / 2
