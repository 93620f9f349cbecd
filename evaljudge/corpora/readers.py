"""The rows of one open file: JSON lines, CSV or Parquet.

JSON lines have one object a line, and blank lines are skipped:

    {"doc_id": "d1", "source": "The river …", "candidates": [{"system": "A", "text": "A flood."}]}

CSV has a header; cells are text, but for ratings and lists. Spreadsheets that write 4,5 for 4.5 put
semicolons or tabs between columns, so a decimal comma is read where no comma separates them:

    doc_id,source,references,system,text,ratings.coherence
    d1,The river …,"[""A flood came."", ""It rained.""]",A,A flood.,4

Parquet is read a batch at a time, and only the columns that mean something here:

    doc_id: string, source: string, references: list<string>,
    candidates: list<struct<system: string, text: string, ratings: struct<coherence: double>>>

There `ratings` may as well be a map, a JSON string, or columns `ratings.coherence`. In every form a
rating may be a list of numbers, one for each rater.
"""

from __future__ import annotations

import csv
import io
import re
from codecs import BOM_UTF8
from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import chain, islice
from typing import IO, TYPE_CHECKING, Any

from evaljudge.corpora.columns import AS_THEY_ARE, ColumnNames
from evaljudge.corpora.rows import (
    DOTTED,
    KNOWN_FIELDS,
    NOT_UTF8,
    SCORE_FIELDS,
    BadRow,
    RefusedError,
    Rows,
    all_ratings,
    in_candidates,
    json_or_text,
    kind,
    ratings_in,
    read_json_text,
    refuse_other_forms,
    row_of,
    undotted,
)
from evaljudge.errors import UserError, first_line
from evaljudge.text import is_encodable, shown

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

SEPARATORS = ",;\t|"
_DECIMAL_COMMA = re.compile(r"\s*[+-]?\d+,\d+\s*", re.ASCII)
LONGEST_CELL = 1 << 28
"""In characters. The csv module's own 131,072 are less than a book. An open quote ends here."""

ABSENT_WHEN_EMPTY = ("source", "references", "context", "candidates", "ratings")

PARQUET = ".parquet"
GENERIC = frozenset(KNOWN_FIELDS + SCORE_FIELDS)
ROWS_AT_A_TIME = 256
"""Few, because a row may hold an article with all its candidates."""


def read_jsonl(lines: Iterable[bytes], name: str, columns: ColumnNames = AS_THEY_ARE) -> Rows:
    for number, line in enumerate(lines, 1):
        if number == 1:
            refuse_other_forms(name, line)
        content = line.removeprefix(BOM_UTF8) if number == 1 else line
        if content and not content.isspace():
            yield row_of(f"{name}:{number}", _json_line, content, columns)


def read_json(stream: IO[bytes], name: str) -> Rows:
    """If a file is one list, its items are the rows; any other file is read line by line."""
    head = b""
    while not head.removeprefix(BOM_UTF8).strip() and (line := stream.readline()):
        head += line
    if head.removeprefix(BOM_UTF8).lstrip().startswith(b"["):
        return _json_items(head.removeprefix(BOM_UTF8) + stream.read(), name)
    return read_jsonl(chain(io.BytesIO(head), stream), name)


def read_json_object(stream: IO[bytes], name: str) -> Rows:
    """The values of one object are the rows, each with its key as `doc_id`."""
    content = stream.read().removeprefix(BOM_UTF8)
    refuse_other_forms(name, content)
    try:
        found = _json(content, "one object of objects")
        if not isinstance(found, dict):
            raise RefusedError(f"not an object but {kind(found)}")
    except RefusedError as refused:
        yield BadRow(name, str(refused))
    else:
        for key, value in found.items():
            yield row_of(f"{name}: {shown(key)}", _with_doc_id, key, value)


def _with_doc_id(doc_id: str, value: Any) -> dict[str, Any]:
    return {**_json_fields(value, AS_THEY_ARE), "doc_id": doc_id}


def _json_items(content: bytes, name: str) -> Rows:
    try:
        items = _json(content, "a list of objects")
    except RefusedError as refused:
        yield BadRow(name, str(refused))
    else:
        for number, item in enumerate(items, 1):
            yield row_of(f"{name}: item {number}", _json_fields, item, AS_THEY_ARE)


def _json_line(line: bytes, columns: ColumnNames) -> dict[str, Any]:
    form = "one object a line"
    item = _json(line, form)
    if isinstance(item, list):
        raise RefusedError(f"not an object but list: write {form}")
    return _json_fields(item, columns)


def _json_fields(item: Any, columns: ColumnNames) -> dict[str, Any]:
    if not isinstance(item, dict):
        raise RefusedError(f"not an object but {kind(item)}")
    return undotted(columns.fields(item))


def _json(content: bytes, form: str) -> Any:
    try:
        return read_json_text(content.decode())  # json itself would let surrogates through
    except UnicodeDecodeError:
        raise RefusedError(NOT_UTF8) from None
    except (ValueError, RecursionError):
        raise RefusedError(f"not valid JSON ({form})") from None


def read_csv(stream: IO[bytes], name: str, columns: ColumnNames = AS_THEY_ARE) -> Rows:
    lines = io.TextIOWrapper(stream, "utf-8-sig", errors="surrogateescape", newline="")
    separator, records = csv_records(lines, name)
    header: list[str] = []
    for place, cells in records:
        if isinstance(cells, str) and not header:
            raise UserError(f"{place}: its header is {cells}: save the table as CSV again")
        if isinstance(cells, str):
            yield BadRow(place, cells)
        elif header:
            yield row_of(place, _csv_fields, header, cells, separator)
        else:
            _refuse_odd_header(name, cells)
            header = columns.header([column.strip() for column in cells], name)


def csv_records(
    lines: Iterable[str], name: str
) -> tuple[str, Iterator[tuple[str, list[str] | str]]]:
    """What separates the columns; and each record that is not blank, at the line it begins on: its
    cells, or what is wrong with it. The first is the header."""
    csv.field_size_limit(LONGEST_CELL)
    lines, first = iter(lines), list[str]()
    while not (first and first[-1].strip()) or first[-1].startswith("sep="):
        if not (line := next(lines, "")):
            break
        first.append(line)
    separator = separator_of("".join(first[-1:]))
    return separator, _records(chain(first, lines), name, separator)


def _records(
    lines: Iterable[str], name: str, separator: str
) -> Iterator[tuple[str, list[str] | str]]:
    reader = csv.reader(lines, delimiter=separator, strict=True)
    while True:
        place = f"{name}:{reader.line_num + 1}"
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            yield place, f"not valid CSV ({error})"
        else:
            says_separator = reader.line_num <= 2 and "".join(cells).startswith("sep=")
            if not says_separator and any(cell and not cell.isspace() for cell in cells):
                yield place, cells


def separator_of(line: str) -> str:
    """What separates the columns of a header: what shows known names, and most names."""

    def shown_by(separator: str) -> tuple[bool, int]:
        cells = next(csv.reader([line[:LONGEST_CELL]], delimiter=separator), [])
        return bool(GENERIC & {cell.strip().casefold() for cell in cells}), len(cells)

    return max(SEPARATORS, key=shown_by)


def _refuse_odd_header(name: str, header: list[str]) -> None:
    line = ",".join(header)
    refuse_other_forms(name, line.encode("utf-8", "surrogateescape"))
    if not is_encodable(line):
        raise UserError(f"{name}: its header is not UTF-8: save the file as UTF-8")


def _csv_fields(header: list[str], cells: list[str], separator: str) -> dict[str, Any]:
    _refuse_undecoded(cells)
    if any(cells[len(header) :]) or len(cells) < len(header):
        raise RefusedError(f"{len(cells)} cells under a header of {len(header)}")
    record = dict(zip(header, cells, strict=False))
    if separator != ",":
        record = {name: _with_point(name, cell) for name, cell in record.items()}
    fields = {name: _value(name, cell) for name, cell in record.items()}
    dotted = {
        name.removeprefix(DOTTED): _rating(cell)
        for name, cell in record.items()
        if cell and name.startswith(DOTTED)
    }
    return {**fields, **all_ratings(fields.get("ratings"), dotted)}


def _with_point(name: str, cell: str) -> str:
    is_number = name == "value" or name.startswith(DOTTED)
    return cell.replace(",", ".") if is_number and _DECIMAL_COMMA.fullmatch(cell) else cell


def _value(name: str, cell: str) -> Any:
    if not cell and name in ABSENT_WHEN_EMPTY:
        return None
    if name == "references":
        held = _list_or_text(cell)
        return held if isinstance(held, list) else [cell]
    return ratings_in(cell) if name == "ratings" else cell


def _refuse_undecoded(cells: list[str]) -> None:
    """A byte that is not UTF-8 was decoded as a lone surrogate."""
    try:
        "".join(cells).encode()
    except UnicodeEncodeError:
        raise RefusedError(NOT_UTF8) from None


def _list_or_text(cell: str) -> Any:
    return json_or_text(cell) if cell.lstrip().startswith("[") else cell


def _rating(cell: str) -> Any:
    """A number, or a JSON list of numbers; fragment.py refuses anything else. Python alone would
    read `1_0` as ten, and digits of any script."""
    try:
        return float(cell) if cell.isascii() and "_" not in cell else cell
    except ValueError:
        return _list_or_text(cell)


def read_parquet(
    stream: IO[bytes],
    name: str,
    wanted: Collection[str] = GENERIC,
    columns: ColumnNames = AS_THEY_ARE,
) -> Rows:
    def read(fields: dict[str, Any], unread: dict[str, Any]) -> dict[str, Any]:
        return undotted(_with_ratings(columns.fields(fields))) | unread

    number = 0
    for batch, unread in _batches(stream, name, wanted, columns):
        for fields in _unpacked(batch):
            number += 1
            place = f"{name}: row {number}"
            if isinstance(fields, str):
                yield BadRow(place, fields)
            else:
                yield row_of(place, read, fields, unread)


def _batches(
    stream: IO[bytes], name: str, wanted: Collection[str], columns: ColumnNames
) -> Iterator[tuple[pa.RecordBatch, dict[str, Any]]]:
    """Each batch, and the columns left unread with one value of each."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = pq.ParquetFile(stream, page_checksum_verification=True)
        schema = table.schema_arrow
        ours = dict(zip(schema.names, columns.header(schema.names, name), strict=True))
        read = [c for c in schema.names if ours[c] in wanted or ours[c].startswith(DOTTED)]
        unread = _examples(table, [c for c in schema.names if c not in read])
        for batch in table.iter_batches(batch_size=ROWS_AT_A_TIME, columns=read):
            yield batch, unread
    except (pa.ArrowException, UnicodeDecodeError) as error:
        raise UserError(f"{name}: not readable as Parquet ({first_line(error)})") from None


def _examples(table: pq.ParquetFile, columns: Collection[str]) -> dict[str, Any]:
    """The first value of each column that may contain ratings; None for other columns."""
    numeric = [c for c in columns if _holds_numbers(table.schema_arrow.field(c).type)]
    found: dict[str, Any] = dict.fromkeys(columns)
    for batch in islice(table.iter_batches(batch_size=ROWS_AT_A_TIME, columns=numeric), 1):
        for name in numeric if batch.num_rows else ():
            found[name] = next((v for v in batch[name].to_pylist() if v is not None), None)
    return found


def _holds_numbers(kind: pa.DataType) -> bool:
    import pyarrow as pa

    inner = kind.value_type if pa.types.is_list(kind) else kind
    return bool(pa.types.is_integer(inner) or pa.types.is_floating(inner))


def _unpacked(batch: pa.RecordBatch) -> list[dict[str, Any] | str]:
    try:
        rows: list[dict[str, Any] | str] = batch.to_pylist(maps_as_pydicts="strict")
    except (UnicodeDecodeError, KeyError, ValueError, OverflowError) as error:
        if batch.num_rows > 1:  # one bad row must not take its neighbours along
            return [row for n in range(batch.num_rows) for row in _unpacked(batch.slice(n, 1))]
        if isinstance(error, UnicodeDecodeError | KeyError):
            return [NOT_UTF8 if isinstance(error, ValueError) else "a map with one key twice"]
        return [f"holds what is no date of Python's ({first_line(error)})"]
    return rows


def _with_ratings(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Ratings in a JSON string become the object that it holds, in candidates too."""
    ratings = fields.get("ratings")
    held = {"ratings": ratings_in(ratings)} if isinstance(ratings, str) else {}
    return in_candidates({**fields, **held}, _with_ratings)
