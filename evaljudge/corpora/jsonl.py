"""Rows of JSON lines, one object a line, where blank lines are skipped; or of one list of objects.

{"doc_id": "d1", "source": "The river …", "candidates": [{"system": "A", "text": "A flood."}]}
"""

from __future__ import annotations

from codecs import BOM_UTF8
from collections.abc import Iterable
from io import BytesIO
from itertools import chain
from typing import IO, Any

from evaljudge.corpora.columns import AS_THEY_ARE, ColumnNames
from evaljudge.corpora.rows import (
    NOT_UTF8,
    BadRow,
    RefusedError,
    Rows,
    kind,
    read_json_text,
    refuse_other_forms,
    row_of,
    undotted,
)


def read_jsonl(lines: Iterable[bytes], name: str, columns: ColumnNames = AS_THEY_ARE) -> Rows:
    for number, line in enumerate(lines, 1):
        if number == 1:
            refuse_other_forms(name, line)
        content = line.removeprefix(BOM_UTF8) if number == 1 else line
        if content and not content.isspace():
            yield row_of(f"{name}:{number}", _parsed, content, columns)


def read_json(stream: IO[bytes], name: str) -> Rows:
    """A file that is one list is read as a whole, and its items are the rows; any other by line."""
    head = b""
    while not head.removeprefix(BOM_UTF8).strip() and (line := stream.readline()):
        head += line
    if head.removeprefix(BOM_UTF8).lstrip().startswith(b"["):
        return _items(head.removeprefix(BOM_UTF8) + stream.read(), name)
    return read_jsonl(chain(BytesIO(head), stream), name)


def _items(content: bytes, name: str) -> Rows:
    try:
        items = _decoded(content, "a list of objects")
    except RefusedError as refused:
        yield BadRow(name, str(refused))
    else:
        for number, item in enumerate(items, 1):
            yield row_of(f"{name}: item {number}", _fields, item, AS_THEY_ARE)


def _parsed(line: bytes, columns: ColumnNames) -> dict[str, Any]:
    return _fields(_decoded(line, "one object a line"), columns)


def _fields(item: Any, columns: ColumnNames) -> dict[str, Any]:
    if not isinstance(item, dict):
        raise RefusedError(f"not an object but {kind(item)}")
    return undotted(columns.fields(item))


def _decoded(content: bytes, form: str) -> Any:
    try:
        return read_json_text(content.decode())  # json itself would let surrogates through
    except UnicodeDecodeError:
        raise RefusedError(NOT_UTF8) from None
    except (ValueError, RecursionError):
        raise RefusedError(f"not valid JSON ({form})") from None
