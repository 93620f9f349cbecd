"""An index on disk, for what is too much to hold in memory: SQLite in a temporary file.

    with index_on_disk("CREATE TABLE seen (doc_id TEXT PRIMARY KEY) WITHOUT ROWID;") as index:
        index.execute("INSERT OR IGNORE INTO seen VALUES (?)", ("d1",)).rowcount  ->  1

SQLite keeps a database without a name in a temporary file of its own, beyond what fits its cache,
and removes it when it is closed: so memory stays flat, however many rows there are.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager

Index = sqlite3.Connection


@contextmanager
def index_on_disk(schema: str) -> Iterator[Index]:
    """An empty index with these tables; any thread may use it, one at a time."""
    with closing(sqlite3.connect("", check_same_thread=False)) as index:
        index.executescript(f"PRAGMA journal_mode = OFF;\n{schema}")
        yield index
