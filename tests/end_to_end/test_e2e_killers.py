"""A case that kills its worker is set aside after the third time, and no other case suffers."""

import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from evaljudge import run
from evaljudge.engines.scripted import Scripted, ScriptedEngines
from tests.end_to_end import shared

pytestmark = pytest.mark.ray

KILLS = {"d5": "writing", "d11": "comparing"}
"""Documents, and what of them the engine does not survive."""

SCORERS = [f"synthetic{reading}" for reading in ("", ".level", ".ordinal", ".bradley-terry")]


def fatal_engines(log: Path) -> ScriptedEngines:
    """Their classes are local, so that they travel to a worker by value."""

    def die(prompts: Any, doing: str) -> None:
        for doc_id in (d for d, fatal in KILLS.items() if fatal == doing):
            if any(f"document-{doc_id.removeprefix('d')}." in prompt.text for prompt in prompts):
                with log.open("a") as noted:
                    noted.write(f"{doc_id}\n")
                os.kill(os.getpid(), signal.SIGKILL)

    class Fatal(Scripted):
        async def write(self, prompts: Any, how: Any) -> Any:
            die(prompts, "writing")
            return await super().write(prompts, how)

        async def choose(self, prompts: Any, options: Any, samples: int = 0) -> Any:
            die(prompts, "comparing")
            return await super().choose(prompts, options, samples)

    return ScriptedEngines(Fatal)


@pytest.mark.long
@pytest.mark.parametrize("writer", [None, "another"])
def test_cases_that_kill_are_set_aside(writer, local_ray, tmp_path):
    def of(name: str) -> dict[str, Any]:
        mine = {"writer": writer, "coverage_floor": 0.5, "workers": {"executor": "ray"}}
        mine |= {"out": str(tmp_path / name), "judges": {"synthetic": {}}}
        return shared.config(tmp_path, shared.cases(16), **mine)

    run(of("whole") | {"workers": {"executor": "local"}}, engines=ScriptedEngines())
    outcome = run(of("cut"), engines=fatal_engines(tmp_path / "deaths"))

    deaths = (tmp_path / "deaths").read_text().split()
    assert deaths.count("d5") == 3  # and where d11 had not been asked yet, its first was that of d5
    assert deaths.count("d11") in (2, 3)
    reasons = {row.scorer: dict(row.reasons) for row in outcome.findings.coverage}
    assert reasons == {scorer: {"engine died": 3 * len(KILLS)} for scorer in SCORERS}
    cut, whole = (rows(shared.tables(tmp_path / name)) for name in ("cut", "whole"))
    assert {n: v for n, v in cut.items() if n[0] not in KILLS} == {
        n: v for n, v in whole.items() if n[0] not in KILLS
    }
    assert shared.files(tmp_path / "cut") == shared.contract(tmp_path / "cut")


def rows(tables: dict[str, Any]) -> dict[tuple[str, str, str], Any]:
    scores = [json.loads(row) for row in tables["scores"]]
    return {(row["doc_id"], row["system"], row["scorer"]): row["value"] for row in scores}
