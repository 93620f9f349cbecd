"""Workers share one queue: one that is slow, dies or is told to go changes nothing but the time."""

import asyncio
import os
import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Thread
from typing import Any
from zlib import crc32

import psutil
import pytest

import evaljudge
from evaljudge.engines.scripted import Scripted, ScriptedEngines
from evaljudge.execution.ray.board import PIECE, reading_board
from tests import build
from tests.build import wait_until
from tests.end_to_end import shared
from tests.end_to_end.killing import title

pytestmark = [pytest.mark.ray, pytest.mark.long]
CASES = 24
SLOW = "document-7."


def engines(folder: Path, seconds: float = 0.05) -> ScriptedEngines:
    """Their class is local, so that it travels to a worker by value. Who asks is noted; the first
    that judges one of the documents waits for a file, as long as it takes, and so does whoever asks
    then, where a file says so."""

    class Noting(Scripted):
        async def choose(self, prompts: Any, options: Any, samples: int = 0) -> Any:
            for prompt in prompts:
                with (folder / "asks").open("a") as log:
                    log.write(f"{os.getpid()} {crc32(prompt.text.encode())}\n")
            await asyncio.sleep(seconds)
            if (folder / "slow").exists() and any(SLOW in prompt.text for prompt in prompts):
                with suppress(FileExistsError):
                    (folder / "stuck").touch(exist_ok=(folder / "all").exists())
                    while not (folder / "go").exists():
                        await asyncio.sleep(0.05)
            return await super().choose(prompts, options, samples)

    return ScriptedEngines(Noting)


@pytest.fixture(autouse=True)
def hasty(monkeypatch):
    """Ray Data would give up a run whose turns take longer, after half an hour by default."""
    import ray.data

    context = ray.data.DataContext.get_current()
    monkeypatch.setattr(context, "execution_no_progress_timeout_s", 2)


@pytest.fixture
def config(tmp_path):
    def config(name: str, workers: int, executor: str = "ray") -> dict[str, Any]:
        on_ray = {"min": workers, "max": workers, "cpus": 1} if executor == "ray" else {}
        where = {"executor": executor} | on_ray
        usual = {"out": str(tmp_path / name), "workers": where, "judges": {"geval": {}}}
        return shared.config(tmp_path, shared.cases(CASES), **usual)

    return config


@pytest.fixture
def scores(tmp_path, config):
    """The scores of a run, once they are those of a run in one process."""
    evaljudge.run(config("whole", 1, "local"), engines=engines(tmp_path, 0), progress=False)
    (tmp_path / "asks").unlink()

    def equal(name: str) -> None:
        one, other = (build.stored(tmp_path / each / "scores") for each in (name, "whole"))
        key = lambda row: (row["doc_id"], row["system"], row["scorer"], row["axis"])  # noqa: E731
        assert sorted(one, key=key) == sorted(other, key=key)

    return equal


def processes(name: str) -> list[psutil.Process]:
    ours = psutil.Process().children(recursive=True)
    return [process for process in ours if title(process).startswith(f"ray::{name}")]


def asked(folder: Path) -> list[str]:
    return (folder / "asks").read_text().splitlines() if (folder / "asks").exists() else []


@contextmanager
def meanwhile(work: Callable[[], None]) -> Iterator[None]:
    """What happens to a run is done in another thread."""
    errors = list[BaseException]()

    def noted() -> None:
        try:
            work()
        except BaseException as error:
            errors.append(error)

    thread = Thread(target=noted)
    thread.start()
    yield
    thread.join()
    assert not errors, errors


def test_a_copy_ends_a_run_whose_last_shard_is_stuck(tmp_path, local_ray, config, scores):
    """Nobody waits for the one that is stuck, and what it would still do changes nothing."""
    (tmp_path / "slow").touch()
    evaljudge.run(config("out", 2), engines=engines(tmp_path), progress=False)
    assert (tmp_path / "stuck").exists()
    (tmp_path / "go").touch()
    scores("out")


def test_the_pool_shrinks_when_less_is_left_than_it_is_wide(tmp_path, local_ray, config, scores):
    """Of three workers two have the last shard; the third is let go before they are done."""
    for name in ("slow", "all"):
        (tmp_path / name).touch()

    def let_go() -> None:
        wait_until(lambda: len(processes("MapWorker")) == 3)
        wait_until(lambda: len(processes("MapWorker")) == 2)
        (tmp_path / "go").touch()

    with meanwhile(let_go):
        evaljudge.run(config("out", 3), engines=engines(tmp_path), progress=False)
    scores("out")


@pytest.mark.parametrize("victim", ["MapWorker", "Board"])
def test_whatever_is_killed_again_and_again(victim, tmp_path, local_ray, config, scores):
    draw = random.Random(victim)

    def kill() -> None:
        for moment in sorted(draw.uniform(0.1, 0.8) for _ in range(3)):
            wait_until(lambda moment=moment: len(asked(tmp_path)) >= moment * 3 * CASES)
            if found := processes(victim):
                draw.choice(found).kill()

    with meanwhile(kill):
        evaljudge.run(config("out", 2), engines=engines(tmp_path, 0.3), progress=False)
    scores("out")


def test_a_worker_that_is_told_to_go_commits_what_it_has_in_hand(
    tmp_path, local_ray, config, scores
):
    def tell() -> None:
        wait_until(lambda: bool(processes("MapWorker")))
        (worker,) = processes("MapWorker")  # looked for before, as it takes long on a busy machine
        wait_until(lambda: bool(asked(tmp_path)))
        worker.terminate()

    with meanwhile(tell):
        evaljudge.run(config("out", 1), engines=engines(tmp_path, 0.3), progress=False)
    scores("out")
    workers = {line.split()[0] for line in asked(tmp_path)}
    prompts = [line.split()[1] for line in asked(tmp_path)]
    assert len(workers) == 2
    assert len(prompts) == len(set(prompts)), "something was asked again"


def test_what_is_done_when_a_worker_is_told_to_go_is_not_asked_again(
    tmp_path, local_ray, config, scores, monkeypatch
):
    """All documents are one shard; one of them is stuck, so the notice is too short for it."""
    monkeypatch.setattr("evaljudge.runs.binding.LEAST_SHARDS", 1)
    (tmp_path / "slow").touch()

    def tell() -> None:
        wait_until(lambda: len(asked(tmp_path)) == 3 * CASES)
        time.sleep(1)
        (worker,) = processes("MapWorker")
        worker.terminate()
        wait_until((tmp_path / "out/partial/judge/00000.json").exists)
        worker.kill()

    with meanwhile(tell):
        evaljudge.run(config("out", 1), engines=engines(tmp_path), progress=False)
    scores("out")
    assert len(asked(tmp_path)) == 3 * CASES + 3
    assert not (tmp_path / "out/partial").exists()


def test_orders_are_made_as_they_are_taken(local_ray):
    import ray

    made = list[int]()

    def orders() -> Iterator[tuple[int, list[str], str]]:
        for number in range(10**6):
            made.append(number)
            yield number, ["judge"], ""

    with reading_board(orders(), lambda event: None, may_copy=True) as reader:
        assert len(made) == PIECE
        taken = [ray.get(reader.board.take.remote("w", "a", "n", t)) for t in range(PIECE // 2)]
        reader.look()
        assert len(made) == 2 * PIECE
    assert [order[0] for order in taken] == list(range(PIECE // 2))
