"""The rows of one open file: JSON lines, CSV or Parquet.

    {"doc_id": "d1", "source": "The river …", "candidates": [{"system": "A", "text": "A flood."}]}

    doc_id,source,references,system,text,ratings.coherence
    d1,The river …,"[""A flood came."", ""It rained.""]",A,A flood.,4

Spreadsheets that write 4,5 for 4.5 put semicolons or tabs between columns, so a decimal comma is
read where no comma separates them. Parquet is read a batch at a time, and only the columns that
mean something here or hold numbers; there `ratings` may be a struct or a map.
"""

import csv
import io
import re
from ast import literal_eval
from codecs import BOM_UTF8
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from itertools import chain
from typing import IO, Any

import pyarrow as pa
import pyarrow.parquet as pq

from evaljudge.corpora.columns import AS_THEY_ARE, ColumnNames, axis_called, known_axes
from evaljudge.corpora.rows import (
    DOTTED,
    IN_EXCEL,
    KNOWN_FIELDS,
    LABEL,
    LEFT_OUT,
    NOT_UTF8,
    RATER,
    SCORE_FIELDS,
    SURROGATE,
    BadRow,
    RefusedError,
    Rows,
    another_scale,
    is_absent,
    json_or_text,
    kind,
    plain,
    read_json_text,
    row_of,
    with_ratings,
)
from evaljudge.errors import UserError, first_line
from evaljudge.text import one_line, shown

SAVE_SO = f"save the table so ({IN_EXCEL}), or `iconv -f cp1252 -t utf-8 A.csv > B.csv`"
SEPARATORS = ",;\t|"
_DECIMAL_COMMA = re.compile(r"\s*[+-]?\d+,\d+\s*", re.ASCII)
_THOUSANDS = re.compile(r"\s*[+-]?[1-9]\d{0,2}\.\d{3}\s*", re.ASCII)
LONGEST_CELL = 1 << 28
"""Characters. The csv module's own 131,072 are less than a book. An open quote ends here."""

ABSENT_WHEN_EMPTY = ("source", "references", "context", "candidates")

PARQUET = ".parquet"
GENERIC = frozenset((*KNOWN_FIELDS, *SCORE_FIELDS, LABEL, RATER))
ROWS_AT_A_TIME = 256  # few, because a row may hold an article with all its candidates


def read_jsonl(lines: Iterable[bytes], name: str, columns: ColumnNames = AS_THEY_ARE) -> Rows:
    for number, line in enumerate(lines, 1):
        content = line.removeprefix(BOM_UTF8) if number == 1 else line
        if content and not content.isspace():
            yield row_of(f"{name}:{number}", _json_line, content, columns)


def read_json(stream: IO[bytes], name: str, columns: ColumnNames = AS_THEY_ARE) -> Rows:
    """A file's rows: the items of one list, or else its lines."""
    first: bytes = stream.peek(1)  # type: ignore[attr-defined]
    if not first.removeprefix(BOM_UTF8).lstrip().startswith(b"["):
        yield from read_jsonl(stream, name, columns)
        return
    for number, item in enumerate(_whole(stream.read(), name, "a list of objects"), 1):
        yield row_of(f"{name}: item {number}", _json_fields, item, columns)


def read_json_object(stream: IO[bytes], name: str) -> Rows:
    """The values of one object are the rows, each with its key as `doc_id`."""
    whole = _whole(stream.read(), name, "one object of objects")
    if not isinstance(whole, dict):
        raise UserError(f"{name}: not an object but {kind(whole)}")
    for key, value in whole.items():
        yield row_of(
            f"{name}: {shown(key)}",
            lambda doc_id, row: {**_json_fields(row, AS_THEY_ARE), "doc_id": doc_id},
            key,
            value,
        )


def _whole(content: bytes, name: str, form: str) -> Any:
    """The one value in a file, which is of no use if it cannot be read."""
    try:
        return _json(content, form)
    except RefusedError as refused:
        raise UserError(f"{name}: {refused}") from None


def _json_line(line: bytes, columns: ColumnNames) -> dict[str, Any]:
    return _json_fields(_json(line, "one object a line"), columns)


def _json_fields(item: Any, columns: ColumnNames) -> dict[str, Any]:
    if not isinstance(item, dict):
        raise RefusedError(f"not an object but {kind(item)}")
    return columns.parts(with_ratings(columns.fields(item)))


def _json(content: bytes, form: str) -> Any:
    try:  # json itself would let surrogates through
        return read_json_text(content.decode("utf-8-sig"))
    except UnicodeDecodeError:
        raise RefusedError(NOT_UTF8) from None
    except (ValueError, RecursionError):
        raise RefusedError(f"not valid JSON ({form})") from None


def read_csv(stream: IO[bytes], name: str, columns: ColumnNames = AS_THEY_ARE) -> Rows:
    lines = io.TextIOWrapper(stream, "utf-8-sig", errors="surrogateescape", newline="")
    separator, records = csv_records(lines, name)
    header, marks = list[str](), dict[str, str]()
    for number, (place, cells) in enumerate(records):
        if isinstance(cells, str) or (not header and SURROGATE.search("".join(cells))):
            if not header:
                raise UserError(f"{place}: its header is not CSV in UTF-8: {SAVE_SO}")
            yield BadRow(place, str(cells))
        elif number in (1, 2) and any(cell.startswith('{"ImportId":') for cell in cells):
            raise UserError(f"{place}: Qualtrics has two more lines below the header: delete them")
        elif header:
            yield row_of(place, _csv_fields, header, cells, separator, marks, columns)
        else:
            header = columns.header([column.strip() for column in cells], name)
            if len(header) > 2 and len([*filter(None, header)]) == 1:
                title = f"its first line has one name alone ({shown(max(header))})"
                raise UserError(f"{name}: {title}: delete what stands above the header")


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
    separator = _separator_of("".join(first[-1:]))
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


def _separator_of(header: str) -> str:
    """What shows known names, and most names."""

    def shown_by(separator: str) -> tuple[bool, int]:
        cells = next(csv.reader([header[:LONGEST_CELL]], delimiter=separator), [])
        return bool(GENERIC & {cell.strip().casefold() for cell in cells}), len(cells)

    return max(SEPARATORS, key=shown_by)


def _csv_fields(
    header: list[str], cells: list[str], separator: str, marks: dict[str, str], columns: ColumnNames
) -> dict[str, Any]:
    if SURROGATE.search("".join(cells)):
        raise RefusedError(f"{NOT_UTF8}: {SAVE_SO}")
    if any(cells[len(header) :]) or len(cells) < len(header):
        raise RefusedError(f"{len(cells)} cells under a header of {len(header)}")
    fields = {
        name: _value(name, cell, separator, marks, columns)
        for name, cell in zip(header, cells, strict=False)
        if name != LEFT_OUT and (cell or not name.startswith(DOTTED))
    }
    return columns.parts(with_ratings(fields))


def _value(name: str, cell: str, separator: str, marks: dict[str, str], own: ColumnNames) -> Any:
    """`marks`: a cell of the table with a decimal comma, one whose dot may mark thousands, and the
    first rating of each column."""
    is_rating, number = name.startswith(DOTTED), cell
    if is_rating or name in own.numbers:
        head, given = one_line(own.theirs(name)), cell
        said = f"{head}: {shown(cell)}"
        number = cell = plain(cell)[0] if is_rating else cell
        is_rated = is_rating and not is_absent(cell)
        if is_rated and (other := another_scale(given, marks.setdefault(name, given))):
            raise RefusedError(f"{head}: {other}")
        mark = "," if _DECIMAL_COMMA.fullmatch(cell) else "." if _THOUSANDS.fullmatch(cell) else ""
        if mark and separator != ",":
            if before := marks.get("." if mark == "," else ","):
                raise RefusedError(f"{said} beside {shown(before)}: write thousands without a mark")
            marks[mark], number = cell, cell.replace(",", ".")
        elif mark == "," and is_rating:
            dotted, remedy = cell.replace(",", "."), "or separate the table by semicolons"
            if _THOUSANDS.fullmatch(dotted):
                remedy = f"or {cell.replace(',', '')} if the comma marks thousands"
            raise RefusedError(f"{said} has a comma: write {dotted}, {remedy}")
        if is_rating:
            if isinstance(value := rating(number), str) and not is_absent(value):
                raise RefusedError(f"{said} is no number")
            return value
    if not cell and name in ABSENT_WHEN_EMPTY:
        return None
    texts = list_in(cell) if name in ("source", "references", "context") else None
    if texts is not None and all(isinstance(text, str) for text in texts):
        return "\n\n".join(texts) or number if name == "source" else texts
    return number


def list_in(cell: str) -> list[Any] | None:
    """The list in a cell, as JSON or as Python prints it, if there is one. NumPy prints no commas,
    so that Python would join the texts: it is none."""
    ways = [read_json_text] + [literal_eval] * (not re.search(r"['\"]\s+['\"]", cell))
    odd = RefusedError, ValueError, TypeError, SyntaxError, RecursionError, MemoryError
    for read in ways if cell.lstrip().startswith("[") else ():
        with suppress(*odd):
            return found if isinstance(found := read(cell), list) else None
    return None


def _json_in(cell: str, *opening: str) -> Any:
    return json_or_text(cell) if cell.lstrip().startswith(opening) else cell


def rating(cell: str) -> Any:
    """A number, or a JSON list or object of numbers; rows.py refuses anything else. Python alone
    would read `1_0` as ten, and digits of any script."""
    try:
        return float(cell) if cell.isascii() and "_" not in cell else cell
    except ValueError:
        return _json_in(cell, "[", "{")


def read_parquet(
    stream: IO[bytes],
    name: str,
    wanted: Collection[str] = GENERIC,
    columns: ColumnNames = AS_THEY_ARE,
) -> Rows:
    def holds_numbers(kind: pa.DataType, is_inner: bool = False) -> bool:
        """A list alone is none: it may be a vector of thousands; but one of integers is."""
        is_named = pa.types.is_struct(kind) or pa.types.is_map(kind)
        of_list = kind.value_type if pa.types.is_list(kind) else kind
        is_named |= pa.types.is_struct(of_list) or (
            of_list != kind and pa.types.is_integer(of_list)
        )
        inner = (kind.field(place).type for place in range(kind.num_fields))
        is_number = pa.types.is_integer(kind) or pa.types.is_floating(kind)
        within = is_named or is_inner
        return is_number or (within and any(holds_numbers(each, True) for each in inner))

    number = 0
    try:
        table = pq.ParquetFile(stream, page_checksum_verification=True)
        schema = table.schema_arrow
        ours = columns.header(schema.names, name)
        read = [
            field.name
            for field, our in zip(schema, ours, strict=True)
            if our in wanted
            or our.startswith(DOTTED)
            or axis_called(our) in known_axes()
            or columns.has_part_of(field.name)
            or holds_numbers(field.type)
        ]
        names = zip(schema.names, ours, strict=True)
        unread = dict.fromkeys(n for n, our in names if n not in read and our != LEFT_OUT)
        for batch in table.iter_batches(batch_size=ROWS_AT_A_TIME, columns=read):
            for fields in batch.to_pylist(maps_as_pydicts="strict"):
                number += 1
                yield row_of(
                    f"{name}: row {number}",
                    lambda row, unread: _json_fields(row, columns) | unread,
                    fields,
                    unread,
                )
    except (pa.ArrowException, KeyError, ValueError, OverflowError) as error:
        raise UserError(f"{name}: not readable as Parquet ({first_line(error)})") from None
