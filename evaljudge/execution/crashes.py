"""Whether the run before this one crashed, so that a case that crashes the process can be found.

A local run works in the driver's own process. When that ends early, it was either stopped
(`kill -9`, a power cut), which is no case's fault, or it crashed. To tell them apart, a run leaves
a note that names a file to which Python writes at a fatal signal:

    attempts/process.json  {"session": "5e0c…", "machine": "host 1763…", "out_of_memory": 0,
                            "faults": "/tmp/evaljudge-x1.crash"}

It crashed if that file holds anything, if the system has killed processes for lack of memory
since, or if the note says so, because no other engine could be loaded after one had died. Then the
next run continues its session, in which deaths are counted (attempts.py). Otherwise counting starts
again. An empty file, which a killed process could not remove, is removed by the next run of any
folder.
"""

from __future__ import annotations

import faulthandler
import fcntl
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from evaljudge.errors import ClaimLost, Crashed, StorageLost, UserError
from evaljudge.storage import Output, this_machine

NOTE, PREFIX, SUFFIX = "process", "evaljudge-", ".crash"
NEW = 60.0
_MEMORY_EVENTS = Path("/proc/vmstat")


@contextmanager
def noting_crashes(output: Output) -> Iterator[str]:
    """Gives the session in which this run's deaths are counted.

    In the end all notes of attempts are removed, except after a crash, or where they are out of
    reach or another job's.
    """
    session = _session(output.attempt(NOTE))
    _remove_empty_files()
    with _file_for_faults() as faults:
        fcntl.flock(faults, fcntl.LOCK_EX)
        note: dict[str, Any] = {"session": session, "machine": this_machine()}
        note |= {"faults": faults.name, "out_of_memory": _out_of_memory()}
        output.note_attempt(NOTE, note)
        try:
            with _writing_faults(faults):
                yield session
        except Crashed as error:
            output.note_attempt(NOTE, note | {"crashed": str(error)})
            raise
        except (StorageLost, ClaimLost):
            raise
        except BaseException:
            with suppress(UserError):  # the disk may refuse this, too; the first error says more
                output.forget_attempts()
            raise
    output.forget_attempts()


def _session(before: Mapping[str, Any]) -> str:
    """That of the run before, if it crashed on this machine; else a new one."""
    if before.get("machine") != this_machine():
        return uuid.uuid4().hex
    cause = before.get("crashed") or _last_words(before["faults"])
    if not cause and _out_of_memory() <= before["out_of_memory"]:
        return uuid.uuid4().hex
    why = cause or "it was ended for want of memory"
    line = f"the run before crashed ({why}); the shards it was at are done one case at a time"
    print(line, file=sys.stderr, flush=True)
    return str(before["session"])


def _last_words(file: str) -> str:
    """The first line of what Python wrote as it died; the file is removed."""
    path = Path(file)
    if path.parent != Path(tempfile.gettempdir()) or not path.name.startswith(PREFIX):
        return ""  # no note of ours
    with suppress(FileNotFoundError):
        written = path.read_text(errors="replace")
        path.unlink()
        return written.partition("\n")[0].strip()
    return ""


@contextmanager
def _file_for_faults() -> Iterator[IO[str]]:
    """Removed in the end; what cleans the system's folder of temporary files may be earlier."""
    with tempfile.NamedTemporaryFile("w", prefix=PREFIX, suffix=SUFFIX, delete=False) as faults:
        try:
            yield faults
        finally:
            Path(faults.name).unlink(missing_ok=True)


def _remove_empty_files() -> None:
    """Those of killed processes, whose locks the system has dropped; one that is new may not be
    locked yet, and one that this user may not open is another's."""
    for file in Path(tempfile.gettempdir()).glob(f"{PREFIX}*{SUFFIX}"):
        with suppress(OSError), file.open() as faults:
            fcntl.flock(faults, fcntl.LOCK_EX | fcntl.LOCK_NB)
            known = file.stat()
            if not known.st_size and time.time() - known.st_mtime > NEW:
                file.unlink()


@contextmanager
def _writing_faults(file: IO[str]) -> Iterator[None]:
    was_enabled = faulthandler.is_enabled()
    faulthandler.enable(file)
    try:
        yield
    finally:
        faulthandler.disable()
        if was_enabled:
            faulthandler.enable(sys.__stderr__ or 2)


def _out_of_memory() -> int:
    """How many processes Linux has killed for lack of memory since it started."""
    if not _MEMORY_EVENTS.exists():
        return 0
    lines = (line.split() for line in _MEMORY_EVENTS.read_text().splitlines())
    return next((int(count) for name, count in lines if name == "oom_kill"), 0)
