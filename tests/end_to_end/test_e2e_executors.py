"""The same run in this process, on Ray, and killed again and again: equal to the last digit.

The judge in the box comes to the same on both, too: see test_e2e_nano.py.
"""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import evaljudge

AXES = ("coherence", "fluency")


def config(
    folder: Path, name: str, executor: str, e2e: SimpleNamespace, cases: int = 32
) -> dict[str, Any]:
    best = {"scorer": "synthetic.level", "axis": "coherence", "top_fraction": 0.25}
    return {
        "corpus": e2e.write_cases(folder / "cases.jsonl", e2e.cases(cases, axes=AXES)),
        "out": str(folder / name),
        "axes": list(AXES),
        "model": "scripted",
        # steps are asked once for all documents: whose brief pays for them is a matter of order
        "judges": {"synthetic": {}, "entities": {}, "roles": {}, "direct": {"steps": False}},
        "metrics": ["words", "importance", "rouge1"],
        "calibrate": ["synthetic"],
        "select": [{"name": "best", "all": [best]}],
        "agreement": {"resamples": 100},
        "workers": {"executor": executor},
        "coverage_floor": 0,
    }


@pytest.mark.long
@pytest.mark.ray
def test_both_executors_come_to_the_same(
    tmp_path: Path, e2e: SimpleNamespace, local_ray: None
) -> None:
    for executor in ("local", "ray"):
        given = config(tmp_path, executor, executor, e2e, cases=10)
        evaljudge.run(given, engines=e2e.noting_engines(tmp_path / f"asks of {executor}"))
    assert not e2e.differences(*(e2e.tables(tmp_path / name) for name in ("local", "ray")))
    asked = [sorted(e2e.asks(tmp_path / f"asks of {name}")) for name in ("local", "ray")]
    assert asked[0] == asked[1]
