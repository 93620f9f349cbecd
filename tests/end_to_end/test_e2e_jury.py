"""A jury of three models on vLLM, one after the other in one process: the one that knows nothing is
found out, and the jury agrees better with the true levels without it."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import evaljudge
from evaljudge.bundled.nano import CHECKPOINT
from evaljudge.bundled.world.corpus import as_jsonl, make_cases
from evaljudge.commands.demo import demo_config

pytestmark = [pytest.mark.engine, pytest.mark.long]
DOCUMENTS = 24
SHAKEN = 0.1
"""Of the spread of each table of weights: it still knows its world, and answers otherwise."""
ENGINE = {"kv_cache_memory_bytes": 1 << 28}


def shaken_nano(folder: Path) -> Path:
    """Nano as another training might have left it."""
    import torch
    from safetensors.torch import load_file, save_file

    shutil.copytree(CHECKPOINT, folder)
    torch.manual_seed(1)
    weights = load_file(folder / "model.safetensors")
    for name, table in weights.items():
        noise = torch.randn(table.shape) * table.float().std() * SHAKEN
        weights[name] = (table.float() + noise).to(table.dtype)
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    return folder


def test_a_jury_of_three_models_leaves_out_the_one_that_knows_nothing(
    tmp_path: Path, tiny: Callable[..., Path]
) -> None:
    cases = tmp_path / "cases.jsonl"
    cases.write_text(as_jsonl(make_cases(DOCUMENTS, 5)), encoding="utf-8")
    models = {"shaken": shaken_nano(tmp_path / "shaken"), "chance": tiny()}
    own = {"levels": 3, "max_tokens": 96, "checks": {"neighbours": 0, "exchanged": 0}}
    names = ["synthetic", *models]
    config: dict[str, Any] = demo_config(cases, tmp_path / "run") | {
        "axes": ["fluency"],
        "judges": {"synthetic": own} | {
            name: {"judge": "synthetic", "model": {"source": str(at), "engine": ENGINE}, **own}
            for name, at in models.items()
        },
        "combine": {"jury": names, "weighted": {"of": names, "by": "agreement"}},
        "workers": {"executor": "local"},
        "metrics": [], "calibrate": [], "select": [],
    }  # fmt: skip
    file = tmp_path / "config.json"
    file.write_text(json.dumps(config))
    command = [sys.executable, "-m", "evaljudge", "run", str(file)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    planned = evaljudge.plan(config | {"out": str(tmp_path / "planned")})
    found = evaljudge.open_run(str(tmp_path / "run")).findings
    asked = {(row["stage"], row["judge"]): row["asks"] for row in found.tokens}
    assert asked == {at: tokens.asks for at, tokens in planned.asked.items()}
    gains = {row.scorer: row for row in found.jury
             if (row.combination, row.level) == ("jury", "sample")}  # fmt: skip
    assert gains["chance"].low is not None and gains["chance"].low > 0, gains
    assert all((gains[name].gain or 0) <= 0 for name in ("synthetic", "shaken")), gains
    sample = {row.scorer: row.value or 0.0 for row in found.agreement
              if (row.level, row.coefficient) == ("sample", "spearman")}  # fmt: skip
    assert sample["weighted"] > sample["jury"]
