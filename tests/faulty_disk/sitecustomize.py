"""A disk that fails, for processes that have this folder on their PYTHONPATH.

FAULTY_DISK names a JSON file, which may appear, change and go while processes run:

    [{"folder": "/tmp/run", "operations": ["write", "sync"], "at": 7, "times": 1000,
      "fault": "ENOSPC"}]

Operations on files below `folder` are counted, by all processes together, from the plan's
appearance on. Those from number `at` on, `times` of them, fail with this error; or the process that
is at one is killed before it ("SIGKILL before") or right after it ("SIGKILL after").

Python imports this module as it starts, so evaljudge runs unchanged.
"""

import builtins
import contextlib
import errno
import io
import json
import os
import signal
from collections.abc import Callable, Iterator
from functools import wraps
from typing import Any


class _Faults:
    """The plan in force, which is read anew at each operation."""

    def __init__(self, plan: str) -> None:
        self._plan = plan

    @contextlib.contextmanager
    def around(self, operation: str, path: Any) -> Iterator[None]:
        struck = [one["fault"] for one in self._rules() if self._strikes(one, operation, path)]
        for fault in struck:
            if fault == "SIGKILL before":
                os.kill(os.getpid(), signal.SIGKILL)
            elif not fault.startswith("SIGKILL"):
                number = getattr(errno, fault)
                raise OSError(number, os.strerror(number))
        yield
        if struck:
            os.kill(os.getpid(), signal.SIGKILL)

    def _rules(self) -> list[dict[str, Any]]:
        try:
            handle = os.open(self._plan, os.O_RDONLY)
        except FileNotFoundError:
            return []
        try:
            return json.loads(os.read(handle, 1 << 16))
        finally:
            os.close(handle)

    def _strikes(self, rule: dict[str, Any], operation: str, path: Any) -> bool:
        below = isinstance(path, str) and path.startswith(rule["folder"])
        if not below or operation not in rule["operations"]:
            return False
        number = count(f"{self._plan}.{rule['fault'].partition(' ')[0]}")
        return bool(rule["at"] <= number < rule["at"] + rule["times"])


def count(file: str) -> int:
    """One more, whoever counts; the numbers begin with 0."""
    handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    try:
        os.write(handle, b".")
        return os.lseek(handle, 0, os.SEEK_CUR) - 1
    finally:
        os.close(handle)


class _File(io.BufferedWriter):
    """A file whose writes are counted as they reach it."""

    def __init__(self, path: str, faults: _Faults) -> None:
        super().__init__(io.FileIO(path, "wb"))
        self._path, self._faults = path, faults

    def write(self, content: Any) -> int:
        with self._faults.around("write", self._path):
            return super().write(content)


def install(plan: str) -> None:
    faults, opens = _Faults(plan), builtins.open

    @wraps(opens)
    def opened(file: Any, mode: str = "r", *given: Any, **more: Any) -> Any:
        if mode != "wb" or not isinstance(file, str):
            return opens(file, mode, *given, **more)
        with faults.around("open", file):
            return _File(file, faults)

    builtins.open = opened
    for name, operation in {
        "makedirs": "folder", "replace": "rename", "link": "link", "unlink": "remove",
    }.items():  # fmt: skip
        setattr(os, name, _failing(faults, operation, getattr(os, name)))
    sync = os.fsync

    def synced(handle: int) -> None:
        with faults.around("sync", os.readlink(f"/proc/self/fd/{handle}")):
            sync(handle)

    os.fsync = synced


def _failing(faults: _Faults, operation: str, work: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(work)
    def guarded(path: Any, *given: Any, **more: Any) -> Any:
        with faults.around(operation, path):
            return work(path, *given, **more)

    return guarded


if plan := os.environ.get("FAULTY_DISK"):
    install(plan)
