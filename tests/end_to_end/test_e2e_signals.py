"""SIGINT and SIGTERM at any moment: one line, exit code 130 or 143, in ten seconds, nothing left.

A chain is one run that is started again and again and is sent a signal each time, until it is let
through; then it comes to what an undisturbed run comes to. Early moments are so many seconds after
the start, later ones so many asks after those of the run before, or with the first score.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest

import evaljudge
from evaljudge.commands.supervised import LOST
from evaljudge.engines.scripted import ScriptedEngines
from tests.end_to_end import shared

SCRIPT = Path(__file__).parent / "supervised_run.py"
MARK = "EVALJUDGE_TEST_OF_SIGNALS"
"""A variable of the environment, which a process hands down to all that it starts."""
WORDS = {signal.SIGINT: "interrupted", signal.SIGTERM: "terminated"}
CASES, PAUSE, MOST_SECONDS, A_MINUTE, PATIENCE = 48, 0.2, 10, 60, 240


@dataclass(frozen=True)
class Moment:
    """When a signal is sent: after so many seconds or asks, or when a score is there."""

    number: signal.Signals
    seconds: float = 0
    asks: int = 0
    is_reporting: bool = False

    def __str__(self) -> str:
        asks = f" and {self.asks} asks" if self.asks else ""
        reporting = " and a score" if self.is_reporting else ""
        return f"{self.number.name} after {self.seconds:.2f} s{asks}{reporting}"


class Chain:
    """A run's folder, and the command that is started on it."""

    def __init__(self, folder: Path, executor: str) -> None:
        self._folder, self._log = folder, folder / "asks"
        self._mark, self.out = uuid.uuid4().hex, folder / "out"
        judges = {"synthetic": {"checks": shared.NONE}}
        more = {"judges": judges, "metrics": ["words"], "agreement": {"resamples": 2000}}
        rows, workers = shared.cases(CASES), {"executor": executor}
        self.config = shared.config(folder, rows, workers=workers, view=30, **more)
        self._write()

    def _write(self) -> None:
        (self._folder / "config.json").write_text(json.dumps(self.config))

    def end_by(self, moment: Moment) -> float:
        """Seconds from the signal to the end."""
        process, stderr = self._start()
        try:
            self._wait_for(moment, process)
            since = time.monotonic()
            process.send_signal(moment.number)
            code = process.wait(PATIENCE)
            took = time.monotonic() - since
            assert self._left() == []
        finally:
            self._kill_all_left()
        said = stderr.read_text()
        assert (code, said.count("\n")) == (128 + moment.number, 1), said
        assert said.startswith(f"evaljudge: {WORDS[moment.number]}"), said
        assert took < MOST_SECONDS
        hidden = [str(path) for path in self.out.rglob(".*")]
        assert hidden + list(self._folder.glob("*.crash")) == []
        return took

    def lose(self, part: str) -> None:
        """A process of its Ray is killed while it asks."""
        process, stderr = self._start()
        try:
            self._wait_for(Moment(signal.SIGKILL, asks=20), process)
            below = psutil.Process(process.pid).children(recursive=True)
            (lost,) = (one for one in below if one.name() == part)
            lost.kill()
            assert process.wait(PATIENCE) == 1
        finally:
            self._kill_all_left()
        *_, said = stderr.read_text().splitlines()  # Ray may have said something before
        assert said == f"evaljudge: {LOST}"

    def finish_by(self, moment: Moment) -> None:
        """With time for the shards in hand."""
        process, stderr = self._start(EVALJUDGE_FINISH_SECONDS=str(PATIENCE))
        self._wait_for(moment, process)
        process.send_signal(moment.number)
        assert process.wait(PATIENCE) == 143, stderr.read_text()
        assert self._left() == []

    def kill_while_asking(self) -> float:
        """Seconds from `kill -9` until no process is left."""
        process, _ = self._start()
        try:
            self._wait_for(Moment(signal.SIGKILL, asks=20), process)
            process.kill()
            process.wait()
            since = time.monotonic()
            while self._left() and time.monotonic() - since < A_MINUTE:
                time.sleep(0.1)
            assert self._left() == []
        finally:
            self._kill_all_left()
        return time.monotonic() - since

    def end(self) -> None:
        """In one process, which is quicker; where it is done does not bind a run."""
        self.config["workers"] = {"executor": "local"}
        self._write()
        process, stderr = self._start()
        assert process.wait(PATIENCE) == 0, stderr.read_text()

    def _start(self, **more: str) -> tuple[subprocess.Popen[bytes], Path]:
        command = [sys.executable, str(SCRIPT), "config.json", str(self._log), str(PAUSE)]
        stderr = self._folder / "stderr"
        self._asks = len(shared.asks(self._log))
        shutil.rmtree(self.out / "scores", ignore_errors=True)
        environment = os.environ | {MARK: self._mark} | more
        if self.config["workers"]["executor"] == "local":  # a path of Ray's sockets must be short
            environment["TMPDIR"] = str(self._folder)
        with stderr.open("wb") as said:
            process = subprocess.Popen(
                command, cwd=self._folder, stdout=said, stderr=said, env=environment
            )
        return process, stderr

    def _wait_for(self, moment: Moment, process: subprocess.Popen[bytes]) -> None:
        watching = psutil.Process(process.pid)
        wait_until(lambda: bool(watching.children()), process)  # before, Python answers a signal
        if moment.asks:
            wanted = self._asks + moment.asks
            wait_until(lambda: len(shared.asks(self._log)) >= wanted, process)
        if moment.is_reporting:
            wait_until(lambda: any((self.out / "scores").glob("[!.]*")), process)
        time.sleep(moment.seconds)
        assert process.poll() is None, "the run ended before its moment"

    def _left(self) -> list[str]:
        return [Path(f"/proc/{pid}/cmdline").read_text() for pid in self._marked()]

    def _kill_all_left(self) -> None:
        for pid in self._marked():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def _marked(self) -> Iterator[int]:
        for environment in Path("/proc").glob("[0-9]*/environ"):
            with suppress(OSError):  # gone meanwhile
                if f"{MARK}={self._mark}".encode() in environment.read_bytes().split(b"\0"):
                    yield int(environment.parent.name)


def wait_until(holds: Callable[[], bool], process: subprocess.Popen[bytes]) -> None:
    give_up = time.monotonic() + PATIENCE
    while not holds():
        assert process.poll() is None, "the run ended before its moment"
        assert time.monotonic() < give_up
        time.sleep(0.05)


def run_chain(moments: list[Moment], chain: Chain, whole: Path) -> None:
    for moment in moments:
        print(f"{moment}: {chain.end_by(moment):.2f} s", flush=True)
    chain.end()
    evaljudge.run(chain.config | {"out": str(whole)}, engines=ScriptedEngines())
    assert not shared.differences(shared.tables(chain.out), shared.tables(whole))


FEW = {
    "local": [
        Moment(signal.SIGTERM, 0.4),
        Moment(signal.SIGINT, asks=20),
        Moment(signal.SIGTERM, is_reporting=True),
    ],
    "ray": [Moment(signal.SIGTERM, 1.5), Moment(signal.SIGINT, asks=20)],
}


@pytest.mark.long
@pytest.mark.parametrize(
    "executor",
    [pytest.param("local", marks=pytest.mark.service), pytest.param("ray", marks=pytest.mark.ray)],
)
def test_a_signal_ends_a_run_at_once_and_a_rerun_resumes(executor, tmp_path):
    chain = Chain(tmp_path, executor)
    run_chain(FEW[executor], chain, tmp_path / "whole")


@pytest.mark.ray
@pytest.mark.long
@pytest.mark.parametrize("part", ["raylet", "gcs_server"])
def test_where_ray_is_lost_one_line_says_so_and_a_rerun_resumes(part, tmp_path):
    chain = Chain(tmp_path, "ray")
    chain.lose(part)
    run_chain([], chain, tmp_path / "whole")


@pytest.mark.long
@pytest.mark.parametrize(
    "executor",
    [pytest.param("local", marks=pytest.mark.service), pytest.param("ray", marks=pytest.mark.ray)],
)
def test_a_run_that_is_given_time_ends_after_the_shards_in_hand(executor, tmp_path):
    chain = Chain(tmp_path, executor)
    chain.finish_by(Moment(signal.SIGTERM, asks=20))
    judged = len(list(chain.out.glob("commits/judge/[!.]*")))
    chain.end()
    assert 0 < judged < len(list(chain.out.glob("commits/judge/*")))
    prompts = [ask.prompt for ask in shared.asks(tmp_path / "asks")]
    assert len(prompts) == len(set(prompts)), "something was asked again"


@pytest.mark.ray
@pytest.mark.long
def test_after_kill_9_its_ray_ends_within_a_minute(tmp_path):
    chain = Chain(tmp_path, "ray")
    print(f"nothing left after {chain.kill_while_asking():.1f} s")
