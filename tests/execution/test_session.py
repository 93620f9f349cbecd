"""A Ray that a run starts for itself, workers of it that die, and what they count."""

import asyncio
import json
import os
import re
import subprocess
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest

import evaljudge
from evaljudge.engines.scripted import Scripted, ScriptedEngines
from evaljudge.errors import UserError
from evaljudge.execution import budget
from evaljudge.execution.ray import board as boards
from evaljudge.execution.ray import executor
from evaljudge.execution.ray.session import _let_ray_data_end
from evaljudge.execution.ray.worker import COUNTERS, TOKENS, WORKER_SECONDS
from evaljudge.model.asks import Spent
from tests import build
from tests.lazily import Lazily

ray = Lazily("ray")

LISTENING = """
import json, psutil
from evaljudge.config import WorkersConfig
from evaljudge.execution import make_executor

executor = make_executor(WorkersConfig(executor="ray"), "out")

with executor.session():
    import ray

    @ray.remote
    class Worker:
        def niceness(self):
            return psutil.Process().nice()

    worker = Worker.remote()
    me = psutil.Process()
    assert ray.get(worker.niceness.remote()) == me.nice()
    found = {}
    for process in (me, *me.children(recursive=True)):
        sockets = process.net_connections("inet")
        own = [one.laddr.ip for one in sockets if one.laddr and not one.raddr]
        found[f"{process.pid} {process.name()}"] = own
print("found", json.dumps(found))
"""


@pytest.mark.parametrize("name", ["StreamingExecutor-1f0c", "iter_threaded"])
def test_threads_of_ray_data_are_waited_for(name):
    """They would end the process."""
    may_end, ended = threading.Event(), threading.Event()

    def work(until: Callable[[], object] = may_end.wait) -> None:
        until()
        ended.set()

    thread = threading.Thread(target=work, name=name)
    thread.start()
    threading.Timer(0.2, may_end.set).start()
    _let_ray_data_end()
    assert ended.is_set()


@pytest.mark.long
@pytest.mark.ray
def test_every_process_of_a_ray_of_our_own_listens_on_loopback_only():
    environment = {name: value for name, value in os.environ.items() if name != "RAY_ADDRESS"}
    command = [sys.executable, "-c", LISTENING]
    run = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    found = json.loads(run.stdout.rpartition("found ")[2])
    names = " ".join(found)
    for name in ("gcs_server", "raylet", "ray::Worker"):
        assert name in names
    addresses = {address for own in found.values() for address in own}
    assert addresses
    assert addresses <= {"127.0.0.1", "::1", "::ffff:127.0.0.1"}, found


# workers that die before they can work: Ray would start them for ever


def deadly_unpacking(monkeypatch: pytest.MonkeyPatch) -> ScriptedEngines:
    """Engines that end every process but this one as they arrive there, as an import may."""
    here = os.getpid()

    class Deadly(ScriptedEngines):
        def __setstate__(self, state: dict[str, Any]) -> None:
            if os.getpid() != here:
                os._exit(1)
            self.__dict__.update(state)

    return Deadly()


def deadly(worker: str, monkeypatch: pytest.MonkeyPatch) -> ScriptedEngines:
    class Dying:
        def __init__(self, *arguments: object) -> None:
            os._exit(1)

    monkeypatch.setattr(executor, worker, Dying)
    return ScriptedEngines()


@pytest.mark.ray
@pytest.mark.long
@pytest.mark.parametrize(
    "deadly", [deadly_unpacking, partial(deadly, "Worker"), partial(deadly, "Measurer")]
)
def test_given_up_with_what_to_look_at(tmp_path, local_ray, capfd, deadly):
    build.jsonl(tmp_path / "cases.jsonl", [build.document(1)])
    usual = {"judges": {"synthetic": {}}, "metrics": ["importance"], "workers": {"executor": "ray"}}
    config = build.config(tmp_path, **usual)
    told = "died 3 times before it could begin.* in the folder `logs`"
    with pytest.MonkeyPatch.context() as here, pytest.raises(UserError, match=told):
        evaljudge.run(config, engines=deadly(here))
    told = capfd.readouterr().err
    assert "warning: a worker died before it could begin; too little memory" in told
    assert "Traceback" not in told
    config["out"] = str(tmp_path / "well")
    assert evaljudge.run(config, engines=ScriptedEngines()).coverage > 0


def test_what_counts_the_deaths_imports_nothing_that_may_be_their_cause():
    import ray.cloudpickle

    for module in (boards, budget):
        ray.cloudpickle.register_pickle_by_value(module)
    for counting in (boards.Board, boards.CountedWorker):
        packed = ray.cloudpickle.dumps(counting)
        read = "import sys; sys.modules['evaljudge'] = None; import ray.cloudpickle as p; "
        code = f"{read}print(p.loads({packed!r}).__name__)"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        assert done.stdout == f"{counting.__name__}\n", done.stderr


def test_deaths_are_counted_by_actor_and_only_on_nodes_that_are_up(monkeypatch):
    nodes = [{"NodeID": "n", "Alive": True}, {"NodeID": "gone", "Alive": False}]
    monkeypatch.setattr("ray.nodes", lambda: nodes)
    board = boards.Board(may_copy=True)

    async def begin() -> None:
        deaths = [
            await board.begins("a", f"w{n}", at) for n, at in enumerate(["n", "gone", "n", "n"])
        ]
        assert deaths == [0, 1, 1, 2]
        _, _, events, *_ = await board.told(frozenset({"n"}), frozenset(), False)
        assert events == [("died",)] * 2  # w0 and w2: the machine of w1 is gone
        assert await board.begins("another", "w", "n") == 0
        await board.has_begun("a")
        assert await board.begins("a", "w4", "n") == 0

    asyncio.run(begin())


# what the workers count


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
