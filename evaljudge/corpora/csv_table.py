"""Rows of CSV with a header; every cell is text until something says otherwise.

doc_id,source,references,system,text,ratings.coherence
d1,The river …,"[""A flood came."", ""It rained.""]",A,A flood.,4
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from typing import IO, Any

from evaljudge.corpora.columns import AS_THEY_ARE, Columns
from evaljudge.corpora.rows import (
    DOTTED,
    NOT_UTF8,
    BadRow,
    Row,
    all_ratings,
    json_or_text,
    ratings_in,
)
from evaljudge.corpora.values import RefusedError

LONGEST_CELL = 1 << 28
"""Characters; the csv module's own 131,072 is less than a book. A quote left open ends here."""

ABSENT_WHEN_EMPTY = ("source", "references", "context", "candidates", "ratings")


def read_csv(
    stream: IO[bytes], name: str, columns: Columns = AS_THEY_ARE
) -> Iterator[Row | BadRow]:
    csv.field_size_limit(LONGEST_CELL)
    lines = io.TextIOWrapper(stream, "utf-8-sig", errors="surrogateescape", newline="")
    header: list[str] = []
    for place, cells in _records(lines, name):
        if isinstance(cells, str):
            yield BadRow(place, cells)
        elif not header:
            header = columns.header([column.strip() for column in cells], name)
        elif any(cell and not cell.isspace() for cell in cells):
            yield _row(place, header, cells)


def _records(lines: io.TextIOWrapper, name: str) -> Iterator[tuple[str, list[str] | str]]:
    """Each record's cells, or what is wrong with it, at the line it begins on."""
    reader = csv.reader(lines, strict=True)
    while True:
        place = f"{name}:{reader.line_num + 1}"
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            yield place, f"not valid CSV ({error})"
        else:
            yield place, cells


def _row(place: str, header: list[str], cells: list[str]) -> Row | BadRow:
    if not _decoded(cells):
        return BadRow(place, NOT_UTF8)
    if any(cells[len(header) :]):
        return BadRow(place, f"{len(cells)} cells under a header of {len(header)}")
    try:
        return Row(place, _fields(dict(zip(header, cells, strict=False))))
    except RefusedError as refused:
        return BadRow(place, str(refused))


def _decoded(cells: list[str]) -> bool:
    """Whether every byte was UTF-8: one that was not stands as a lone surrogate."""
    try:
        "".join(cells).encode()
    except UnicodeEncodeError:
        return False
    return True


def _fields(record: dict[str, str]) -> dict[str, Any]:
    fields: dict[str, Any] = dict(record)
    for name in ABSENT_WHEN_EMPTY:
        if fields.get(name) == "":
            fields[name] = None
    if fields.get("references"):
        fields["references"] = _references(fields["references"])
    if fields.get("ratings"):
        fields["ratings"] = ratings_in(fields["ratings"])
    dotted = {
        column.removeprefix(DOTTED): _rating(cell)
        for column, cell in record.items()
        if cell and column.startswith(DOTTED)
    }
    return {**fields, **all_ratings(fields.get("ratings"), dotted)}


def _references(cell: str) -> list[Any]:
    held = json_or_text(cell) if cell.lstrip().startswith("[") else cell
    return held if isinstance(held, list) else [cell]


def _rating(cell: str) -> Any:
    """A number, or a JSON list of them; what is neither is left for the row's check to refuse."""
    try:
        return float(cell)
    except ValueError:
        return json_or_text(cell) if cell.lstrip().startswith("[") else cell
