"""A folder is worked on by one job at a time: by a lock or a bucket's lease, whatever fails."""

import fcntl
import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from evaljudge.errors import GivenUp, UserError
from evaljudge.storage import Place, claim, claimed
from evaljudge.storage.claim import BEAT

HOLD = """
import sys, time
from evaljudge.storage import claim, claimed
claim.BEAT, claim.LOOK = claim.BEAT / 10, claim.LOOK / 10  # as the fixture `hasty` does here
with claimed(sys.argv[1]):
    print("held", flush=True)
    time.sleep(600)
"""
pytestmark = [pytest.mark.service, pytest.mark.usefixtures("hasty")]
AT_WORK = r"another job is at work there \(process \d+ on .+\); wait for it, or stop it"


@pytest.fixture(params=["local", "s3", "gs", "az"])
def folder(request, tmp_path):
    if request.param == "local":
        return str(tmp_path / "out")
    return f"{request.getfixturevalue(request.param).uri}/out"


@pytest.fixture
def s3_folder(s3):
    return f"{s3.uri}/out"


def test_the_second_is_refused_while_the_first_lives(folder):
    with claimed(folder) as held:
        with pytest.raises(UserError, match=AT_WORK), claimed(folder):
            pass
        held.check()
        Place(folder).write("kept", b"")
    with claimed(folder):
        assert Place(folder).names("") == ["kept"]
    assert [name for name, _ in Place(folder).files("")] == ["kept"]


def test_a_holder_that_was_killed_holds_nothing(folder):
    holder = subprocess.Popen([sys.executable, "-c", HOLD, folder], stdout=subprocess.PIPE)
    assert holder.stdout and holder.stdout.readline() == b"held\n"
    with pytest.raises(UserError, match=AT_WORK), claimed(folder):
        pass
    holder.kill()
    holder.wait()
    holder.stdout.close()
    with claimed(folder):
        pass


def test_of_many_at_once_one_works(folder):
    command = [sys.executable, "-c", HOLD, folder]
    jobs = [
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(4)
    ]
    refused: list[subprocess.Popen[str]] = []
    while len(refused) < 3:
        refused = [job for job in jobs if job.poll() is not None]
        time.sleep(0.05)
    (winner,) = set(jobs) - set(refused)
    assert winner.stdout and winner.stdout.readline() == "held\n"
    for job in jobs:
        job.kill()
        said = job.communicate()
        assert job is winner or "another job is at work there" in said[1]


def leave_a_claim(folder: str, **more: Any) -> Callable[[], None]:
    """As a job on another machine would; gives what it does to renew it."""
    content = {"name": "process 7 on afar", "machine": "afar", "pid": 7, "born": 0.0} | more

    def write() -> None:
        content["beat"] = content.get("beat", 0) + 1
        Place(folder).write_json(claim.NAME, content)

    write()
    return write


def test_one_from_afar_is_waited_for_and_then_replaced(s3_folder, monkeypatch):
    monkeypatch.setattr(claim, "LOOK", 0.01)
    leave_a_claim(s3_folder)
    with claimed(s3_folder):
        assert json.loads(Place(s3_folder).read(claim.NAME))["machine"] != "afar"
    Place(s3_folder).write(claim.NAME, b"[1, 2")
    with claimed(s3_folder):
        assert json.loads(Place(s3_folder).read(claim.NAME))["pid"]


def test_one_from_afar_that_is_renewed_is_left_alone(s3_folder, monkeypatch):
    renew = leave_a_claim(s3_folder)
    monkeypatch.setattr(claim.time, "sleep", lambda seconds: renew())
    with pytest.raises(UserError, match="process 7 on afar"), claimed(s3_folder):
        pass
    takes_over = partial(leave_a_claim, s3_folder, name="process 8 on afar")
    monkeypatch.setattr(claim.time, "sleep", lambda seconds: takes_over())
    with pytest.raises(UserError, match="process 8 on afar"), claimed(s3_folder):
        pass


def test_one_who_looks_at_what_a_dead_job_left_is_no_job(tmp_path):
    (tmp_path / claim.NAME).write_text("process 7, which is dead")
    with open(tmp_path / claim.NAME) as file:
        fcntl.flock(file, fcntl.LOCK_SH)
        threading.Timer(0.03, fcntl.flock, (file, fcntl.LOCK_UN)).start()
        with claimed(str(tmp_path)):
            pass


def test_a_holder_that_was_replaced_notices(s3_folder, monkeypatch):
    monkeypatch.setattr(claim, "BEAT", 0.01)
    with claimed(s3_folder) as held:
        before = json.loads(Place(s3_folder).read(claim.NAME))
        while json.loads(Place(s3_folder).read(claim.NAME))["beat"] == before["beat"]:
            time.sleep(0.01)
        held.check()
        leave_a_claim(s3_folder, token="another")
        with pytest.raises(GivenUp, match="taken it over"):
            wait_until_lost(held)
    assert json.loads(Place(s3_folder).read(claim.NAME))["machine"] == "afar"


def wait_until_lost(held: claim.Claim) -> None:
    give_up = time.monotonic() + 60
    while time.monotonic() < give_up:
        held.check()
        time.sleep(0.01)


def test_runs_lie_where_a_claim_can_be_held():
    said = "can only be read: write to a local path, s3://, gs:// or az://"
    for uri in ("mock://x/y", "hf://datasets/owner/name/run"):
        with pytest.raises(UserError, match=f"{uri}: {said}"), claimed(uri):
            pass


# whatever fails on the way


OTHERS = ("error", "slow down", "reset before", "torn answer")


@pytest.mark.parametrize(
    ("first", "fault"),
    [
        *((first, "reset after") for first in range(3)),
        (0, "torn upload"),
        *(pytest.param(n, one, marks=pytest.mark.long) for n in range(3) for one in OTHERS),
    ],
)
def test_a_claim_is_taken_and_left_whatever_fails(first, fault, s3, s3_proxy, patience, refused):
    """A lost answer above all: who finds the claim taken may have taken it.

    The fault meets the look for a claim, or what follows: its taking, and another who looks.
    """
    patience(60)
    uri, requests = f"{s3.uri}/runs/first", iter(range(100))
    methods = {"PUT"} if fault == "torn upload" else {"GET", "PUT"}
    wanted = 0 if fault == "torn upload" else first
    rule = s3_proxy.add(
        fault, most=2, when=lambda method, path: method in methods and next(requests) >= wanted
    )
    with claimed(uri) as claim:
        claim.check()
        refused(lambda: hold(uri), UserError, uri)
    assert rule.applied and s3.keys() == set()


def test_a_holder_outlives_an_outage(s3, s3_proxy, refused):
    """In which nobody else could take the folder either."""
    uri = f"{s3.uri}/run"
    with claimed(uri) as claim:
        s3_proxy.outage(2.4 * BEAT / 10)
        time.sleep(2.6 * BEAT / 10)
        claim.check()
        refused(lambda: hold(uri), UserError, uri)
    assert s3_proxy.counts["outage"] and s3.keys() == set()


def test_letting_go_hides_nothing(s3, s3_proxy):
    def work() -> None:
        with claimed(f"{s3.uri}/run"):
            s3_proxy.add("denied")
            raise ValueError("the work's own")

    with pytest.raises(ValueError, match="the work's own"):
        work()


def hold(uri: str) -> None:
    with claimed(uri):
        pass
