"""Processes that are started to be killed, and what becomes of their children."""

import ctypes
import json
import os
import re
import shutil
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Literal

import psutil

from tests.end_to_end import shared

Victim = Literal["driver", "worker", "all"]
PATIENCE = 240
SHARED = "s3/serve.py"
PR_SET_CHILD_SUBREAPER = 36


class Command:
    """A run's command line, started as often as it is killed, in a session of its own."""

    def __init__(
        self, command: Sequence[Any], folder: Path, out: Path, environment: Mapping[str, str],
        names: Callable[[], Iterable[str]] | None = None,
    ) -> None:  # fmt: skip
        """`names` lists the files of the output folder, where it lies not on this machine."""
        self._command, self._folder = list(map(str, command)), folder
        self._environment = os.environ | environment
        self._names = names or partial(_files, out)

    def start(self) -> None:
        with (self._folder / "said").open("a") as said:
            self._driver = psutil.Popen(
                self._command, cwd=self._folder, env=self._environment, start_new_session=True,
                stdout=said, stderr=said,
            )  # fmt: skip

    @property
    def ended(self) -> bool:
        return self._driver.poll() is not None

    def end(self) -> None:
        self._driver.wait(PATIENCE)
        assert self._driver.returncode == 0, self.said()

    def kill(self, victim: Victim) -> None:
        """With -9; back when no engine's process is left, but for a worker's successor."""
        assert not self.ended, f"ended before its moment: {self.said()}"
        doomed = [self._driver]
        if victim == "worker":
            self.wait_until(lambda: bool(workers()), "a worker")
            doomed = workers()[:1]
        elif victim == "all":
            doomed += self._driver.children(recursive=True)
        ending = [] if victim == "worker" else self._driver.children()  # Linux ends them with it
        for process in doomed:
            process.kill()
        psutil.wait_procs([*doomed, *ending], timeout=30)
        if victim != "worker":
            self.wait_until(lambda: not workers(), "the end of every engine")

    def committed(self) -> dict[str, set[int]]:
        """The shards of each stage that have their marker."""
        found = {"prepare": set[int](), "judge": set[int](), "measure": set[int]()}
        for name in self._names():
            if bundle := re.fullmatch(r"(commits|briefs)/(\w+)/(\d+)\.zip", name):
                stage = bundle[2] if bundle[1] == "commits" else "prepare"
                found[stage].add(int(bundle[3]))
        return found

    def said(self) -> str:
        return (self._folder / "said").read_text()[-3000:]

    def wait_until(self, holds: Callable[[], bool], what: str) -> None:
        give_up = time.monotonic() + PATIENCE
        while not holds():
            assert time.monotonic() < give_up, f"waited in vain for {what}: {self.said()}"
            time.sleep(0.1)


class Run:
    """A run on the scripted model as such a command, with a log of what it asks; where there is a
    bucket, it lies there."""

    def __init__(
        self, folder: Path, rows: list[Any], pause: float, environment: Mapping[str, str],
        bucket: Any = None, **changes: Any,
    ) -> None:  # fmt: skip
        self._local, self.log = folder / "out", folder / "asks"
        self.bucket, self.prefix = bucket, f"{folder.name}/out"
        out = f"{bucket.uri}/{self.prefix}" if bucket else str(self._local)
        self.config = shared.config(folder, rows, out=out, **changes)
        (folder / "config.json").write_text(json.dumps(self.config))
        command = [sys.executable, shared.SCRIPT, "config.json", self.log, pause]
        self.command = Command(command, folder, self._local, environment, self.files)

    def files(self) -> set[str]:
        if self.bucket is None:
            return shared.files(self._local)
        start = f"{self.prefix}/"
        return {key.removeprefix(start) for key in self.bucket.keys(start)}

    @property
    def out(self) -> Path:
        """The output folder, or a copy of what it holds now."""
        if self.bucket is None:
            return self._local
        shutil.rmtree(self._local, ignore_errors=True)
        self._local.mkdir()
        return Path(self.bucket.download(self.prefix, self._local))

    @property
    def asks(self) -> list[shared.Ask]:
        return shared.asks(self.log)


def workers() -> list[psutil.Process]:
    """The processes of engines: those that hold our Worker, and vLLM's own."""
    return [p for p in _descendants() if any(mark in title(p) for mark in ("MapWorker", "VLLM"))]


@contextmanager
def adopting() -> Iterator[None]:
    """Orphans become this process' children meanwhile, so that none is overlooked.

    What is left in the end is killed, but for the S3 server that all tests share: Ray's own agents
    need a minute to notice that it is gone.
    """
    libc, before = ctypes.CDLL(None), set(_descendants())
    libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    yield
    left = [p for p in _descendants() if p not in before and SHARED not in title(p)]
    for process in left:
        process.kill()
    psutil.wait_procs(left, timeout=10)
    libc.prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)


def _files(out: Path) -> list[str]:
    return [str(file.relative_to(out)) for file in out.rglob("*") if file.is_file()]


def _descendants() -> list[psutil.Process]:
    return psutil.Process().children(recursive=True)


def title(process: psutil.Process) -> str:
    try:
        return " ".join(process.cmdline())
    except (psutil.NoSuchProcess, psutil.ZombieProcess):
        return ""
