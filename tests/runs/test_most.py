"""Caps: a run stops at the most that it may spend, and resumes with more to the same tables."""

import json
import os
import re
import signal
import time
from pathlib import Path
from typing import Any

import pytest

import evaljudge
from evaljudge.engines.scripted import Scripted, ScriptedEngines, any_text
from evaljudge.errors import CapReached
from evaljudge.model.asks import Prompt, Writing
from evaljudge.runs import job as job_module
from evaljudge.runs import spending
from tests import build
from tests.build import planned_text

JUDGES = {"synthetic": {"levels": 3}, "geval": {}, "direct": {"steps": False}}


@pytest.fixture
def bench(tmp_path):
    bench = build.Bench(tmp_path, judges=JUDGES)
    bench.corpus(build.numbered(*range(12)))
    return bench


def tables(out: Path) -> dict[str, Any]:
    """What readers see of a run; and what it asked in all."""
    run = json.loads((out / "run.json").read_text())
    total = {name: n for name, n in run["total"].items() if name != "floor"}
    return build.compared(out) | {"total": total}


def spent(bench: build.Bench) -> dict[str, float]:
    return json.loads((bench.out / "spent.json").read_text())


def test_a_run_stops_at_its_cap_and_resumes_to_the_same(bench):
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
    plan = evaljudge.plan(bench.config(), engines=ScriptedEngines())
    left = expected["total"]["asks"] - 131
    assert plan.total.asks - plan.in_hand == left > 0 < plan.in_hand
    evaljudge.run(bench.config(), engines=ScriptedEngines())
    assert tables(bench.out) == expected
    assert not (bench.out / "partial").exists()


@pytest.mark.long
@pytest.mark.ray
def test_workers_of_ray_have_one_budget(bench):
    workers = {"executor": "ray", "min": 2, "max": 2}
    whole = bench.config(out=str(bench.folder / "whole"))
    evaljudge.run(whole, engines=ScriptedEngines())
    with pytest.raises(CapReached):
        evaljudge.run(bench.config(most={"asks": 90}, workers=workers), engines=ScriptedEngines())
    assert spent(bench)["asks"] == 90
    evaljudge.run(bench.config(workers=workers), engines=ScriptedEngines())
    assert tables(bench.out) == tables(bench.folder / "whole")


def test_caps_of_tokens_and_of_money(bench, capsys, monkeypatch):
    """Words are the scripted model's tokens; the last asks before a cap may go beyond."""
    price = {"source": "m", "price_per_million": {"prompt": 1000, "generated": 5000}}
    workers = {"executor": "local", "currency": "EUR"}
    given = bench.config(model=price, workers=workers, most={"tokens": 3000, "cost": "90 EUR"})
    with pytest.raises(CapReached, match="tokens reached: .* and .* EUR are spent"):
        evaljudge.run(given, engines=ScriptedEngines())
    there = spent(bench)
    assert 3000 <= there["tokens"] < 3000 + 400
    prompt = there["tokens"] - there["asks"]
    assert there["cost"] == pytest.approx(prompt / 1000 + there["asks"] / 200)
    monkeypatch.setattr(job_module, "VllmEngines", ScriptedEngines)
    file = bench.folder / "config.json"
    file.write_text(json.dumps(bench.config(model=price, most={"cost": 6})))
    _, said = build.command(capsys, "run", str(file), code=5)
    assert "most: cost reached: " in said
    assert 6 <= spent(bench)["cost"] < 6 + 1
    planned = planned_text(
        bench.config(model=price, out="new", most={"cost": 6}), engines=ScriptedEngines()
    )
    money = float(
        re.findall(r"cost of the tokens: ([\d.]+) USD, at 1000 USD per million", planned)[0]
    )
    evaljudge.run(bench.config(model=price), engines=ScriptedEngines())
    run = json.loads((bench.out / "run.json").read_text())
    assert run["cost"]["money"] == pytest.approx(money, rel=0.3)  # texts are not written yet
    assert re.search(r"most: 6 of 2\d.\d+ planned \(cost\): the run will stop there", planned)


def test_a_plan_says_that_the_price_of_the_hours_reaches_a_cap(bench):
    hourly = {"executor": "local", "price_per_worker_hour": 3600}
    given = bench.config(workers=hourly, most={"cost": 1})
    said = planned_text(given, engines=ScriptedEngines(), throughput=100)
    (low,) = re.findall(r"from ([\d.]+) USD with a perfect prefix cache", said)
    assert f"most: 1 of {low} planned (cost): the run will stop there" in said
    given["most"] = {"cost": float(low) + 1}
    assert "most:" not in planned_text(given, engines=ScriptedEngines(), throughput=100)


def test_what_a_killed_run_has_spent_counts(bench, monkeypatch):
    """All but its last seconds."""
    monkeypatch.setattr(spending, "EVERY", 0.01)
    if (child := os.fork()) == 0:

        def writes(prompt: Prompt, how: Writing) -> str:
            if len(asked := [*asked_before, prompt]) > 30:
                time.sleep(0.2)
                os.kill(os.getpid(), signal.SIGKILL)
            asked_before[:] = asked
            return any_text(prompt, how)

        asked_before = list[Prompt]()
        engines = ScriptedEngines(lambda: Scripted(writes))
        evaljudge.run(bench.config(most={"asks": 1000}), engines=engines)
    os.waitpid(child, 0)
    before = spent(bench)["asks"]
    assert before >= 20
    with pytest.raises(CapReached):
        evaljudge.run(bench.config(most={"asks": before + 10}), engines=(now := build.Counted()))
    assert now.asked.total() <= 10
