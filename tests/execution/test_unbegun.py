"""A worker that dies as its assignment is unpacked is given up; Ray would start it for ever."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

import evaljudge
from evaljudge.engines.scripted import ScriptedEngines
from evaljudge.errors import UserError

pytestmark = pytest.mark.ray


def deadly_engines() -> ScriptedEngines:
    """They end every process but this one as they arrive there: before a worker has begun."""
    here = os.getpid()

    class Deadly(ScriptedEngines):
        def __setstate__(self, state: dict[str, Any]) -> None:
            if os.getpid() != here:
                os._exit(1)
            self.__dict__.update(state)

    return Deadly()


def test_given_up_with_what_to_look_at(
    tmp_path: Path, local_ray: None, capfd: pytest.CaptureFixture[str]
) -> None:
    case = {"doc_id": "d", "source": "It rose.", "candidates": [{"system": "A", "text": "Yes."}]}
    (tmp_path / "c.jsonl").write_text(json.dumps(case))
    config = {
        "corpus": str(tmp_path / "c.jsonl"), "out": str(tmp_path / "run"), "model": "m",
        "axes": ["fluency"], "judges": {"synthetic": {}}, "workers": {"executor": "ray"},
    }  # fmt: skip
    with pytest.raises(UserError, match=r"died 3 times while it loaded .* in the folder `logs`"):
        evaljudge.run(config, engines=deadly_engines())
    assert "Traceback" not in capfd.readouterr().err
    config["out"] = str(tmp_path / "well")
    assert evaljudge.run(config, engines=ScriptedEngines()).coverage == 1
