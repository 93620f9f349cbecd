"""Models that think or open a channel before they answer, on vLLM: refused as they were asked
before, and as good as nano behind what their templates ask for."""

import json
from collections.abc import Callable
from typing import Any

import pytest

import evaljudge
from evaljudge.bundled.world import as_jsonl, make_cases
from tests.build import refusal
from tests.engines.habitual import HABITS, make_habitual

pytestmark = pytest.mark.engine
ENGINE = {"kv_cache_memory_bytes": 1 << 28}
AXES = ["coherence", "fluency"]
Judged = Callable[..., tuple[float, list[float]]]
"""Mean mass, and Spearman on each axis."""


@pytest.fixture(scope="module")
def judged(tmp_path_factory):
    folder = tmp_path_factory.mktemp("habits")
    (folder / "cases.jsonl").write_text(as_jsonl(make_cases(4, 5)))

    def judge(out: str, **model: Any) -> tuple[float, list[float]]:
        settings = {"levels": 3, "max_tokens": 96, "checks": {"neighbours": 0, "exchanged": 0}}
        config = {
            "corpus": str(folder / "cases.jsonl"),
            "out": str(folder / out),
            "prompts": "nano",
            "axes": AXES,
            "judges": {"synthetic": settings},
            "workers": {"executor": "local"},
            "model": {"engine": ENGINE} | model,
        }
        outcome = evaljudge.run(config, progress=False)
        run = json.loads((folder / out / "run.json").read_text())
        wanted = ("synthetic", "sample", "spearman")
        values = {row.axis: row.value or 0.0 for row in outcome.agreement
                  if (row.scorer, row.level, row.coefficient) == wanted}  # fmt: skip
        found = run["mass"]["synthetic"]["mean"], [values[axis] for axis in AXES]
        print(f"{out:30} {found[0]:.4f}", *(f"{value:.3f}" for value in found[1]))
        return found

    return judge


@pytest.fixture(scope="module")
def of_nano(judged):
    return judged("nano", source="nano")


@pytest.mark.long
@pytest.mark.parametrize("name", HABITS)
def test_a_habit_before_and_after(name, judged, of_nano, tmp_path):
    source = str(make_habitual(tmp_path / "model", name))
    as_before: dict[str, Any] = {"source": source, "reply": ""}
    said = refusal(judged, f"{name} refused", **as_before)
    assert said.startswith(f"judges.synthetic: model {source} puts only ")
    assert "on the answers offered (Better, Worse, Similar): its reply begins with " in said

    before = judged(f"{name} before", least_mass=0, **as_before)
    after = judged(f"{name} after", source=source)
    assert before[0] < 0.1
    assert before[1][0] < 0.3, "coherence is noise"
    assert after[0] > 0.999
    assert after[1] == pytest.approx(of_nano[1], abs=0.05)
