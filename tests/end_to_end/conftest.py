"""The fixtures of end-to-end tests: test files cannot import what lies beside them."""

import importlib.util
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

HERE = Path(__file__).parent


@pytest.fixture(scope="session")
def e2e() -> SimpleNamespace:
    """What shared.py has, by name, and the scripted model that notes what it is asked."""
    return SimpleNamespace(
        **vars(_load("shared")), script=HERE / "scripted_run.py",
        noting_engines=_load("scripted_run").noting_engines,
    )  # fmt: skip


@pytest.fixture(scope="session")
def killing() -> ModuleType:
    return _load("killing")


def _load(name: str) -> ModuleType:
    """A module that lies beside the tests, which are no package."""
    spec = importlib.util.spec_from_file_location(name, HERE / f"{name}.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
