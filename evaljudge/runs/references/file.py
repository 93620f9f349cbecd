"""A file of references: what its rows are, each checked, and finding them by document.

    index = Index(base)
    index.add("references.jsonl") -> "5f1c09ab77e2d410"      the digest of the file's bytes
    index.of("references.jsonl", "d1") -> {1: Reference("d1", "9f86…", "fluency", 3.0, "A …", …)}

Files have many rows: they are read line by line, and kept on disk, in a base without a name.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from hashlib import sha256
from io import BufferedReader
from typing import Any

from evaljudge.corpora.files import BUFFER
from evaljudge.corpora.jsonl import read_jsonl
from evaljudge.corpora.rows import BadRow, Row, first_line
from evaljudge.corpora.values import clean, is_number, shown
from evaljudge.errors import UserError
from evaljudge.judges.shared.scale import named, ratings
from evaljudge.records import Document
from evaljudge.storage import open_to_read

LEVELS = {rating: named(rating) for rating in ratings(9)}
"""All that there may be: every number of levels has its own among them."""
DIGITS = 16
_SCHEMA = """
PRAGMA journal_mode = OFF;
CREATE TABLE given (
    path TEXT, line INTEGER, doc_id TEXT, source_sha256 TEXT, axis TEXT, level REAL, text TEXT,
    writer TEXT, signature TEXT, PRIMARY KEY (path, doc_id, axis, level)
) WITHOUT ROWID;
"""
_KEEP = "INSERT OR IGNORE INTO given VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
_FIRST = "SELECT line FROM given WHERE (path, doc_id, axis, level) = (?, ?, ?, ?)"
_OF = """SELECT line, doc_id, source_sha256, axis, level, text, writer, signature
FROM given WHERE path = ? AND doc_id = ? ORDER BY line"""


@dataclass(frozen=True, slots=True)
class Reference:
    """One row."""

    doc_id: str
    source_sha256: str
    """Of the document that it was written for, so that it is not taken for another's."""
    axis: str
    level: float
    text: str
    writer: str
    signature: str


def source_digest(document: Document) -> str:
    return sha256(document.source.encode()).hexdigest()


class Index:
    """The rows of some files."""

    def __init__(self, base: sqlite3.Connection) -> None:
        self._base = base
        base.executescript(_SCHEMA)

    def add(self, path: str) -> str:
        """Gives the file's digest."""
        digest, rows = sha256(), 0
        try:
            with open_to_read(path) as stream, BufferedReader(stream, BUFFER) as lines:  # type: ignore[type-var]
                for row in read_jsonl(_hashed(lines, digest), path):
                    self._keep(path, row)
                    rows += 1
        except OSError as error:
            raise UserError(f"{path}: cannot be read ({first_line(error)})") from None
        if not rows:
            raise UserError(f"{path}: holds no reference")
        return digest.hexdigest()[:DIGITS]

    def of(self, path: str, doc_id: str) -> dict[int, Reference]:
        """By line."""
        rows = self._base.execute(_OF, (path, doc_id))
        return {line: Reference(*columns) for line, *columns in rows}

    def axes(self) -> set[str]:
        return {axis for (axis,) in self._base.execute("SELECT DISTINCT axis FROM given")}

    def _keep(self, path: str, row: Row | BadRow) -> None:
        if isinstance(row, BadRow):
            raise UserError(f"{row.place}: {row.problem}")
        line, one = int(row.place.rpartition(":")[2]), _reference(row)
        if self._base.execute(_KEEP, (path, line, *asdict(one).values())).rowcount:
            return
        at = (path, one.doc_id, one.axis, one.level)
        (first,) = self._base.execute(_FIRST, at).fetchone()
        raise UserError(
            f"{row.place}: level {LEVELS[one.level]} of {one.axis} for document "
            f"{shown(one.doc_id)} again (first in line {first})"
        )


def _hashed(lines: Iterable[bytes], digest: Any) -> Iterator[bytes]:
    for line in lines:
        digest.update(line)
        yield line


def _reference(row: Row) -> Reference:
    level = row.fields.get("level")
    if not is_number(level) or float(level) not in LEVELS:
        first, second, *_, last = LEVELS.values()
        raise UserError(f"{row.place}: `level` must be one of {first}, {second}, … {last}")
    return Reference(
        _text(row, "doc_id"),
        _text(row, "source_sha256"),
        _text(row, "axis"),
        float(level),
        _text(row, "text"),
        _text(row, "writer", may_be_empty=True),
        _text(row, "signature", may_be_empty=True),
    )


def _text(row: Row, name: str, may_be_empty: bool = False) -> str:
    value = row.fields.get(name)
    if not isinstance(value, str):
        raise UserError(f"{row.place}: needs `{name}`, a text")
    if not may_be_empty and not value.strip():
        raise UserError(f"{row.place}: `{name}` is empty")
    return clean(value)
