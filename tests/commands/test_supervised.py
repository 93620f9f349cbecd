"""The process that watches ends the one that works, whatever that one does, and all below it."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import psutil
import pytest

from evaljudge.commands.supervised import LOST
from evaljudge.errors import KEPT, NOTHING_KEPT
from tests.build import wait_until

pytestmark = pytest.mark.service
SCRIPT = """
import ctypes, os, subprocess, sys, time
from evaljudge.commands import supervised
supervised.GRACE, supervised.LAST, supervised.EXITING = {grace}, {grace} / 5, 0.1
{before}
def work():
    {work}

def begun():
    print("begun", flush=True)

supervised.supervised(work)
"""
DEAF = "begun(); ctypes.PyDLL(None).sleep(600)"
"""Python runs no handler meanwhile, nor another thread."""
LOSING = """
    try:
        begun(); time.sleep(600)
    except BaseException:
        print("lost", flush=True)
    time.sleep(600)
"""
DRAWING = """
    bar = os.dup(2)
    try:
        begun()
        time.sleep(600)
    finally:
        os.write(bar, b"frame")
"""
"""A thread of a bar may draw once more after the signal."""
WAITING = "begun(); time.sleep(600)"
DETACHED = "subprocess.run('setsid sleep 600 & echo $!', shell=True)"
"""Its parent is gone, and it has a session of its own."""


@contextmanager
def started(work: str, grace: float = 1.0, before: str = "") -> Iterator[subprocess.Popen[str]]:
    """A command whose work has begun."""
    script = SCRIPT.format(work=work, grace=grace, before=before)
    command = [sys.executable, "-c", script]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True) as process:
        if "begun" in work:
            assert process.stdout.readline() == "begun\n"
        yield process
        process.kill()


def ended(process: subprocess.Popen[str]) -> tuple[int, str]:
    return process.wait(20), process.communicate()[1]


@pytest.mark.parametrize("work", [DEAF, LOSING, WAITING])
@pytest.mark.parametrize(
    ("number", "code", "said"),
    [(signal.SIGINT, 130, "interrupted"), (signal.SIGTERM, 143, "terminated")],
)
def test_a_signal_ends_any_work(work, number, code, said):
    with started(work) as process:
        process.send_signal(number)
        assert ended(process) == (code, f"evaljudge: {said}\n")


def test_where_the_process_between_is_killed_the_first_ends_the_others():
    with started(f"begun(); {DETACHED}; {DEAF}") as process:
        between, *below = psutil.Process(process.pid).children(recursive=True)
        orphan = int(process.stdout.readline())
        between.kill()
        assert ended(process) == (137, f"evaljudge: killed by SIGKILL; {KEPT}\n")
        assert not psutil.pid_exists(orphan)
        assert all(has_ended(process.pid) for process in below)


def test_the_last_frame_of_a_bar_leaves_the_line_whole():
    terminal, inner = os.openpty()
    command = [sys.executable, "-c", SCRIPT.format(work=DRAWING, grace=100.0, before="")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=inner, text=True) as process:
        assert process.stdout.readline() == "begun\n"
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 130
    os.close(inner)
    said = "".join(until_closed(terminal))
    before, _, last = said.rpartition("\x1b[?25h\r\x1b[2K")
    assert before.endswith("evaljudge: interruptedframe")
    assert last == "evaljudge: interrupted\r\n"


def test_a_library_that_ends_the_work_without_a_word_is_spoken_for():
    for work, said in {"os._exit(1)": f"evaljudge: {LOST}\n", "sys.exit(1)": ""}.items():
        with started(work) as process:
            assert ended(process) == (1, said)


def test_a_second_signal_ends_it_at_once():
    with started(DEAF, grace=600) as process:
        process.send_signal(signal.SIGTERM)
        time.sleep(0.2)  # else the system makes one signal of the two
        process.send_signal(signal.SIGTERM)
        assert ended(process) == (143, "evaljudge: terminated\n")


FINISHING = """
    from evaljudge.errors import finishing
    begun()
    finishing.wait(600)
"""


@pytest.mark.parametrize(("work", "least"), [(FINISHING, 0), (WAITING, 0.5)])
def test_sigterm_leaves_a_run_the_seconds_that_the_environment_gives(work, least, monkeypatch):
    monkeypatch.setenv("EVALJUDGE_FINISH_SECONDS", "0.5")
    rest = "0.5 s are left to end in order; what is then open, a rerun resumes"
    with started(work) as process:
        since = time.monotonic()
        process.send_signal(signal.SIGTERM)
        assert ended(process) == (143, f"evaljudge: terminated; {rest}\n")
        assert least < time.monotonic() - since


def test_sigint_leaves_none(monkeypatch):
    monkeypatch.setenv("EVALJUDGE_FINISH_SECONDS", "600")
    with started(WAITING) as process:
        process.send_signal(signal.SIGINT)
        assert ended(process) == (130, "evaljudge: interrupted\n")


def test_a_claim_is_released_though_the_work_goes_on(tmp_path):
    claimed = f"""
    from evaljudge.storage import claimed
    with claimed({str(tmp_path / "out")!r}):
        {LOSING.strip().replace(chr(10), chr(10) + "    ")}
"""
    with started(claimed) as process:
        assert (tmp_path / "out/.claim").exists()
        process.send_signal(signal.SIGTERM)
        kept = "what was committed is kept, run it again to resume"
        assert ended(process) == (143, f"evaljudge: terminated; {kept}\n")
        assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("note", [KEPT, NOTHING_KEPT])
def test_what_a_rerun_does_is_said_in_the_same_line(note):
    resuming = (
        "try: begun(); time.sleep(600)\n"
        f"    except SystemExit as end: end.add_note({note!r}); raise"
    )
    with started(resuming) as process:
        process.send_signal(signal.SIGINT)
        assert ended(process) == (130, f"evaljudge: interrupted; {note}\n")


@pytest.mark.parametrize(("after", "code"), [("", 0), ("; time.sleep(600)", 143)])
def test_no_process_below_it_is_left(after, code):
    with started(f"begun(); {DETACHED}{after}") as process:
        orphan = int(process.stdout.readline())
        if code:
            process.send_signal(signal.SIGTERM)
        assert process.wait(20) == code
        assert not psutil.pid_exists(orphan)


def test_its_exit_code_is_that_of_the_work():
    with started("sys.exit('wrong')") as process:
        assert ended(process) == (1, "wrong\n")


@pytest.mark.parametrize(
    ("number", "code", "said"),
    [(signal.SIGKILL, 137, f"killed by SIGKILL; {KEPT}"), (signal.SIGTERM, 143, "terminated")],
)
def test_a_signal_to_the_work_alone_is_said_too(number, code, said):
    with started(WAITING) as process:
        _, work = psutil.Process(process.pid).children(recursive=True)  # one stands between
        work.send_signal(number)
        assert ended(process) == (code, f"evaljudge: {said}\n")


def test_nothing_outlives_the_process_that_watches():
    with started(f"begun(); {DETACHED}; {DEAF}") as process:
        below = psutil.Process(process.pid).children(recursive=True)
        orphan = int(process.stdout.readline())
        process.kill()
        wait_until(lambda: has_ended(orphan))
        wait_until(lambda: all(has_ended(process.pid) for process in below))
    # as Ray starts a killed agent anew
    with started(WAITING, before=LATE) as process:
        process.kill()
        late = int(process.stdout.readline())
        wait_until(lambda: has_ended(late))


LATE = """
kill = supervised._kill_all_below

def kill_and_start():
    kill()
    supervised._kill_all_below = kill
    print(subprocess.Popen(["sleep", "600"]).pid, flush=True)

supervised._kill_all_below = kill_and_start
"""


def until_closed(terminal: int) -> Iterator[str]:
    """What a terminal still holds whose other end is closed; then it gives an error."""
    with suppress(OSError):
        while read := os.read(terminal, 4096):
            yield read.decode()
    os.close(terminal)


def has_ended(number: int) -> bool:
    """A zombie has, though nobody has waited for it yet."""
    with suppress(psutil.NoSuchProcess):
        return psutil.Process(number).status() == psutil.STATUS_ZOMBIE
    return True
