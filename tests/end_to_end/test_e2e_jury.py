"""A jury of three models on vLLM, one after the other in one process: the one that knows nothing is
found out, and the jury agrees better with the true levels without it."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import evaljudge
from evaljudge.bundled.nano import CHECKPOINT
from evaljudge.bundled.world import as_jsonl, make_cases
from evaljudge.commands.run import demo_config

pytestmark = [pytest.mark.engine, pytest.mark.long]
DOCUMENTS = 40
AXES = ["coherence", "fluency"]
SEED_1 = Path(__file__).with_name("nano_seed_1.safetensors")
"""The weights of `python -m jobs.nano.train FOLDER --seed 1`, from random ones. It was cut short:
the first 1,850 steps are of a training of 2,600 steps, and the rest of one of 2,000."""
ASKED = {"engine": {"kv_cache_memory_bytes": 1 << 28}, "least_mass": 0}


def nano_of_another_seed(folder: Path) -> Path:
    shutil.copytree(CHECKPOINT, folder)
    shutil.copy(SEED_1, folder / "model.safetensors")
    return folder


def test_a_jury_of_three_models_leaves_out_the_one_that_knows_nothing(tmp_path, tiny):
    cases = tmp_path / "cases.jsonl"
    cases.write_text(as_jsonl(make_cases(DOCUMENTS, 5)), encoding="utf-8")
    models = {"other": nano_of_another_seed(tmp_path / "other"), "chance": tiny()}
    own = {"levels": 3, "max_tokens": 96, "checks": {"neighbours": 0, "exchanged": 0}}
    names = ["synthetic", *models]
    config: dict[str, Any] = demo_config(cases, tmp_path / "run") | {
        "axes": AXES,
        "judges": {"synthetic": own} | {
            name: {"judge": "synthetic", "model": ASKED | {"source": str(at)}, **own}
            for name, at in models.items()
        },
        "combine": {"jury": names, "weighted": {"of": names, "by": "agreement"}},
        "workers": {"executor": "local"},
        "metrics": [], "calibrate": [], "select": [],
    }  # fmt: skip
    file = tmp_path / "config.json"
    file.write_text(json.dumps(config))
    command = [sys.executable, "-m", "evaljudge", "run", str(file)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=1800, check=False)
    assert done.returncode == 0, done.stderr
    planned = evaljudge.plan(config | {"out": str(tmp_path / "planned")})
    found = evaljudge.open_run(str(tmp_path / "run")).findings
    asked = {(row["stage"], row["judge"]): row["asks"] for row in found.tokens}
    assert asked == {at: tokens.asks for at, tokens in planned.asked.items()}
    for axis in AXES:
        gains = {row.scorer: row for row in found["jury"]
                 if (row.combination, row.axis, row.level) == ("jury", axis, "sample")}  # fmt: skip
        assert gains["chance"].low is not None and gains["chance"].low > 0, gains
        assert all((gains[name].gain or 0) <= 0 for name in ("synthetic", "other")), gains
        wanted = axis, "sample", "spearman"
        sample = {row.scorer: row.value or 0.0 for row in found.agreement
                  if (row.axis, row.level, row.coefficient) == wanted}  # fmt: skip
        assert sample["weighted"] > sample["jury"] > sample["chance"]
