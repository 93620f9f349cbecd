"""A disk that is full, read-only or failing, as one line: which file, what is wrong, what to do.

And an index on disk, for what is too much to hold in memory. SQLite keeps a database without a name
in a temporary file of its own, beyond what fits its cache, and removes it when it is closed: so
memory stays flat, however many rows there are.

    with index_on_disk("CREATE TABLE seen (doc_id TEXT PRIMARY KEY) WITHOUT ROWID;") as index:
        index.execute("INSERT OR IGNORE INTO seen VALUES (?)", ("d1",)).rowcount  ->  1
"""

import errno
import os
import sqlite3
import stat
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from types import MappingProxyType

from evaljudge.errors import UserError, first_line

REMEDIES: Mapping[int, str] = MappingProxyType(
    {
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
)
"""Errors that are the disk's, whatever was done."""
IRREGULAR = errno.ENXIO
"""The system's own number where a socket is opened as a file."""
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
