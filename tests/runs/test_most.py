"""Caps: a run stops at the most that it may spend, and resumes with more to the same tables."""

import json
from pathlib import Path
from typing import Any

import pytest

import evaljudge
from evaljudge.engines.scripted import ScriptedEngines
from evaljudge.errors import CapReached
from tests import build

JUDGES = {"synthetic": {"levels": 3}, "geval": {}, "direct": {"steps": False}}


@pytest.fixture
def bench(tmp_path: Path) -> build.Bench:
    bench = build.Bench(tmp_path, judges=JUDGES)
    bench.corpus(build.numbered(*range(12)))
    return bench


def tables(out: Path) -> dict[str, Any]:
    """What readers see of a run; and what it asked in all."""
    rows = {name: build.stored(out / name) for name in ("scores", "verdicts", "briefs")}
    for row in rows["briefs"]:
        del row["tokens"]  # which document's steps were the first is chance
    run = json.loads((out / "run.json").read_text())
    total = {name: n for name, n in run["total"].items() if name != "floor"}
    return {**{name: sorted(map(repr, some)) for name, some in rows.items()}, "total": total}


def spent(bench: build.Bench) -> dict[str, float]:
    noted: dict[str, float] = json.loads((bench.out / "spent.json").read_text())
    return noted


def test_a_run_stops_at_its_cap_and_resumes_to_the_same(bench: build.Bench) -> None:
    whole = bench.config(out=str(bench.folder / "whole"))
    evaljudge.run(whole, engines=ScriptedEngines())
    expected, engines = tables(bench.folder / "whole"), build.Counted()
    for cap in (7, 20, 100, 131):
        with pytest.raises(CapReached, match="^most: asks reached: "):
            evaljudge.run(bench.config(most={"asks": cap}), engines=ScriptedEngines())
        assert spent(bench)["asks"] == cap
    with pytest.raises(CapReached):  # and nothing is opened in vain
        evaljudge.run(bench.config(most={"asks": 131}), engines=engines)
    assert not engines.opened
    evaljudge.run(bench.config(), engines=ScriptedEngines())
    assert tables(bench.out) == expected
    assert not (bench.out / "replies").exists()
    assert expected["total"]["asks"] > 131


@pytest.mark.ray
def test_workers_of_ray_have_one_budget(bench: build.Bench) -> None:
    workers = {"executor": "ray", "min": 2, "max": 2}
    whole = bench.config(out=str(bench.folder / "whole"), workers=workers)
    evaljudge.run(whole, engines=ScriptedEngines())
    for cap in (50, 90):
        given = bench.config(most={"asks": cap}, workers=workers)
        with pytest.raises(CapReached):
            evaljudge.run(given, engines=ScriptedEngines())
        assert spent(bench)["asks"] == cap
    evaljudge.run(bench.config(workers=workers), engines=ScriptedEngines())
    assert tables(bench.out) == tables(bench.folder / "whole")
