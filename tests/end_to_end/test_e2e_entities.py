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
from tests.end_to_end import shared
from tests.tiny import make_tiny_model

SETTINGS = {"at_least": 1, "most_entities": 3, "max_tokens": 1024, "votes": "modelled"}
ENGINE = {"dtype": "float32", "kv_cache_memory_bytes": 1 << 28, "block_size": 32}
SYSTEMS = 3
LEAST_SHARE = 0.9
"""Of what is prefilled, that which no cache could have saved."""


pytestmark = [pytest.mark.engine, pytest.mark.long]


@pytest.fixture(scope="module")
def finished(tmp_path_factory, shared_engines):
    folder = tmp_path_factory.mktemp("entities")
    corpus = shared.summeval(folder / "three.jsonl", 3, SYSTEMS)
    answers = "Yes No Contradict Partially Unknown " * 500  # a token each, as of any real model
    sources = [row["source"] for row in build.lines(build.SHARED / "summeval.jsonl")[:40]]
    tiny = make_tiny_model(folder / "tiny", [answers, *sources])
    config = {
        "corpus": corpus,
        "out": str(folder / "out"),
        "model": {"source": str(tiny), "engine": ENGINE, "least_mass": 0},
        "judges": {"entities": SETTINGS},
        "coverage_floor": 0.5,
    }
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
    # `at_least: 1`: every document has a rubric
    assert scored["entities.completeness"] == 3 * SYSTEMS
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
