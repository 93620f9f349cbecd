"""What the workers count is at Ray's own metrics endpoint, and is what the run's accounts say."""

import json
import re
import threading
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest

import evaljudge
from evaljudge.engines.scripted import Scripted, ScriptedEngines
from evaljudge.execution.ray.worker import COUNTERS, TOKENS, WORKER_SECONDS
from evaljudge.model.asks import Spent
from tests import build

DASHBOARD = Path(__file__).parents[2] / "jobs/grafana.json"
EXPORTED = {f"ray_{name}_total" for name in COUNTERS} | {f"ray_{WORKER_SECONDS}"}
SAMPLE = re.compile(r"^(ray_evaljudge_\w+)\{(.*)\} (\S+)$", re.MULTILINE)
Samples = Mapping[tuple[str, ...], float]
"""By name, and the values of the labels that are ours, in the order of the labels' names."""


def test_the_dashboard_asks_for_metrics_that_there_are():
    board = json.loads(DASHBOARD.read_text())
    queries = [target["expr"] for panel in board["panels"] for target in panel["targets"]]
    assert {name for query in queries for name in re.findall(r"ray_\w+", query)} == EXPORTED
    assert len({panel["id"] for panel in board["panels"]}) == len(board["panels"]) == 8
    for query in queries:
        labels = {one for by in re.findall(r"by \((\w+)\)", query) for one in by.split(",")}
        for name in re.findall(r"ray_(evaljudge_\w+)_total", query):
            assert labels <= set(COUNTERS[name][1]), query


def caching_engines() -> ScriptedEngines:
    """A local class travels to the workers by value."""

    class Caching(Scripted):
        async def choose(self, prompts: Any, options: Any, samples: int = 0) -> Any:
            chosen: Sequence[Any] = await super().choose(prompts, options, samples)
            return [replace(one, spent=(Spent(100, 64, 1),)) for one in chosen]

    return ScriptedEngines(Caching)


class Scraped:
    """The highest value of each series: Ray drops those of a worker soon after its end."""

    def __init__(self, port: int) -> None:
        self._port, self._most = port, dict[tuple[str, str], float]()

    def look(self) -> dict[tuple[str, ...], float]:
        with urlopen(f"http://127.0.0.1:{self._port}/metrics", timeout=10) as page:
            text = page.read().decode()
        for name, labels, value in SAMPLE.findall(text):
            self._most[name, labels] = max(float(value), self._most.get((name, labels), 0.0))
        found = defaultdict[tuple[str, ...], float](float)
        for (name, labels), most in self._most.items():
            own = dict(re.findall(r'(stage|judge|reason)="([^"]*)"', labels))
            found[name, *own.values()] += most
        return found


@pytest.fixture
def quick_ray(start_ray):
    """It reports twice a second (by itself every ten): a worker of this test ends after less."""
    with start_ray(num_cpus=4, _system_config={"metrics_report_interval_ms": 500}):
        yield


@pytest.mark.long
@pytest.mark.ray
def test_the_endpoint_has_the_run_s_numbers(tmp_path, quick_ray):
    import ray

    cases = [build.document(n, "ABC") for n in range(8)]
    for case in cases:
        case["candidates"][2]["text"] = ""
    build.jsonl(tmp_path / "cases.jsonl", cases)
    usual = {"judges": {"synthetic": {}}, "metrics": ["words"], "workers": {"executor": "ray"}}
    config = build.config(tmp_path, **usual, coverage_floor=0)
    port = ray.nodes()[0]["MetricsExportPort"]
    series, ended = Scraped(port), threading.Event()
    before = series.look()

    def look_on() -> None:
        while not ended.wait(0.2):
            series.look()

    with ThreadPoolExecutor(1) as thread:
        looking = thread.submit(look_on)
        try:
            evaljudge.run(config, engines=caching_engines())
        finally:
            ended.set()
        looking.result()
    wanted = {("ray_evaljudge_unscored_total", "empty text", "judge"): 8.0}
    wanted |= {("ray_evaljudge_cases_total", s): 8.0 for s in ("prepare", "judge")}
    for row in json.loads((tmp_path / "out/run.json").read_text())["asked"]:
        for name, counted in TOKENS.items():
            key = (f"ray_{name}_total", row["judge"], row["stage"])
            wanted |= {key: row[counted]} if row[counted] else {}
    until = time.monotonic() + 30
    while (found := added(series.look(), before, wanted)) != wanted and time.monotonic() < until:
        time.sleep(0.2)
    assert wanted["ray_evaljudge_cached_tokens_total", "synthetic", "judge"] > 0
    assert found == wanted
    assert series.look()["ray_evaljudge_judge_seconds_total", "synthetic", "judge"] > 0


def added(now: Samples, before: Samples, wanted: Samples) -> dict[tuple[str, ...], float]:
    return {key: now.get(key, 0) - before.get(key, 0) for key in wanted}
