"""A file of references: what its rows are, each checked, and finding them by document.

    with indexed(["references.jsonl"]) as files:
        files.digests -> {"references.jsonl": "5f1c09ab77e2d410"}     of the files' bytes
        files.of("references.jsonl", "d1")
        -> {1: ReferenceRow("d1", "9f86…", "fluency", 3.0, "A …", …)}

Files have many rows: they are read line by line, and kept in an index on disk.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from hashlib import sha256

from evaljudge.corpora.files import rows_of
from evaljudge.corpora.rows import Row, clean, is_number
from evaljudge.errors import UserError
from evaljudge.judges.shared.scale import named, ratings
from evaljudge.records import Document
from evaljudge.storage import Index, index_on_disk
from evaljudge.text import shown

LEVELS = {rating: named(rating) for rating in ratings(9)}
"""Every level that a scale of any number of levels can have, with its name."""
DIGITS = 16
_SCHEMA = """
CREATE TABLE given (
    path TEXT, doc_id TEXT, axis TEXT, level REAL, line INTEGER, fields TEXT,
    PRIMARY KEY (path, doc_id, axis, level)
) WITHOUT ROWID;
"""
_KEEP = "INSERT OR IGNORE INTO given VALUES (?, ?, ?, ?, ?, ?)"
_FIRST = "SELECT line FROM given WHERE (path, doc_id, axis, level) = (?, ?, ?, ?)"
_OF = "SELECT line, fields FROM given WHERE path = ? AND doc_id = ? ORDER BY line"


@dataclass(frozen=True, slots=True)
class ReferenceRow:
    doc_id: str
    source_sha256: str
    """Digest of the document that it was written for, so that it is not used for another."""
    axis: str
    level: float
    text: str
    writer: str
    signature: str


def source_digest(document: Document) -> str:
    return sha256(document.source.encode()).hexdigest()


@contextmanager
def indexed(paths: Iterable[str]) -> Iterator[ReferenceFiles]:
    with index_on_disk(_SCHEMA) as index:
        yield ReferenceFiles(index, paths)


class ReferenceFiles:
    """The rows of some files."""

    def __init__(self, index: Index, paths: Iterable[str]) -> None:
        self._index = index
        self.digests = {path: self._add(path) for path in dict.fromkeys(paths)}

    def of(self, path: str, doc_id: str) -> dict[int, ReferenceRow]:
        """By line."""
        rows = self._index.execute(_OF, (path, doc_id))
        return {line: ReferenceRow(**json.loads(fields)) for line, fields in rows}

    def axes(self) -> set[str]:
        return {axis for (axis,) in self._index.execute("SELECT DISTINCT axis FROM given")}

    def _add(self, path: str) -> str:
        digest = sha256()
        for row in rows_of(path, see=digest.update):
            self._keep(path, row)
        if not self._index.execute("SELECT 1 FROM given WHERE path = ?", (path,)).fetchone():
            raise UserError(f"{path}: holds no reference")
        return digest.hexdigest()[:DIGITS]

    def _keep(self, path: str, row: Row) -> None:
        line, one = int(row.place.rpartition(":")[2]), _reference(row)
        at = (path, one.doc_id, one.axis, one.level)
        if not self._index.execute(_KEEP, (*at, line, json.dumps(asdict(one)))).rowcount:
            (first,) = self._index.execute(_FIRST, at).fetchone()
            raise UserError(
                f"{row.place}: level {LEVELS[one.level]} of {one.axis} for document "
                f"{shown(one.doc_id)} again (first in line {first})"
            )


def _reference(row: Row) -> ReferenceRow:
    level = row.fields.get("level")
    if not is_number(level) or float(level) not in LEVELS:
        first, second, *_, last = LEVELS.values()
        raise UserError(f"{row.place}: `level` must be one of {first}, {second}, … {last}")
    names = ("doc_id", "source_sha256", "axis", "text", "writer", "signature")
    return ReferenceRow(level=float(level), **{name: _text(row, name) for name in names})


def _text(row: Row, name: str) -> str:
    value = row.fields.get(name)
    if not isinstance(value, str):
        raise UserError(f"{row.place}: needs `{name}`, a text")
    if not value.strip() and name not in ("writer", "signature"):
        raise UserError(f"{row.place}: `{name}` is empty")
    return clean(value)
