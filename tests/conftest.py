"""What tests share: tiny checkpoints (random weights), and S3 over HTTP on loopback.

Both are made when a test first asks for them, and once for a session.
"""

import asyncio
import json
import logging
import os
import subprocess
import tempfile
import warnings
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from functools import cached_property
from inspect import iscoroutinefunction, signature
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import settings
from xdist.scheduler import LoadScopeScheduling

from evaljudge.engines import ModelSource, VllmEngines
from evaljudge.engines.vllm import VllmModel
from tests.clouds.bucket import CloudBucket
from tests.clouds.bucket import serving as serving_cloud
from tests.s3.bucket import NOBODYS, Bucket, serving
from tests.s3.proxy import FaultProxy
from tests.snapshots import snapshot as snapshot
from tests.tiny import make_tiny_model

# The same examples every time: a run's outcome must not depend on luck. To look for new ones:
# pytest --hypothesis-profile=search
settings.register_profile("steady", derandomize=True, deadline=None, max_examples=25)
settings.register_profile("search", max_examples=2000, deadline=None)
settings.load_profile("steady")

os.environ.setdefault("OMP_NUM_THREADS", "1")
"""Some processes share the cores; threads of tiny models would wait for each other, and spin."""
os.environ.setdefault("RAY_worker_niceness", "0")
"""By default Ray's workers give way to all other processes: beside busy tests they starve."""
os.environ.pop("COLUMNS", None)
"""What commands print goes to a file here, which has no width."""

OTHERS = ("engine", "ray", "service", "browser", "long")
"""Marks; a test that bears none of them is a `unit` test."""
LANES = ("ray", "engine", "browser")
"""Tests that bear one of these run one after the other, each lane in a process of its own: two
engines at once take each other's cores, what kills processes waits for others, and pages share a
run. A test that bears two is in the first of them, so that two lanes are about as long."""
TOLD_LANES = "EVALJUDGE_TEST_LANES"
"""The variable that names the file of lanes."""
WANTED_BY = {
    "start_ray": "ray", "local_ray": "ray", "shared_engines": "engine",
    "small_disk": "service", "s3_server": "service", "s3": "service", "s3_of_module": "service",
    "gs": "service", "az": "service", "cloud": "service",
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
        why = [line[1:].strip() for line in said if line.startswith("E ")] or said[-1:]
        print(f"\n{report.when} failed: {report.nodeid}: {' '.join(why)[:300]}", flush=True)


def pytest_addoption(parser: pytest.Parser) -> None:
    said = "of the tests chosen otherwise, one in four; which ones, this commit's hash says"
    parser.addoption("--one-in-four", metavar="HASH", help=said)
    parser.addoption("--renew", action="store_true", help="write the files of tests/snapshots.py")


def one_in_four(items: list[pytest.Item], commit: str) -> list[pytest.Item]:
    """By name, so that four commits in a row of all endings have them all."""
    turn = int(commit, 16) % max(1, min(4, len(items)))
    return sorted(items, key=lambda item: item.nodeid)[turn::4]


@pytest.hookimpl(wrapper=True)
def pytest_collection_modifyitems(
    config: pytest.Config, items: list[pytest.Item]
) -> Generator[None, None, None]:
    for item in items:
        if not _marks(item):
            item.add_marker("unit")
    if wrong := list(_wrongly_marked(items)):
        raise pytest.UsageError("\n".join(wrong))
    yield  # here `-m` has its say
    if commit := config.getoption("--one-in-four"):
        chosen = one_in_four(items, commit)
        config.hook.pytest_deselected(items=[item for item in items if item not in chosen])
        items[:] = chosen
    # the longest begin; among the others these are in the files beside this one, not in folders
    items.sort(key=lambda item: (not lane_of(item), not _marks(item), len(item.path.parts)))
    lanes = {item.nodeid: lane for item in items if (lane := lane_of(item))}
    Path(os.environ[TOLD_LANES]).write_text(json.dumps(lanes))


class Lanes(LoadScopeScheduling):
    """Each lane stays with one worker, and so does every file of other tests.

    Which tests are in a lane is known to the workers alone, since only they collect: they tell it
    by a file. (xdist's own groups are not understood by pytest 9.2.)
    """

    @cached_property
    def _lanes(self) -> dict[str, str]:
        return json.loads(Path(os.environ[TOLD_LANES]).read_text())

    def _split_scope(self, nodeid: str) -> str:
        return self._lanes.get(nodeid) or nodeid.partition("::")[0]


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Lanes:
    return Lanes(config, log)


def pytest_configure(config: pytest.Config) -> None:
    if TOLD_LANES not in os.environ:
        handle, os.environ[TOLD_LANES] = tempfile.mkstemp(prefix="lanes-")
        os.close(handle)
        config.add_cleanup(lambda: Path(os.environ.pop(TOLD_LANES)).unlink())


def _marks(item: pytest.Item) -> set[str]:
    return {mark.name for mark in item.iter_markers()} & set(OTHERS)


def _wrongly_marked(items: list[pytest.Item]) -> Iterator[str]:
    """Tests that ask for what a unit test may not have."""
    for item in items:
        for fixture in getattr(item, "fixturenames", ()):
            if fixture in WANTED_BY and not _marks(item):
                yield f"{item.nodeid} asks for {fixture}: mark it {WANTED_BY[fixture]!r}"


@pytest.fixture(scope="session")
def tiny(tmp_path_factory):
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
        self._ends: list[Callable[[], None]] = []

    def open(self, source: ModelSource, seed: int) -> VllmModel:
        name = f"{source} {seed}"
        from vllm.distributed.parallel_state import model_parallel_is_initialized

        if not model_parallel_is_initialized():  # another engine was closed, and these died of it
            self._opened.clear()
        if name not in self._opened:
            model = super().open(source, seed)
            self._ends.append(model.close)
            model.close = lambda: None  # type: ignore[method-assign]
            self._opened[name] = model
        return self._opened[name]

    def close(self) -> None:
        """All at once: the first that is closed takes what the engines of one process share.

        Each would have the garbage collector look through this large process, for seconds; and the
        process ends now.
        """
        with patch("gc.collect"):
            for end in self._ends:
                end()


@pytest.fixture(scope="session")
def shared_engines():
    """For tests that ask a model in this process; its prefix cache may hold what others asked."""
    engines = SharedEngines()
    yield engines
    engines.close()


class Rays:
    """The Ray of this process: at most one at a time, as Ray has it."""

    def __init__(self) -> None:
        self._is_shared = False

    def share(self) -> None:
        """One for all who want nothing special of it; it stays until another is started."""
        if not self._is_shared:
            _start_ray(num_cpus=4)
            self._is_shared = True

    @contextmanager
    def start(self, **wanted: Any) -> Iterator[None]:
        """One of its own for a block."""
        self.end()
        _start_ray(**wanted)
        yield
        _end_ray()

    def end(self) -> None:
        if self._is_shared:
            _end_ray()
            self._is_shared = False


def _start_ray(**wanted: Any) -> None:
    """On a busy machine it may take two attempts."""
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


def _end_ray() -> None:
    import ray

    ray.shutdown()


RAYS = Rays()


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """A test may be `async`."""
    if not iscoroutinefunction(pyfuncitem.obj):
        return None
    names = signature(pyfuncitem.obj).parameters
    asyncio.run(pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in names}))
    return True


def pytest_runtest_setup(item: pytest.Item) -> None:
    """In a process that is connected to Ray, runs would take it."""
    if not item.get_closest_marker("ray") or item.get_closest_marker("engine"):
        RAYS.end()


def pytest_sessionfinish() -> None:
    RAYS.end()


@pytest.fixture(scope="session")
def start_ray():
    return RAYS.start


@pytest.fixture
def local_ray():
    """For the runs of this process, and for drivers that are told its address."""
    RAYS.share()


@pytest.fixture(scope="module")
def hundred_columns():
    """Tables are printed as on a terminal of this width."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setenv("COLUMNS", "100")
        yield


@pytest.fixture
def no_fsync(monkeypatch):
    """Nothing waits for the disk."""
    monkeypatch.setattr(os, "fsync", lambda file: None)


@pytest.fixture
def executor(request):
    """Of a test's runs: local, unless it is parametrised over both executors."""
    name: str = getattr(request, "param", "local")
    if name == "ray":
        request.getfixturevalue("local_ray")
    return name


@pytest.fixture(scope="session")
def s3_server():
    """Moto, in a process of its own; `.url` is where it listens (see s3/bucket.py)."""
    with serving() as server:
        yield server


@pytest.fixture
def s3(s3_server, monkeypatch):
    """A fresh bucket, which this process and those that it starts take for one of Amazon's."""
    yield from _bucket(s3_server, monkeypatch)


@pytest.fixture(scope="module")
def s3_of_module(s3_server):
    """The same for all tests of a module, where a run is too dear to be made for each."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        yield from _bucket(s3_server, monkeypatch)


@pytest.fixture
def s3_proxy(s3, monkeypatch):
    """A door to the bucket that a test may have fail (see s3/proxy.py); all go through it."""
    with FaultProxy(s3.server.url) as proxy:
        monkeypatch.setenv("AWS_ENDPOINT_URL", proxy.url)
        yield proxy


@pytest.fixture(scope="session")
def gs_server():
    with serving_cloud("gs") as server:
        yield server


@pytest.fixture(scope="session")
def az_server():
    with serving_cloud("az") as server:
        yield server


@pytest.fixture
def gs(gs_server, monkeypatch):
    """A fresh bucket of Google's storage, as this process and those that it starts find it."""
    return _cloud_bucket("gs", gs_server, monkeypatch)


@pytest.fixture
def az(az_server, monkeypatch):
    """The same of Azure's."""
    return _cloud_bucket("az", az_server, monkeypatch)


@pytest.fixture(params=["gs", "az"])
def cloud(request):
    """Both, one after the other."""
    return request.getfixturevalue(request.param)


@pytest.fixture
def small_disk(tmp_path):
    """A real one, of 64 kilobytes, where this user may mount it."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(folder)]
    if os.geteuid() or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("no disk can be mounted here")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


@pytest.fixture
def findings():
    """An ordinary run's, to be reported."""
    from tests.report.findings import made

    return made()


@pytest.fixture
def hostile():
    """Those of a corpus that means harm."""
    from tests.report.findings import WORDS, made_of

    return made_of(WORDS)


@pytest.fixture
def with_statistics():
    """An ordinary run's, with every statistic."""
    from tests.report.findings import made_with_statistics

    return made_with_statistics()


def _bucket(server: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    bucket = Bucket(server)
    for name in NOBODYS:
        monkeypatch.delenv(name, raising=False)
    for name, value in bucket.environment.items():
        monkeypatch.setenv(name, value)
    yield bucket
    bucket.close()


def _cloud_bucket(scheme: str, server: Any, monkeypatch: pytest.MonkeyPatch) -> CloudBucket:
    bucket = CloudBucket(scheme, server)
    for name in [name for name in os.environ if name.startswith(("AZURE_", "GOOGLE_"))]:
        monkeypatch.delenv(name)
    for name, value in bucket.environment.items():
        monkeypatch.setenv(name, value)
    return bucket


def _texts() -> list[str]:
    """Prose to train a tokenizer on: the shared articles where they are there, and our own."""
    file = SHARED / "summeval.jsonl"
    lines = file.read_text().splitlines()[:40] if file.exists() else []
    return [json.loads(line)["source"] for line in lines] + [PROSE] * 20
