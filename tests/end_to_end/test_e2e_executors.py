"""The same run in this process, on Ray, and killed again and again: equal to the last digit.

The judge in the box comes to the same on both, too: see test_e2e_nano.py.
"""

import os
import random
import signal
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import evaljudge
from evaljudge.engines.scripted import ScriptedEngines
from evaljudge.execution.protocol import Event
from evaljudge.runs.watching import Watcher

KILLS = 10
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


class Doomed(Watcher):
    """Kills this process at the first ask after so many commits and so many asks more."""

    def __init__(self, commits: int, asks: int) -> None:
        self._commits, self._asks = commits, asks

    def event(self, event: Event) -> None:
        self._commits -= event.kind == "committed"

    def asked(self) -> None:
        if self._commits <= 0:
            self._asks -= 1
            if self._asks <= 0:
                os.kill(os.getpid(), signal.SIGKILL)


def doomed_engines(log: Path, doom: Doomed, e2e: SimpleNamespace) -> ScriptedEngines:
    noting = e2e.noting_engines(log)

    class Opening(ScriptedEngines):
        def open(self, source: Any, seed: int) -> Any:
            model = noting.open(source, seed)
            write, choose = model.write, model.choose

            async def writes(*given: Any) -> Any:
                doom.asked()
                return await write(*given)

            async def chooses(*given: Any) -> Any:
                doom.asked()
                return await choose(*given)

            model.write, model.choose = writes, chooses
            return model

    return Opening()


def run_in_a_process(given: Any, log: Path, doom: Doomed, e2e: SimpleNamespace) -> int:
    """Its exit code, negative for a signal; forked, so that nothing is imported again."""
    process = os.fork()
    if process == 0:
        try:
            evaljudge.run(given, engines=doomed_engines(log, doom, e2e), watcher=doom)
        finally:
            os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])


@pytest.mark.service
@pytest.mark.parametrize("seed", range(3))
def test_killed_ten_times_and_resumed_in_this_process(
    tmp_path: Path, e2e: SimpleNamespace, seed: int
) -> None:
    evaljudge.run(config(tmp_path, "whole", "local", e2e), engines=ScriptedEngines())
    log, draw, seen = tmp_path / "asks", random.Random(seed), list[set[str]]()
    given, late = config(tmp_path, "cut", "local", e2e), draw.choice(range(KILLS))
    for number in range(KILLS):
        doom = Doomed(commits=int(number == late), asks=draw.randrange(1, 20))
        assert run_in_a_process(given, log, doom, e2e) == -signal.SIGKILL
        seen.append(commits(tmp_path / "cut"))
    assert set() < seen[-1], "all were too early"
    evaljudge.run(given, engines=e2e.noting_engines(log))
    assert seen[-1] < commits(tmp_path / "cut"), "all were too late"
    assert not e2e.differences(e2e.tables(tmp_path / "cut"), e2e.tables(tmp_path / "whole"))
    assert len(e2e.asks(log)) > len(set(e2e.asks(log))), "nothing was ever lost"


def commits(out: Path) -> set[str]:
    return {str(file.relative_to(out)) for file in out.glob("commits/*/*.json")}
