"""The files that a corpus' paths name, each read by the reader for its ending.

read_files(("data/cases.jsonl", "more/*.csv"), {".jsonl": read_jsonl, ".csv": read_csv})
-> Row("cases.jsonl:1", {"doc_id": …}), …
"""

from __future__ import annotations

import gzip
import io
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import IO

from evaljudge.corpora.parquet import PARQUET
from evaljudge.corpora.rows import BadRow, Reader, Row, first_line
from evaljudge.errors import UserError
from evaljudge.storage import expand, open_to_read

Readers = Mapping[str, Reader]
"""By a file's ending, packed or not."""

PACKED = ".gz"
BUFFER = 1 << 20


def read_files(paths: tuple[str, ...], readers: Readers) -> Iterator[Row | BadRow]:
    files = list(dict.fromkeys(file for path in paths for file in _files(path, readers)))
    shared = Counter(_base(file) for file in files)
    for file in files:
        yield from _rows(file, _base(file) if shared[_base(file)] == 1 else file, readers)


def _files(path: str, readers: Readers) -> list[str]:
    found = expand(path)
    readable = [file for file in found if _reader(file, readers)]
    if readable:
        return readable
    endings = ", ".join(readers)
    if found == [path]:
        raise UserError(f"{path}: unknown ending; a corpus file ends in one of {endings}")
    raise UserError(f"{path}: no corpus file here; they end in {endings}")


def _reader(file: str, readers: Readers) -> Reader | None:
    name = _base(file).lower()
    return next((readers[ending] for ending in readers if name.endswith(ending)), None)


def _rows(file: str, name: str, readers: Readers) -> Iterator[Row | BadRow]:
    reader = _reader(file, readers)
    assert reader, file
    try:
        with open_to_read(file) as stream, _unpacked(stream, file) as content:
            yield from reader(content, name)
    except (OSError, EOFError, zlib.error) as error:
        raise UserError(f"{file}: cannot be read ({first_line(error)})") from None


def _unpacked(stream: IO[bytes], file: str) -> IO[bytes]:
    if file.lower().endswith(PARQUET):
        return stream  # seeks about in it, and buffers by itself
    buffered = io.BufferedReader(stream, BUFFER)  # type: ignore[type-var]
    packed = file.lower().endswith(PACKED)
    return gzip.GzipFile(fileobj=buffered) if packed else buffered  # type: ignore[return-value]


def _base(file: str) -> str:
    return file.rpartition("/")[2]
