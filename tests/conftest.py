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
from xdist.scheduler import LoadScopeScheduling

from evaljudge.engines.tiny import make_tiny_model

# The same examples every time: a run's outcome must not depend on luck. To look for new ones:
# pytest --hypothesis-profile=search
settings.register_profile("steady", derandomize=True, deadline=None)
settings.register_profile("search", max_examples=2000, deadline=None)
settings.load_profile("steady")

HERE = Path(__file__).parent
LANES = {
    "engine": (
        *("engines/", "nano/", "end_to_end/test_e2e_engine", "end_to_end/test_e2e_entities"),
        *("end_to_end/test_e2e_hostile", "end_to_end/test_e2e_killed_engine"),
        *("end_to_end/test_e2e_nano", "end_to_end/test_e2e_refusals"),
        *("end_to_end/test_e2e_roles", "end_to_end/test_e2e_submit"),
    ),
    "ray": ("end_to_end/", "test_measures", "test_given_references", "test_journey"),
}
"""Which tests go one after the other: two real engines at once take each other's cores, and what
kills processes waits for others. These are the longest, and begin; all else is free, by file."""


def lane_of(nodeid: str) -> str:
    file = nodeid.partition("::")[0].removeprefix("tests/")
    return next((name for name, starts in LANES.items() if file.startswith(starts)), "")


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


class Lanes(LoadScopeScheduling):
    def _split_scope(self, nodeid: str) -> str:
        return lane_of(nodeid) or nodeid.partition("::")[0]


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Lanes:
    return Lanes(config, log)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: not lane_of(item.nodeid))


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
