"""Storage that fails: retries of object storage, and errors of a disk as one line.

After throttling, 5xx, lost connections and outages, requests are tried again with backoff and
jitter. Errors that waiting cannot solve (no such bucket, access denied) are raised at once. A place
that has never answered is given up after seconds: its address is wrong, most likely.

And an index on disk, for what is too much to hold in memory: SQLite keeps a database without a name
in a temporary file, beyond what fits its cache, and removes it when it is closed.
"""

import errno
import os
import random
import re
import sqlite3
import stat
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from itertools import count
from typing import ClassVar, TypeVar

from evaljudge.errors import StorageLost, UserError, first_line, seconds_in

REMEDIES: Mapping[int, str] = {
    errno.ENOSPC: "free space there",
    errno.EDQUOT: "free space within the quota",
    errno.EFBIG: "raise the limit of a file's size (`ulimit -f`)",
    errno.EROFS: "mount it for writing",
    errno.EIO: "the disk fails: have it checked",
    errno.ELOOP: "remove the symbolic link that leads back to itself",
    errno.EMFILE: "raise the limit of open files (`ulimit -n`)",
    errno.ENFILE: "too many files are open on this machine: close other programs",
    errno.EACCES: "give yourself the permission",
    errno.EPERM: "give yourself the permission",
}
"""Errors that are the disk's, whatever was done."""
IRREGULAR = errno.ENXIO  # the system's own number where a socket is opened as a file
DAMAGE, NOT_PERMITTED = (errno.EIO, errno.ELOOP, IRREGULAR), (errno.EACCES, errno.EPERM)
"""Errors of one file: it can be moved aside, or nobody has given the permission to read it."""
IN_THE_WAY = "move away the file that lies in this path instead of a folder"


class DiskError(UserError):
    """`problem`: what cannot be done, and why; `number`: of the system's error."""

    def __init__(self, file: str, problem: str, remedy: str, number: int | None) -> None:
        super().__init__(file, problem, remedy, number)  # all, so that a copy of it can be made
        self.file, self.problem, self.remedy, self.number = file, problem, remedy, number

    def __str__(self) -> str:
        advice = f": {self.remedy}, then run it again" if self.remedy else ""
        return f"{self.file}: {self.problem}{advice}"


@contextmanager
def refusing_disk_errors(path: str, action: str) -> Iterator[None]:
    """Turn errors of the disk in this block into a DiskError; others are the caller's to handle."""
    try:
        yield
    except OSError as error:
        if error.errno not in REMEDIES:
            raise
        raise disk_error(path, action, error) from None


def refuse_irregular(path: str) -> None:
    """Refuse a pipe, a socket or a device in the place of a file; one that is not there passes."""
    with suppress(FileNotFoundError, NotADirectoryError):
        mode = os.stat(path).st_mode
        if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
            raise DiskError(path, "is a pipe, a socket or a device", "put a file there", IRREGULAR)


def disk_error(path: str, action: str, error: OSError) -> DiskError:
    reason = os.strerror(error.errno) if error.errno else first_line(error)
    in_the_way = isinstance(error, FileExistsError | NotADirectoryError)
    remedy = IN_THE_WAY if in_the_way else REMEDIES.get(error.errno or 0, "")
    return DiskError(path, f"cannot be {action} ({reason})", remedy, error.errno)


Index = sqlite3.Connection
DISK_ERRORS = ("SQLITE_FULL", "SQLITE_IOERR", "SQLITE_CANTOPEN")


@contextmanager
def index_on_disk(schema: str) -> Iterator[Index]:
    """An empty index with these tables; any thread may use it, one at a time. The disk's errors are
    said in one line; any other of SQLite's is a mistake of ours."""
    try:
        with closing(sqlite3.connect("", check_same_thread=False)) as index:
            index.executescript(f"PRAGMA journal_mode = OFF;\n{schema}")
            yield index
    except sqlite3.OperationalError as error:
        if not error.sqlite_errorname.startswith(DISK_ERRORS):
            raise
        folder = os.environ.get("SQLITE_TMPDIR") or os.environ.get("TMPDIR") or "/var/tmp"
        raise UserError(
            f"{folder}: a temporary index cannot be kept there ({error}): free space, or set "
            "TMPDIR to another folder, then run it again"
        ) from None


R = TypeVar("R")
PATIENCE, VARIABLE = 300.0, "EVALJUDGE_STORAGE_PATIENCE"
SILENCE, BETWEEN = 3.0, 60.0
"""Seconds before a line says what is waited for, and between such lines."""
FIRST_CONTACT, READ_TIMEOUT = 10.0, 60.0
"""Seconds for a place that has not answered yet, and for one answer of any other."""
FIRST_WAIT, LONGEST_WAIT = 0.25, 10.0
REPLY = "non-2xx status code"  # in an error with which a server has answered, as obstore says it
DENIED = "access is denied to these credentials: give them access, then run it again"
_REFUSALS = {
    "NoSuchBucket|ContainerNotFound": "there is no such bucket",
    "QuotaExceeded": "its quota is used up: free space there, then run it again",
    "AccessDenied": DENIED,
    "InvalidAccessKeyId|InvalidClientTokenId|UnrecognizedClient": "the access key is not known "
    "there: correct AWS_ACCESS_KEY_ID",
    "SignatureDoesNotMatch": "the secret key does not fit the access key: correct "
    "AWS_SECRET_ACCESS_KEY",
    "ExpiredToken": "the credentials have expired: renew them, then run it again",
    "performing HEAD .*code: 400": "refused without a reason: have the credentials expired?",
    "code: 507": "the storage is full: free space there, then run it again",
    "incorrectly configured region": "the bucket is in another region: set AWS_REGION",
    "code: 401|401 Client Error": "the credentials are not accepted",
    "code: 403|403 Client Error": DENIED,
}


def patiently(uri: str, work: Callable[[], R], patience: float | None = None) -> R:
    """The work must be safe to do twice: an answer may be lost, not only a request."""
    if patience is None:
        patience = seconds_in(VARIABLE, PATIENCE)
    begun = time.monotonic()
    for tries in count():
        wait = min(FIRST_WAIT * 2 ** min(tries, 9), LONGEST_WAIT) * random.uniform(0.5, 1.0)
        try:
            done = work()
            _Known.hosts.add(_host(uri))
            return done
        except FileNotFoundError:
            _Known.hosts.add(_host(uri))
            raise
        except Exception as error:
            is_of_httpx = type(error).__module__.startswith("httpx")  # whichever the hub's has
            if not isinstance(error, OSError) and not is_of_httpx:
                raise
            refuse(uri, str(error))
            if REPLY in str(error):
                _Known.hosts.add(_host(uri))
            waited, cause = time.monotonic() - begun, first_line(error)
            is_known = has_answered(uri)
            limit = patience if is_known else min(patience, FIRST_CONTACT)
            if waited + wait > limit:
                reason = f"no answer ({cause}): is the address right?"
                if is_known:
                    reason = f"it could not be used for {patience:g} s ({cause})"
                raise StorageLost(f"{uri}: {reason}") from None
            if waited >= SILENCE and time.monotonic() - _Known.said >= BETWEEN:
                _Known.said = time.monotonic()
                reason = f"no answer yet ({cause}); given up after {limit:g} s"
                print(f"waiting for {uri}: {reason}", file=sys.stderr, flush=True)
        time.sleep(wait)
    raise AssertionError("the waits never end")


def answer_within(uri: str) -> float:
    """Seconds that one request waits. Of a place that has answered, `patiently` then tries twice,
    with a line in between."""
    timeout = READ_TIMEOUT if has_answered(uri) else FIRST_CONTACT
    return min(timeout, max(1.0, seconds_in(VARIABLE, PATIENCE) / 2))


class _Known:
    hosts: ClassVar = set[str]()  # buckets that have answered, by the beginning of their URIs
    are_all_known: ClassVar = False
    said: ClassVar = -BETWEEN  # when the last line was written


def expect_answers() -> None:
    """Called in a restarted worker: its driver has reached all places before, so that one that
    does not answer now has an outage."""
    _Known.are_all_known = True


def has_answered(uri: str) -> bool:
    return _Known.are_all_known or _host(uri) in _Known.hosts


def _host(uri: str) -> str:
    return "/".join(uri.split("/")[:3])


def refuse(uri: str, message: str) -> None:
    """Raise a UserError if the storage's message is of something that the user can correct."""
    for mark, meaning in _REFUSALS.items():
        if re.search(rf"\b({mark})\b", message):
            raise UserError(f"{uri}: {meaning}") from None
