"""A command as two processes: one that works, and the one that was started, which watches it.

    supervised(work)      work() in a child; the process that was started ends with its exit code

A signal may come while C++ code runs, or while a library replaces our handlers, and then nothing in
that process can be relied on. So the process that was started does no work. It waits for signals
and for the end of its child. At SIGINT or SIGTERM it says one line and asks the child to end; what
is left after GRACE seconds is killed, and a second signal kills at once. Where the environment
gives EVALJUDGE_FINISH_SECONDS, SIGTERM leaves a run so long for the shards in hand, before it ends
it in the same way. Orphans below it become its children (a "subreaper" of Linux), so it finds every
process of the run, those of a Ray that the run started too. If it is itself killed with -9, Linux
kills the child, and a third process, which only waits for this, kills the others. It knows them by
a variable of their environment. (Ray's agents would stay for more than a minute.)

This module imports little: until it has begun, a signal is answered by Python.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from math import inf
from threading import Timer
from typing import NoReturn

from evaljudge.errors import (
    KEPT,
    NOTHING_KEPT,
    TERMINATED,
    Ended,
    UserError,
    finishing,
    seconds_in,
)
from evaljudge.runs.json_lines import json_is_wanted, message_line

ENDING = {signal.SIGINT: "interrupted", signal.SIGTERM: "terminated"}
"""Signals that end a command in order; the exit code is 128 more than the signal, as in a shell."""
WATCHED = {*ENDING, signal.SIGCHLD}
GRACE, LAST = 6.0, 4.0
"""Seconds in which the work may end by itself after a signal; and after which a thread ends it, for
a library may have lost the exception, or may hold it up."""
MARK = "EVALJUDGE_COMMAND"
"""The variable by which the processes of one command are known: which command it is."""
FINISH_SECONDS = "EVALJUDGE_FINISH_SECONDS"
LEAVING, REAPING = 0.5, 2.0
"""Seconds that the processes below the work have to leave after it; and to be gone when killed."""
RESUMES, BEGINS = 75, 76
NOTES = {RESUMES: KEPT, BEGINS: NOTHING_KEPT}
"""By the exit code with which the work says that a signal ended it, what a rerun of it does."""
NO_GUARD = (
    "the process that ends the others, should this one be killed, has died itself; the work goes on"
)
A_DAY = 86400.0
LOST = (
    "a library ended the process that works without a word, as Ray does when its raylet or its GCS "
    f"is gone; {KEPT}"
)
PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
SHOWN_CURSOR = "\n\x1b[?25h"
"""Ends the line of a progress bar, which had hidden the cursor."""
CLEARED_LINE = "\r\x1b[2K"


def supervised(work: Callable[[], object]) -> None:
    """Where the system is not Linux, there is one process, which Python ends at a signal."""
    if sys.platform != "linux":
        work()
        return
    signal.pthread_sigmask(signal.SIG_BLOCK, WATCHED)
    _prctl(PR_SET_CHILD_SUBREAPER, 1)
    watching, held = os.getpid(), os.pipe()
    os.environ[MARK] = mark = f"{watching} {time.time()}"
    guard = os.fork()
    if not guard:
        _guard(mark, held)
    os.close(held[0])
    end = mmap.mmap(-1, 1)  # shared: whether the work came to an end of its own
    if child := os.fork():
        sys.exit(_Watch(child, guard, end).exit_code())
    os.close(held[1])
    _prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() == watching:  # else it died before Linux knew
        try:
            _do(work)
        finally:
            end[0] = 1


def _guard(mark: str, held: tuple[int, int]) -> NoReturn:
    """In a session of its own, so that what kills the others by their group leaves it."""
    os.setsid()
    os.close(held[1])
    os.read(held[0], 1)  # until the process that watches, which holds the other end, is gone
    until = time.monotonic() + REAPING
    while time.monotonic() < until:
        if _killed_any(mark):  # and one of them may just have started another
            until = time.monotonic() + REAPING
        time.sleep(LEAVING)
    os._exit(0)


def _killed_any(mark: str) -> bool:
    import psutil

    found = False
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            if process.pid != os.getpid() and process.environ().get(MARK) == mark:
                process.kill()
                found = True
    return found


def _prctl(option: int, value: int) -> None:
    ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def _do(work: Callable[[], object]) -> None:
    """What a signal ends leaves at once: libraries' handlers at exit may wait for anything."""
    ending = _Ending()
    signal.signal(signal.SIGINT, ending)
    signal.signal(signal.SIGTERM, _finish if finish_seconds() else ending)
    try:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, WATCHED)  # Ray's jobs begin with SIGINT blocked
        work()
    except BaseException as error:
        if ending.has_begun or isinstance(error, Ended):
            notes = getattr(error, "__notes__", ())
            os._exit(next((code for code, note in NOTES.items() if note in notes), TERMINATED))
        raise


def finish_seconds() -> float:
    """What is no number is none: the command refuses it at its start, not at a signal."""
    with suppress(UserError):
        return seconds_in(FINISH_SECONDS, 0)
    return 0.0


def _finish(number: int, _: object) -> None:
    finishing.set()


class _Ending:
    """The handler of the process that works: silent, as the watching process says what there is to
    say. It is called twice at a Ctrl-C, by the terminal and by the watching process."""

    def __init__(self) -> None:
        self.has_begun = False

    def __call__(self, number: int, _: object) -> None:
        if not self.has_begun:
            self.has_begun = True
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
            thread = Timer(LAST, _leave)
            thread.daemon = True
            thread.start()
            raise Ended(128 + number)


def _leave() -> None:
    """Releases the claim all the same, in a thread."""
    claims = sys.modules.get("evaljudge.storage.claim")
    had_any = claims is not None and claims.release_all()
    os._exit(RESUMES if had_any else TERMINATED)


class _Watch:
    """Over the process that works, and all that are below it."""

    def __init__(self, child: int, guard: int, end: mmap.mmap) -> None:
        self._child, self._guard, self._end = child, guard, end
        self._status: int | None = None
        self._signal: int | None = None
        self._said_all = False
        self._ask_at = self._kill_at = inf

    def exit_code(self) -> int:
        while self._status is None and (now := time.monotonic()) < self._kill_at:
            if now >= self._ask_at:
                os.kill(self._child, signal.SIGINT)  # for SIGTERM Ray has a handler, which waits
                self._ask_at = inf
            left = min(self._ask_at, self._kill_at) - now
            found = signal.sigtimedwait(WATCHED, min(left, A_DAY))
            if found and found.si_signo in ENDING:
                self._hear(found.si_signo)
            self._any_is_left()
        self._end_all(LEAVING if self._status is not None else 0)
        return self._said_code()

    def _hear(self, number: int) -> None:
        if self._signal is not None:
            self._kill_at = 0
            return
        seconds = finish_seconds() if number == signal.SIGTERM else 0
        self._begin_line(number, seconds)
        if seconds:
            os.kill(self._child, signal.SIGTERM)
        self._ask_at = time.monotonic() + seconds
        self._kill_at = self._ask_at + GRACE

    def _any_is_left(self) -> bool:
        """Whether any process is left below this one; those that ended are waited for."""
        with suppress(ChildProcessError):
            while (ended := os.waitpid(-1, os.WNOHANG))[0]:
                if ended[0] == self._child:
                    self._status = ended[1]
                if ended[0] == self._guard:
                    self._guard = 0
                    _say(f"evaljudge: warning: {NO_GUARD}\n")
            return True
        return False

    def _end_all(self, patience: float) -> None:
        """One that Linux itself holds (a disk that does not answer) is left after all."""
        guard, self._guard = self._guard, 0
        if guard:
            os.kill(guard, signal.SIGKILL)
        kill_at = time.monotonic() + patience
        while self._any_is_left() and time.monotonic() < kill_at + REAPING:
            if time.monotonic() >= kill_at:
                _kill_all_below()
            signal.sigtimedwait({signal.SIGCHLD}, 0.05)

    def _said_code(self) -> int:
        code = -signal.SIGKILL if self._status is None else os.waitstatus_to_exitcode(self._status)
        if self._signal is None and code in (*NOTES, TERMINATED):
            self._begin_line(signal.SIGTERM)  # it came to the process that works alone
        if self._signal is not None and not self._said_all:
            note = f"; {NOTES[code]}" if code in NOTES else ""
            _say(f"{self._again()}{note}\n")
        if self._signal is not None:
            return 128 + self._signal
        if code < 0:
            _say(f"evaljudge: killed by {signal.Signals(-code).name}\n")
        elif code and not self._end[0]:
            _say(f"evaljudge: {LOST}\n")
        return code if code >= 0 else 128 - code

    def _again(self) -> str:
        """The begun line, on a terminal: the last frame of a bar may have been drawn over it."""
        if self._signal is None or not os.isatty(2) or json_is_wanted():
            return ""
        return f"{CLEARED_LINE}evaljudge: {ENDING[signal.Signals(self._signal)]}"

    def _begin_line(self, number: int, seconds: float = 0) -> None:
        """The line is whole where the work goes on for some seconds: it may say something, too."""
        self._signal, self._said_all = number, bool(seconds)
        start = SHOWN_CURSOR if os.isatty(2) and not json_is_wanted() else ""
        rest = f"; {seconds:g} s are left for the shards in hand, run it again to resume\n"
        _say(f"{start}evaljudge: {ENDING[signal.Signals(number)]}{rest if seconds else ''}")


def _say(text: str) -> None:
    if json_is_wanted():
        _begun.append(text)
        if not text.endswith("\n"):
            return
        text = f"{message_line(''.join(_begun).strip())}\n"
        _begun.clear()
    with suppress(OSError):  # nobody may be there to read it
        os.write(2, text.encode())


_begun: list[str] = []
"""The parts of a line that is to become a JSON object when it is whole."""


def _kill_all_below() -> None:
    import psutil

    for process in psutil.Process().children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            process.kill()
