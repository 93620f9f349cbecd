"""What tests share: tiny checkpoints (random weights), and S3 over HTTP on loopback.

Both are made when a test first asks for them, and once for a session.
"""

from __future__ import annotations

import importlib.util
import json
import logging
import os
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import settings

from evaljudge.engines import ModelSource, VllmEngines
from evaljudge.engines.tiny import make_tiny_model
from evaljudge.engines.vllm import VllmModel

# The same examples every time: a run's outcome must not depend on luck. To look for new ones:
# pytest --hypothesis-profile=search
settings.register_profile("steady", derandomize=True, deadline=None)
settings.register_profile("search", max_examples=2000, deadline=None)
settings.load_profile("steady")

HERE = Path(__file__).parent
OTHERS = ("engine", "ray", "service", "browser", "long")
"""Marks; a test that bears none of them is a `unit` test."""
LANES = ("engine", "ray")
"""Tests that bear one of these run one after the other: two engines at once take each other's
cores, and what kills processes waits for others. They are the longest, and begin."""
WANTED_BY = {
    "start_ray": "ray", "local_ray": "ray", "shared_engines": "engine",
    "s3_server": "service", "s3": "service", "s3_of_module": "service",
}  # fmt: skip
"""Fixtures, and the mark of a test that asks for one."""


def lane_of(item: pytest.Item) -> str:
    return next((name for name in LANES if item.get_closest_marker(name)), "")


SHARED = Path(__file__).parents[2] / "shared" / "data"
PROSE = (
    "The river rose after two days of rain and the town council closed the old bridge. "
    "Better boats were sent from the city; worse weather was forecast, similar to last year. "
    'Article, summary, reference, target: <tags> and </tags>, numbers 1 2 3 4 5, and "quotes".'
)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """What fails is named at once: a job's log may end before the summary."""
    if report.failed and "PYTEST_XDIST_WORKER" not in os.environ:
        said = str(report.longrepr).strip().splitlines() or [""]
        print(f"\n{report.when} failed: {report.nodeid}: {said[-1][:200]}", flush=True)


@pytest.hookimpl(tryfirst=True)  # before xdist looks which tests stay together
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    unmarked = []
    for item in items:
        if not any(item.get_closest_marker(name) for name in OTHERS):
            item.add_marker("unit")
        for fixture in getattr(item, "fixturenames", ()):
            mark = WANTED_BY.get(fixture)
            if mark and not any(item.get_closest_marker(name) for name in OTHERS):
                unmarked.append(f"{item.nodeid} asks for {fixture}: mark it {mark!r}")
        item.add_marker(pytest.mark.xdist_group(lane_of(item) or str(item.path)))
    if unmarked:
        raise pytest.UsageError("\n".join(unmarked))
    items.sort(key=lambda item: not lane_of(item))


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    made: dict[str, Path] = {}

    def make(pieces: str = "bytes", chat: bool = True, **more: int) -> Path:
        name = "-".join(map(str, [pieces, chat, *more.values()]))
        if name not in made:
            folder = tmp_path_factory.mktemp("tiny") / name
            made[name] = make_tiny_model(folder, _texts(), pieces=pieces, chat=chat, **more)  # type: ignore[arg-type]
        return made[name]

    return make


class SharedEngines(VllmEngines):
    """Loads each model once for all tests of a session; who closes one leaves it to the others."""

    def __init__(self) -> None:
        self._opened: dict[str, VllmModel] = {}

    def open(self, source: ModelSource, seed: int) -> Any:
        name = f"{source} {seed}"
        if name not in self._opened:
            self._opened[name] = super().open(source, seed)
        return _Lent(self._opened[name])

    def close(self) -> None:
        """All at once: the first that is closed takes what the engines of one process share."""
        for model in self._opened.values():
            model.close()


class _Lent:
    def __init__(self, model: VllmModel) -> None:
        self._model = model

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)

    def close(self) -> None: ...


@pytest.fixture(scope="session")
def shared_engines() -> Iterator[SharedEngines]:
    """For tests that ask a model in this process; its prefix cache may hold what others asked."""
    engines = SharedEngines()
    yield engines
    engines.close()


@pytest.fixture(scope="session")
def start_ray() -> Callable[..., AbstractContextManager[None]]:
    """A Ray of this process; on a busy machine it may take two attempts."""

    @contextmanager
    def started(**wanted: Any) -> Iterator[None]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # its own are not ours to mend
            import ray
            import ray.data

            ray.data.DataContext.get_current()
            quiet = {"logging_level": logging.ERROR, "log_to_driver": False}
            how = {"address": "local", "include_dashboard": False} | quiet | wanted
            try:
                ray.init(**how)
            except Exception:  # Ray's own are of no kind
                ray.shutdown()
                ray.init(**how)
        yield
        ray.shutdown()

    return started


@pytest.fixture(scope="module")
def local_ray(start_ray: Callable[..., AbstractContextManager[None]]) -> Iterator[None]:
    """One Ray for a module's runs in this process."""
    with start_ray(num_cpus=4):
        yield


@pytest.fixture
def executor(request: pytest.FixtureRequest) -> str:
    """Of a test's runs: local, unless it is parametrised over both executors."""
    name: str = getattr(request, "param", "local")
    if name == "ray":
        request.getfixturevalue("local_ray")
    return name


@pytest.fixture(scope="session")
def s3_server() -> Iterator[Any]:
    """Moto, in a process of its own; `.url` is where it listens (see s3/bucket.py)."""
    with _load("s3/bucket").serving() as server:
        yield server


@pytest.fixture
def s3(s3_server: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A fresh bucket, which this process and those that it starts take for one of Amazon's."""
    yield from _bucket(s3_server, monkeypatch)


@pytest.fixture(scope="module")
def s3_of_module(s3_server: Any) -> Iterator[Any]:
    """The same for all tests of a module, where a run is too dear to be made for each."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        yield from _bucket(s3_server, monkeypatch)


@pytest.fixture
def s3_proxy(s3: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A door to the bucket that a test may have fail (see s3/proxy.py); all go through it."""
    with _load("s3/proxy").FaultProxy(s3.server.url) as proxy:
        monkeypatch.setenv("AWS_ENDPOINT_URL", proxy.url)
        yield proxy


def _bucket(server: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    module = _load("s3/bucket")
    bucket = module.Bucket(server)
    for name in module.NOBODYS:
        monkeypatch.delenv(name, raising=False)
    for name, value in bucket.environment.items():
        monkeypatch.setenv(name, value)
    yield bucket
    bucket.close()


def _load(name: str) -> ModuleType:
    """A module that lies beside the tests, which are no package; loaded once."""
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, HERE / f"{name}.py")
        assert spec and spec.loader
        sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[name])
    return sys.modules[name]


def _texts() -> list[str]:
    """Prose to train a tokenizer on: the shared articles where they are there, and our own."""
    file = SHARED / "summeval.jsonl"
    lines = file.read_text().splitlines()[:40] if file.exists() else []
    return [json.loads(line)["source"] for line in lines] + [PROSE] * 20
