"""A command as two processes: one that works, and the one that was started, which watches it.

    supervised(work)      work() in a child; the process that was started ends with its exit code

A signal may come while C++ code runs or a library replaces our handlers, so the process that was
started does no work. At SIGINT or SIGTERM it asks the work to end, and says one line; what is left
after GRACE seconds is killed, and a second signal kills at once. With EVALJUDGE_FINISH_SECONDS,
SIGTERM first leaves a run so long for the shards in hand.

Between the two stands a third process, in a group of its own, which the others' killer spares: if
the first is killed with -9, Linux tells the third, which kills all below it; if the third is, Linux
kills the work, and the first does so. Each is a "subreaper", which has the orphans below it as its
children, so it finds every process of the run, and those of a Ray that the run started.
"""

import ctypes
import mmap
import os
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from math import inf
from threading import Event, Timer

from evaljudge.errors import KEPT, NOTHING_KEPT, TERMINATED, Ended, UserError, finishing, seconds_in
from evaljudge.runs.json_lines import json_is_wanted, message_line

ENDING = {signal.SIGINT: "interrupted", signal.SIGTERM: "terminated"}
"""Signals that end a command in order; the exit code is 128 more than the signal, as in a shell."""
PARENT_GONE = signal.SIGUSR1
WATCHED = {*ENDING, signal.SIGCHLD, PARENT_GONE}
GRACE, LAST = 6.0, 4.0
"""Seconds in which the work may end by itself after a signal; and after which a thread ends it, for
a library may have lost the exception, or may hold it up."""
FINISH_SECONDS = "EVALJUDGE_FINISH_SECONDS"
EXITING, KILLING = 0.5, 2.0
"""Seconds that the processes below the work have to exit after it; and to be gone when killed."""
RESUMES, BEGINS = 75, 76
NOTES = {RESUMES: KEPT, BEGINS: NOTHING_KEPT}
"""What a rerun does after a signal ended the work, by the work's exit code."""
LOST = (
    "a library ended the process that works without a word, as Ray does when its raylet or its GCS "
    f"is gone; {KEPT}"
)
PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
OVER_THE_BAR = "\x1b[?25h\r\x1b[2K"
"""Shows a terminal's cursor, which a progress bar had hidden, and clears the bar's line."""
_ending = Event()


def supervised(work: Callable[[], object]) -> None:
    """Does the work in a process of its own on Linux; elsewhere Python ends it at a signal."""
    if sys.platform != "linux":
        work()
        return
    signal.pthread_sigmask(signal.SIG_BLOCK, WATCHED)
    end, group = mmap.mmap(-1, 1), os.getpgrp()  # shared: whether the work ended of its own
    _prctl(PR_SET_CHILD_SUBREAPER, 1)
    if between := _forked(PARENT_GONE):
        sys.exit(_exit_code(between, end))
    os.setpgid(0, 0)
    _prctl(PR_SET_CHILD_SUBREAPER, 1)
    if child := _forked(signal.SIGKILL):
        os._exit(_stand_between(child))
    os.setpgid(0, group)
    try:
        _do(work)
    finally:
        end[0] = 1


def _prctl(option: int, value: int) -> None:
    ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def _forked(at_death: signal.Signals) -> int:
    """The child's id, or 0 in the child, which is sent `at_death` when its parent dies."""
    parent = os.getpid()
    if child := os.fork():
        return child
    _prctl(PR_SET_PDEATHSIG, at_death)
    if os.getppid() != parent:  # it died before Linux knew
        os._exit(1)
    return 0


def _exit_code(below: int, end: mmap.mmap) -> int:
    code, number, seconds = None, None, 0.0
    ask_at = kill_at = inf
    while code is None and (now := time.monotonic()) < kill_at:
        if now >= ask_at:
            os.kill(below, signal.SIGINT)  # for SIGTERM Ray has a handler, which waits
            ask_at = inf
        caught = signal.sigtimedwait(WATCHED, min(ask_at - now, kill_at - now, 86400))
        if caught and caught.si_signo in ENDING and number:
            kill_at = 0
        elif caught and caught.si_signo in ENDING:
            number = signal.Signals(caught.si_signo)
            seconds = _finish_seconds() if number == signal.SIGTERM else 0
            ask_at = time.monotonic() + seconds
            kill_at = ask_at + GRACE
            if seconds:  # the work goes on, and may say something, too
                rest = f"{seconds:g} s are left to end in order; what is then open, a rerun resumes"
                _say(f"{ENDING[number]}; {rest}")
                os.kill(below, number)
            elif os.isatty(2) and not json_is_wanted():
                _say(ENDING[number], end="")
        ended, status = os.waitpid(below, os.WNOHANG)
        code = _code_of(status) if ended else None
    _end_all_below(0 if code is None else EXITING)
    if number is None and code in (*NOTES, TERMINATED):
        number = signal.SIGTERM  # it came to the process that works alone
    if number is not None:
        if not seconds:
            _say(f"{ENDING[number]}; {NOTES[code]}" if code in NOTES else ENDING[number])
        return 128 + number
    assert code is not None
    if code and not end[0]:
        is_killed = code - 128 in signal.valid_signals()
        _say(f"killed by {signal.Signals(code - 128).name}; {KEPT}" if is_killed else LOST)
    return code


def _stand_between(child: int) -> int:
    while (number := signal.sigwait(WATCHED)) != PARENT_GONE:
        if number in ENDING:
            os.kill(child, number)
        while (ended := os.waitpid(-1, os.WNOHANG))[0]:
            if ended[0] == child:
                return _code_of(ended[1])
    _end_all_below(0)
    return 1


def _code_of(status: int) -> int:
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code


def _end_all_below(patience: float) -> None:
    """One that Linux itself holds (a disk that does not answer) is left after all."""
    kill_at = time.monotonic() + patience
    with suppress(ChildProcessError):  # none is left
        while time.monotonic() < kill_at + KILLING:
            while os.waitpid(-1, os.WNOHANG)[0]:
                continue
            if time.monotonic() >= kill_at:
                _kill_all_below()
            signal.sigtimedwait({signal.SIGCHLD}, 0.05)


def _kill_all_below() -> None:
    import psutil

    for process in psutil.Process().children(recursive=True):
        with suppress(psutil.Error):
            process.kill()


def _say(text: str, end: str = "\n") -> None:
    line = f"evaljudge: {text}"
    if json_is_wanted():
        line = message_line(line)
    elif os.isatty(2):
        line = OVER_THE_BAR + line
    with suppress(OSError):  # nobody may be there to read it
        os.write(2, f"{line}{end}".encode())


def _do(work: Callable[[], object]) -> None:
    """What a signal ends leaves at once: libraries' handlers at exit may wait for anything."""
    signal.signal(signal.SIGINT, _end)
    signal.signal(signal.SIGTERM, (lambda *_: finishing.set()) if _finish_seconds() else _end)
    try:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, WATCHED)  # Ray's jobs begin with SIGINT blocked
        work()
    except BaseException as error:
        if _ending.is_set() or isinstance(error, Ended):
            notes = getattr(error, "__notes__", ())
            os._exit(next((code for code, note in NOTES.items() if note in notes), TERMINATED))
        raise


def _finish_seconds() -> float:
    """What is no number is none: the command refuses it at its start, not at a signal."""
    with suppress(UserError):
        return seconds_in(FINISH_SECONDS, 0)
    return 0.0


def _end(number: int, _: object) -> None:
    """Silent, as the watching process says what there is to say; called twice at a Ctrl-C, by the
    terminal and by that process."""
    if not _ending.is_set():
        _ending.set()
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
