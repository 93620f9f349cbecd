"""Rows of JSON lines: one object a line, blank lines aside.

{"doc_id": "d1", "source": "The river …", "candidates": [{"system": "A", "text": "A flood."}]}
"""

from __future__ import annotations

import json
from codecs import BOM_UTF8
from collections.abc import Iterator
from typing import IO

from evaljudge.corpora.rows import NOT_UTF8, BadRow, Row


def read_jsonl(stream: IO[bytes], name: str) -> Iterator[Row | BadRow]:
    for number, line in enumerate(stream, 1):
        content = line.removeprefix(BOM_UTF8) if number == 1 else line
        if content and not content.isspace():
            yield _parsed(content, f"{name}:{number}")


def _parsed(line: bytes, place: str) -> Row | BadRow:
    try:
        fields = json.loads(line.decode())  # decoded here: json would let surrogates through
    except UnicodeDecodeError:
        return BadRow(place, NOT_UTF8)
    except (ValueError, RecursionError):
        return BadRow(place, "not valid JSON (one object a line)")
    if not isinstance(fields, dict):
        return BadRow(place, f"not an object but {type(fields).__name__}")
    return Row(place, fields)
