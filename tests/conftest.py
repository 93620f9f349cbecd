"""What tests share: tiny checkpoints (random weights), and S3 over HTTP on loopback.

Both are made when a test first asks for them, and once for a session.
"""

from __future__ import annotations

import importlib.util
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import settings

from evaljudge.engines.tiny import make_tiny_model

# The same examples every time: a run's outcome must not depend on luck. To look for new ones:
# pytest --hypothesis-profile=search
settings.register_profile("steady", derandomize=True, deadline=None)
settings.register_profile("search", max_examples=2000, deadline=None)
settings.load_profile("steady")

HERE = Path(__file__).parent
SHARED = Path(__file__).parents[2] / "shared" / "data"
PROSE = (
    "The river rose after two days of rain and the town council closed the old bridge. "
    "Better boats were sent from the city; worse weather was forecast, similar to last year. "
    'Article, summary, reference, target: <tags> and </tags>, numbers 1 2 3 4 5, and "quotes".'
)


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
