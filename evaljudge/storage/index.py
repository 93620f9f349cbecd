"""An index on disk, for what is too much to hold in memory: SQLite in a temporary file.

    with index_on_disk("CREATE TABLE seen (doc_id TEXT PRIMARY KEY) WITHOUT ROWID;") as index:
        index.execute("INSERT OR IGNORE INTO seen VALUES (?)", ("d1",)).rowcount  ->  1

SQLite keeps a database without a name in a temporary file of its own, beyond what fits its cache,
and removes it when it is closed: so memory stays flat, however many rows there are.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager

from evaljudge.errors import UserError

Index = sqlite3.Connection
DISK_ERRORS = ("SQLITE_FULL", "SQLITE_IOERR", "SQLITE_CANTOPEN")


@contextmanager
def index_on_disk(schema: str) -> Iterator[Index]:
    """An empty index with these tables; any thread may use it, one at a time."""
    with closing(sqlite3.connect("", check_same_thread=False)) as index, _refusing_disk_errors():
        index.executescript(f"PRAGMA journal_mode = OFF;\n{schema}")
        yield index


@contextmanager
def _refusing_disk_errors() -> Iterator[None]:
    """The disk's errors in one line; any other of SQLite's is a mistake of ours."""
    try:
        yield
    except sqlite3.OperationalError as error:
        if not error.sqlite_errorname.startswith(DISK_ERRORS):
            raise
        folder = os.environ.get("SQLITE_TMPDIR") or os.environ.get("TMPDIR") or "/var/tmp"
        raise UserError(
            f"{folder}: a temporary index cannot be kept there ({error}): free space, or set "
            "TMPDIR to another folder, then run it again"
        ) from None
