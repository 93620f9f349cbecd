"""Rows of JSON lines: one object a line, blank lines aside; or of one list of objects.

{"doc_id": "d1", "source": "The river …", "candidates": [{"system": "A", "text": "A flood."}]}
"""

from __future__ import annotations

import json
from codecs import BOM_UTF8
from collections.abc import Iterable, Iterator
from io import BytesIO
from itertools import chain
from typing import IO, Any

from evaljudge.corpora.columns import AS_THEY_ARE, Columns
from evaljudge.corpora.rows import NOT_UTF8, BadRow, Row, undotted
from evaljudge.corpora.values import RefusedError


def read_jsonl(
    lines: Iterable[bytes], name: str, columns: Columns = AS_THEY_ARE
) -> Iterator[Row | BadRow]:
    for number, line in enumerate(lines, 1):
        content = line.removeprefix(BOM_UTF8) if number == 1 else line
        if content and not content.isspace():
            yield _parsed(content, f"{name}:{number}", columns)


def read_json(stream: IO[bytes], name: str) -> Iterator[Row | BadRow]:
    """A file that is one list is read as a whole, and its items are the rows; any other by line."""
    head = b""
    while not head.removeprefix(BOM_UTF8).strip() and (line := stream.readline()):
        head += line
    if head.removeprefix(BOM_UTF8).lstrip().startswith(b"["):
        return _items(head.removeprefix(BOM_UTF8) + stream.read(), name)
    return read_jsonl(chain(BytesIO(head), stream), name)


def _items(content: bytes, name: str) -> Iterator[Row | BadRow]:
    try:
        items = _decoded(content, "a list of objects")
    except RefusedError as refused:
        yield BadRow(name, str(refused))
    else:
        for number, item in enumerate(items, 1):
            yield _row(item, f"{name}: item {number}", AS_THEY_ARE)


def _parsed(line: bytes, place: str, columns: Columns) -> Row | BadRow:
    try:
        return _row(_decoded(line, "one object a line"), place, columns)
    except RefusedError as refused:
        return BadRow(place, str(refused))


def _row(fields: Any, place: str, columns: Columns) -> Row | BadRow:
    if not isinstance(fields, dict):
        return BadRow(place, f"not an object but {type(fields).__name__}")
    try:
        return Row(place, undotted(columns.fields(fields)))
    except RefusedError as refused:
        return BadRow(place, str(refused))


def _decoded(content: bytes, form: str) -> Any:
    try:
        return json.loads(content.decode())  # decoded here: json would let surrogates through
    except UnicodeDecodeError:
        raise RefusedError(NOT_UTF8) from None
    except (ValueError, RecursionError):
        raise RefusedError(f"not valid JSON ({form})") from None
