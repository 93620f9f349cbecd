"""On Ray, workers' machines and their model are fetched while the corpus is read."""

import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path

import pytest

import evaljudge
from evaljudge.config import WorkersConfig
from evaljudge.engines import ModelSource
from evaljudge.engines.scripted import ScriptedEngines
from evaljudge.execution.ray.executor import RayExecutor
from tests import build
from tests.build import refusal, wait_until

pytestmark = pytest.mark.ray


def note(folder: Path, until: Path | None = None) -> None:
    """Leaves a file when it begins, and another when the file that it waits for is there."""
    mark = f"{time.monotonic_ns()}"
    (folder / f"begun-{mark}").touch()
    while until is not None and not until.exists():
        time.sleep(0.05)
    (folder / f"done-{mark}").touch()


def refuse() -> None:
    raise OSError("no such model")


def noted(folder: Path, what: str) -> int:
    return len(list(folder.glob(f"{what}-*")))


def free_cpus() -> float:
    import ray

    return float(ray.available_resources().get("CPU", 0))


def fetching(fetch: Callable[[], None], least: int = 1) -> AbstractContextManager[None]:
    executor = RayExecutor(WorkersConfig(min=least, max=least, cpus=1))
    return executor.fetching(fetch, 1)


@pytest.mark.long
def test_it_is_done_meanwhile_and_leaves_room_for_the_worker(tmp_path, local_ray, capfd):
    with fetching(partial(note, tmp_path), least=2):
        wait_until(lambda: noted(tmp_path, "done") == 2)
    wait_until(lambda: free_cpus() == 4)
    with fetching(refuse):
        time.sleep(1)
    wait_until(lambda: free_cpus() == 4)
    assert "Unhandled" not in "".join(capfd.readouterr())


class Other:
    """Somebody else's work, which takes what there is."""


@pytest.mark.long
def test_where_there_is_no_machine_yet_it_is_given_up(tmp_path, local_ray, capfd):
    """Of two, one has room, and goes on after the corpus is read."""
    import ray

    other = ray.remote(num_cpus=3)(Other).remote()
    wait_until(lambda: free_cpus() == 1)
    with fetching(partial(note, tmp_path, tmp_path / "go"), least=2):
        wait_until(lambda: noted(tmp_path, "begun") == 1)
    assert noted(tmp_path, "done") == 0
    (tmp_path / "go").touch()
    wait_until(lambda: noted(tmp_path, "done") == 1)
    ray.kill(other)
    wait_until(lambda: free_cpus() == 4)
    assert noted(tmp_path, "begun") == 1
    assert "Unhandled" not in "".join(capfd.readouterr())


class Noting(ScriptedEngines):
    def __init__(self, folder: Path) -> None:
        super().__init__()
        self._folder = folder

    def fetch(self, source: ModelSource) -> None:
        note(self._folder)


@pytest.mark.long
def test_a_run_fetches_its_model_if_there_is_anything_to_ask(tmp_path, local_ray):
    given = build.config(tmp_path, judges={"synthetic": {}}, workers={"executor": "ray"})
    (tmp_path / "cases.jsonl").write_text("no JSON")
    assert "cases.jsonl" in refusal(evaljudge.run, given, engines=Noting(tmp_path))
    assert not (tmp_path / "out" / "run.json").exists()
    build.jsonl(tmp_path / "cases.jsonl", [build.document(1)])
    evaljudge.run(given, engines=Noting(tmp_path))
    wait_until(lambda: free_cpus() == 4)
    before = noted(tmp_path, "begun")
    assert noted(tmp_path, "done") == before
    evaljudge.run(given, engines=Noting(tmp_path))
    wait_until(lambda: free_cpus() == 4)
    assert noted(tmp_path, "begun") == before
