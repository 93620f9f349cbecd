"""A folder is worked on by one job at a time.

    with claimed("s3://bucket/runs/first") as claim:
        ...; claim.check()

On this machine the claim is a lock, which the system drops with the process that holds it. On
object storage it is an object that its holder rewrites every few seconds, on the condition that it
is still the one written before. Another job takes it over when the holder is known to be dead (a
process of this machine), or has not written for a while by the other job's own clock.
"""

import fcntl
import json
import os
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, Protocol

import psutil

from evaljudge.errors import AtWork, ClaimLost, GivenUp, UserError
from evaljudge.storage.clouds import Held
from evaljudge.storage.failures import disk_error, refuse_irregular, refusing_disk_errors
from evaljudge.storage.place import Place, is_a_file, objects

NAME = ".claim"
BEAT = 5.0
LOOK, LOOKS = 2.0, 10
"""A claim may be taken over when ten looks, two seconds apart, have found it unchanged."""

NAMED = 0.1
"""When a lock is in the way for so long, a job holds it and has noted its name; else someone looked
at it, as `holder` does."""


class Claim(Protocol):
    def check(self) -> None:
        """Raise ClaimLost where another job has taken the folder over."""


_mine: "list[_Lock | _Lease]" = []


@contextmanager
def claimed(uri: str) -> Iterator[Claim]:
    """Hold a folder for this block; refused in one line while another job holds it."""
    claim = _claim_of(uri)
    claim.take()
    _mine.append(claim)
    try:
        yield claim
    finally:
        _mine.remove(claim)
        claim.release()


def holder(uri: str) -> str:
    """Who holds a folder, or held it last on object storage; empty where nobody does."""
    return _claim_of(uri).holder()


def _claim_of(uri: str) -> "_Lock | _Lease":
    place = Place(uri)
    return _Lock(place) if place.is_local else _Lease(place)


def release_all() -> bool:
    """Just before this process ends without leaving its blocks; says whether there were any."""
    for claim in _mine:
        with suppress(OSError):  # its block is being left at this moment
            claim.release()
    return bool(_mine)


class _Lock:
    """The claim of a local folder. It lasts as long as its process, so `check` does nothing."""

    def __init__(self, place: Place) -> None:
        self._uri, self._folder, self._path = place.uri, place.path, f"{place.path}/{NAME}"

    def take(self) -> None:
        self._is_new = not os.path.isdir(self._folder)
        try:
            while not self._locked():
                os.close(self._file)  # its holder has just removed it
        except BlockingIOError:
            os.close(self._file)
            time.sleep(NAMED)
            if holder := self.holder():
                raise _held(self._uri, holder) from None
            self.take()
            return
        except FileNotFoundError:  # below /proc, say
            raise UserError(f"{self._uri}: the folder cannot be made: take another `out`") from None
        except FileExistsError:
            raise is_a_file(self._uri) from None
        except OSError as error:
            raise disk_error(self._uri, "locked", error) from None
        try:
            os.truncate(self._file, 0)
            os.write(self._file, _who()["name"].encode())
        except OSError as error:
            self.release()
            raise disk_error(self._uri, "locked", error) from None

    def holder(self) -> str:
        try:
            with refusing_disk_errors(self._path, "read"):
                file = self._opened(os.O_RDONLY)
            with os.fdopen(file):
                holder = os.read(file, 1000).decode(errors="replace")
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except (FileNotFoundError, NotADirectoryError):
            return ""
        except BlockingIOError:
            return holder or "a job"
        return ""

    def _locked(self) -> bool:
        os.makedirs(self._folder, exist_ok=True)  # a holder that left no trace has removed it, too
        self._file = self._opened(os.O_RDWR | os.O_CREAT)
        fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        try:
            return os.path.samestat(os.stat(self._path), os.fstat(self._file))
        except FileNotFoundError:
            return False

    def _opened(self, flags: int) -> int:
        """Opens no link, whose target would be overwritten, and no pipe."""
        if os.path.islink(self._path):
            raise UserError(f"{self._path}: is a link, where a job notes its name: remove it")
        refuse_irregular(self._path)
        return os.open(self._path, flags | os.O_NOFOLLOW, 0o644)

    def check(self) -> None: ...

    def release(self) -> None:
        with suppress(OSError):  # gone with its folder; or what ended the work says more
            os.unlink(self._path)
        os.close(self._file)
        if self._is_new:  # and nothing came of it: leave no trace
            with suppress(OSError):
                os.rmdir(self._folder)


class _Lease:
    """The claim of a folder in a bucket: an object that is renewed, and may be lost."""

    def __init__(self, place: Place) -> None:
        self._uri, self._objects = place.uri, objects(place.uri)
        self._fail_fast = objects(place.uri, patience=BEAT)
        self._mine = _who() | {"token": uuid.uuid4().hex, "beat": 0}
        self._lost: str | None = None
        self._end = threading.Event()

    def take(self) -> None:
        while not self._taken():
            pass
        self._beating = threading.Thread(target=self._renew, name="claim", daemon=True)
        self._beating.start()

    def check(self) -> None:
        if self._lost is not None:
            raise ClaimLost(f"{self._uri}: {self._lost}")

    def holder(self) -> str:
        there = self._objects.read(NAME)
        return "" if there is None or _is_dead(there) else str(_read(there)["name"])

    def release(self) -> None:
        """Silent where it fails: an error here would hide the one that ended the work."""
        self._end.set()
        self._beating.join(timeout=2 * BEAT)
        if self._lost is None:
            with suppress(GivenUp, UserError):  # then it is taken over when nobody renews it
                there = self._fail_fast.read(NAME)
                if there and self._is_mine(there):
                    self._fail_fast.remove(NAME)

    def _taken(self) -> bool:
        there = self._objects.read(NAME)
        if there is None:
            return self._objects.put_if(NAME, self._text())
        if not _is_dead(there) and (renewed := self._renewed(there)):
            raise _held(self._uri, _read(renewed)["name"])
        return self._objects.put_if(NAME, self._text(), there.mark)

    def _renewed(self, first: Held) -> Held | None:
        """The claim as it was written since, by its holder or another job."""
        for _ in range(LOOKS):
            time.sleep(LOOK)
            there = self._objects.read(NAME)
            if there is None or there.mark != first.mark:
                return there
        return None

    def _renew(self) -> None:
        while not self._end.wait(BEAT):
            try:
                there = self._fail_fast.read(NAME)
                if there is None or not self._is_mine(there):
                    who = f"another job has taken it over ({_read(there)['name']})" if there else ""
                    self._lost = who or "the claim of this job was removed"
                    return
                self._mine["beat"] += 1
                self._fail_fast.put_if(NAME, self._text(), there.mark)
            except (GivenUp, UserError):
                continue  # the run itself says what storage refuses; renewing is tried again

    def _is_mine(self, there: Held) -> bool:
        return bool(_read(there).get("token") == self._mine["token"])

    def _text(self) -> bytes:
        return json.dumps(self._mine).encode()


def _held(uri: str, holder: str) -> AtWork:
    return AtWork(f"{uri}: another job is at work there ({holder}); wait for it, or stop it")


def _who() -> dict[str, Any]:
    pid = os.getpid()
    name, born = f"process {pid} on {os.uname().nodename}", psutil.Process().create_time()
    return {"name": name, "machine": this_machine(), "pid": pid, "born": born}


def this_machine() -> str:
    """This machine since it started, and which of its processes can be seen from here."""
    seen = "/proc/self/ns/pid"
    namespace = os.readlink(seen) if os.path.islink(seen) else ""
    return f"{os.uname().nodename} {psutil.boot_time():.0f} {namespace}"


def _is_dead(there: Held) -> bool:
    """Whether its holder was a process of this machine that has ended."""
    holder = _read(there)
    if holder.get("machine") != this_machine():
        return False
    try:
        process = psutil.Process(holder["pid"])
        is_another = process.create_time() != holder["born"]
        return bool(is_another or process.status() == psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return True


def _read(there: Held) -> dict[str, Any]:
    try:
        holder = json.loads(there.content)
    except ValueError:
        holder = None
    return {"name": "?"} | (holder if isinstance(holder, dict) else {})
