"""The generic format: JSON lines, CSV and Parquet, as a file, a folder, a glob, or several.

("data/cases.jsonl", "more/*.parquet") -> Row("cases.jsonl:1", {"doc_id": …}), …
"""

from __future__ import annotations

import gzip
import io
import zlib
from collections import Counter
from collections.abc import Iterator
from typing import IO

from evaljudge.corpora.csv_table import read_csv
from evaljudge.corpora.jsonl import read_jsonl
from evaljudge.corpora.parquet import read_parquet
from evaljudge.corpora.rows import BadRow, Reader, Row, first_line
from evaljudge.errors import UserError
from evaljudge.storage import expand, open_to_read

PACKED = ".gz"
READERS: dict[str, Reader] = {
    ".jsonl": read_jsonl,
    ".ndjson": read_jsonl,
    ".json": read_jsonl,
    ".jsonl.gz": read_jsonl,
    ".ndjson.gz": read_jsonl,
    ".json.gz": read_jsonl,
    ".csv": read_csv,
    ".csv.gz": read_csv,
    ".parquet": read_parquet,
}
"""By a file's ending; a Parquet file is packed inside."""

BUFFER = 1 << 20


def read_generic(paths: tuple[str, ...]) -> Iterator[Row | BadRow]:
    files = list(dict.fromkeys(file for path in paths for file in _files(path)))
    shared = Counter(_base(file) for file in files)
    for file in files:
        yield from _rows(file, _base(file) if shared[_base(file)] == 1 else file)


def _files(path: str) -> list[str]:
    found = expand(path)
    readable = [file for file in found if _reader(file)]
    if readable:
        return readable
    endings = ", ".join(READERS)
    if found == [path]:
        raise UserError(f"{path}: unknown ending; a corpus file ends in one of {endings}")
    raise UserError(f"{path}: no corpus file here; they end in {endings}")


def _reader(file: str) -> Reader | None:
    name = _base(file).lower()
    return next((READERS[ending] for ending in READERS if name.endswith(ending)), None)


def _rows(file: str, name: str) -> Iterator[Row | BadRow]:
    reader = _reader(file)
    assert reader, file
    try:
        with open_to_read(file) as stream, _unpacked(stream, file) as content:
            yield from reader(content, name)
    except (OSError, EOFError, zlib.error) as error:
        raise UserError(f"{file}: cannot be read ({first_line(error)})") from None


def _unpacked(stream: IO[bytes], file: str) -> IO[bytes]:
    if _reader(file) is read_parquet:
        return stream  # seeks about in it, and buffers by itself
    buffered = io.BufferedReader(stream, BUFFER)  # type: ignore[type-var]
    packed = file.lower().endswith(PACKED)
    return gzip.GzipFile(fileobj=buffered) if packed else buffered  # type: ignore[return-value]


def _base(file: str) -> str:
    return file.rpartition("/")[2]
