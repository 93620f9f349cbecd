"""Rows of CSV with a header; cells are text, but for ratings and lists.

doc_id,source,references,system,text,ratings.coherence
d1,The river …,"[""A flood came."", ""It rained.""]",A,A flood.,4
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from typing import IO, Any

from evaljudge.corpora.columns import AS_THEY_ARE, ColumnNames
from evaljudge.corpora.rows import (
    DOTTED,
    NOT_UTF8,
    BadRow,
    RefusedError,
    Rows,
    all_ratings,
    json_or_text,
    ratings_in,
    refuse_other_forms,
    row_of,
)
from evaljudge.errors import UserError

SEPARATORS = {";": "semicolons", "\t": "tabs", "|": "vertical bars"}
LONGEST_CELL = 1 << 28
"""Characters; the csv module's own 131,072 is less than a book. A quote left open ends here."""

ABSENT_WHEN_EMPTY = ("source", "references", "context", "candidates", "ratings")


def read_csv(stream: IO[bytes], name: str, columns: ColumnNames = AS_THEY_ARE) -> Rows:
    csv.field_size_limit(LONGEST_CELL)
    lines = io.TextIOWrapper(stream, "utf-8-sig", errors="surrogateescape", newline="")
    header: list[str] = []
    for place, cells in _records(lines, name):
        if isinstance(cells, str):
            yield BadRow(place, cells)
        elif not header:
            refuse_other_forms(name, cells[0].encode("utf-8", "surrogateescape"))
            _refuse_other_separators(name, cells)
            header = columns.header([column.strip() for column in cells], name)
        elif any(cell and not cell.isspace() for cell in cells):
            yield row_of(place, _fields, header, cells)


def _refuse_other_separators(name: str, header: list[str]) -> None:
    for separator, called in SEPARATORS.items():
        if len(header) == 1 and separator in header[0]:
            raise UserError(f"{name}: its columns are separated by {called}: save it with commas")


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


def _fields(header: list[str], cells: list[str]) -> dict[str, Any]:
    _refuse_undecoded(cells)
    if any(cells[len(header) :]):
        raise RefusedError(f"{len(cells)} cells under a header of {len(header)}")
    record = dict(zip(header, cells, strict=False))
    fields = {name: _value(name, cell) for name, cell in record.items()}
    dotted = {
        name.removeprefix(DOTTED): _rating(cell)
        for name, cell in record.items()
        if cell and name.startswith(DOTTED)
    }
    return {**fields, **all_ratings(fields.get("ratings"), dotted)}


def _value(name: str, cell: str) -> Any:
    if not cell and name in ABSENT_WHEN_EMPTY:
        return None
    if name == "references":
        held = _list_or_text(cell)
        return held if isinstance(held, list) else [cell]
    return ratings_in(cell) if name == "ratings" else cell


def _refuse_undecoded(cells: list[str]) -> None:
    """A byte that was not UTF-8 stands as a lone surrogate."""
    try:
        "".join(cells).encode()
    except UnicodeEncodeError:
        raise RefusedError(NOT_UTF8) from None


def _list_or_text(cell: str) -> Any:
    return json_or_text(cell) if cell.lstrip().startswith("[") else cell


def _rating(cell: str) -> Any:
    """A number, or a JSON list of them; what is neither is left for `fragment` to refuse.

    Python would read `1_0` as ten, and digits of any script.
    """
    try:
        return float(cell) if cell.isascii() and "_" not in cell else cell
    except ValueError:
        return _list_or_text(cell)
