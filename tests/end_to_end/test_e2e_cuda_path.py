"""One job with every judge, by each of vLLM's two model runners: its tables are equal.

The tiny random model judges two texts about a document of SummEval. What it says is noise, and the
same noise; and it says little, as each step takes Triton's interpreter long.
"""

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import evaljudge
from evaljudge.plugins import kinds
from tests.end_to_end import shared
from tests.end_to_end.test_e2e_everything import ENGINE, speaking
from tests.metrics.tiny_models import bert
from tests.second_runner import first_runner, is_here

pytestmark = [pytest.mark.engine, pytest.mark.cuda_path]
SHORT = {"max_tokens": 120}
FURTHER: dict[str, dict[str, Any]] = {
    "adaptive": {"judge": "synthetic", "adaptive": {"certainty": 0.6}, **SHORT},
    "ladder": {"judge": "synthetic", "layout": "ladder", "swap": "both", "levels": 3, **SHORT},
}
RUN = "import sys, evaljudge; evaljudge.run(sys.argv[1], progress=False)"
UNTRIED = ("checklist", "grounded", "reward")
"""Judges of trained raters, and one whose lists the tiny model seldom ends."""
KEY = ["scorer", "axis", "doc_id", "system"]


@pytest.fixture(scope="module")
def config(tmp_path_factory, tiny):
    if not is_here():
        pytest.skip("`make test-cuda-path` runs this, where Triton is")
    folder = tmp_path_factory.mktemp("both")
    corpus = shared.summeval(folder / "one.jsonl", 1, 2)
    (folder / "bert").mkdir()
    judges: dict[str, dict[str, Any]] = {
        name: {}
        for name, place in kinds().items()
        if place.startswith("evaljudge.judges.") and name not in UNTRIED
    }
    judges |= {
        "synthetic": SHORT,
        "geval": SHORT,
        "entities": {"max_tokens": 96},
        "roles": {"encoder": str(bert(folder / "bert")), "dynamic": 1, "max_tokens": 96},
        "direct": {"max_tokens": 1},
    }
    model = speaking(tiny("bytes"), folder / "model")
    return {
        "corpus": corpus, "axes": ["coherence"], "coverage_floor": 0,
        "model": {"source": str(model), "engine": ENGINE, "least_mass": 0},
        "judges": judges | FURTHER, "agreement": {"resamples": 0},
        "workers": {"executor": "local"}, "out": str(folder),
    }  # fmt: skip


def scores(config: Mapping[str, Any], name: str, environment: Mapping[str, str] | None) -> pa.Table:
    out = Path(config["out"], name)
    file = out.with_suffix(".json")
    file.write_text(json.dumps({**config, "out": str(out)}))
    subprocess.run([sys.executable, "-c", RUN, str(file)], env=environment, check=True)
    return evaljudge.open_run(out).scores().sort_by([(key, "ascending") for key in KEY])


def test_every_judge_gives_equal_tables_on_both_runners(config):
    second, first = scores(config, "second", None), scores(config, "first", first_runner())
    assert second.select([*KEY, "status", "reason"]) == first.select([*KEY, "status", "reason"])
    assert second["value"].to_pylist() == pytest.approx(first["value"].to_pylist(), abs=1e-3)
    scored = {row["scorer"] for row in second.to_pylist() if row["status"] == "ok"}
    assert set(config["judges"]) <= scored
