"""A pytest plugin that notes where a suite's time goes; `benches/suite.py` runs the suite with it.

Every worker process writes one JSON file into the folder that SUITE_CLOCK names:

    {"tests": [{"id": "tests/test_cli.py::test_help", "setup": 0.1, "call": 0.9, "teardown": 0.0,
                "marks": ["unit"], "waits": {"subprocesses": 0.8}}],
     "fixtures": {"local_ray": {"times": 3, "seconds": 14.2}}}

`waits` says what a test's process waited for: engines being loaded, Ray being started and stopped,
other processes, and sleeps. A wait within another counts as part of the outer one only.
"""

from __future__ import annotations

import json
import os
import subprocess
import time
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import wraps
from pathlib import Path
from typing import Any

import pytest

MARKS = ("unit", "engine", "ray", "service", "browser", "long")


class Clock:
    """What one process has noted so far."""

    def __init__(self) -> None:
        self.tests: dict[str, dict[str, Any]] = {}
        self.fixtures: dict[str, dict[str, float]] = defaultdict(lambda: {"times": 0, "seconds": 0})
        self._waits: dict[str, float] = defaultdict(float)
        self._is_waiting = False

    def time(self, kind: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """The same function, whose seconds are added to the waits of this kind."""

        @wraps(function)
        def timed(*arguments: Any, **named: Any) -> Any:
            if self._is_waiting:
                return function(*arguments, **named)
            self._is_waiting, began = True, time.monotonic()
            try:
                return function(*arguments, **named)
            finally:
                self._is_waiting = False
                self._waits[kind] += time.monotonic() - began

        return timed

    @pytest.hookimpl
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        mine = {mark.name for mark in item.iter_markers()} & set(MARKS)
        self._test(item.nodeid)["marks"] = sorted(mine)

    def _test(self, nodeid: str) -> dict[str, Any]:
        return self.tests.setdefault(nodeid, {"id": nodeid, "waits": {}})

    @pytest.hookimpl
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if hasattr(report, "node"):  # the controller of several workers hears of all their tests
            return
        test = self._test(report.nodeid)
        test[report.when or "call"] = round(report.duration, 4)
        for kind, seconds in self._waits.items():
            test["waits"][kind] = round(test["waits"].get(kind, 0) + seconds, 4)
        self._waits.clear()

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef[Any]) -> Iterator[None]:
        began = time.monotonic()
        try:
            return (yield)
        finally:
            noted = self.fixtures[fixturedef.argname]
            noted["times"] += 1
            noted["seconds"] += time.monotonic() - began

    @pytest.hookimpl
    def pytest_sessionfinish(self) -> None:
        if self.tests:
            name = os.environ.get("PYTEST_XDIST_WORKER", "all")
            noted = {"tests": list(self.tests.values()), "fixtures": self.fixtures}
            Path(os.environ["SUITE_CLOCK"], f"{name}.json").write_text(json.dumps(noted))


def pytest_configure(config: pytest.Config) -> None:
    clock = Clock()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Ray's own
        import ray

        from evaljudge.engines import VllmEngines
    places = {
        "engine loads": [(VllmEngines, "open")],
        "Ray starts and ends": [(ray, "init"), (ray, "shutdown")],
        "subprocesses": [(subprocess.Popen, "wait"), (subprocess.Popen, "communicate")],
        "sleeps": [(time, "sleep")],
    }
    for kind, functions in places.items():
        for owner, name in functions:
            setattr(owner, name, clock.time(kind, getattr(owner, name)))
    config.pluginmanager.register(clock)
