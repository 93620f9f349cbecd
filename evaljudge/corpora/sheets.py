"""Sheets that people fill in with ratings: CSV or JSON lines, written for them and read again.

    label,source,text,fluency,relevance,rater
    bkqvzt,The river …,'- A flood came.,,,

What spreadsheets change and take for formulas is in docs/decisions.md. Label Studio's files are
tasks, the interface in which people rate them, and its export as JSON:

[{"data": {"label": "bkqvzt", "source": "The river …", "text": "A flood …"}}]          tasks
<View>… <Rating name="fluency" toName="text" maxRating="5"/> …</View>                  interface
[{"id": 1, "data": {"label": "bkqvzt", …}, "annotations": [{"completed_by": 7, "result": [
    {"from_name": "fluency", "value": {"rating": 4}},
    {"from_name": "note", "value": {"text": ["Too long."]}}]}]}]                       exported
"""

import csv
import io
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import zip_longest
from pathlib import PurePath
from typing import Any
from xml.sax.saxutils import quoteattr

from evaljudge.corpora.columns import AS_THEY_ARE, field_called, named
from evaljudge.corpora.files import read_generic
from evaljudge.corpora.readers import csv_records, read_jsonl
from evaljudge.corpora.rows import (
    DOTTED,
    LABEL,
    RATER,
    Row,
    accepted,
    is_number,
    kind,
    refuse_other_forms,
)
from evaljudge.errors import UserError, first_line
from evaljudge.storage import open_to_read
from evaljudge.text import one_line, shown

HIGHEST = 5


def interface(columns: Sequence[str], axes: Sequence[str]) -> str:
    """Its XML; `columns`: of the sheet, of which the texts are shown."""
    shown = columns[: columns.index("text") + 1]
    lines = [f'<Text name="{part}" value="${part}"/>' for part in shown]
    lines += [
        f'<Rating name={a} toName="text" maxRating="{HIGHEST}"/>' for a in map(quoteattr, axes)
    ]
    lines += ['<TextArea name="note" toName="text"/>']
    heads = [f"<Header value={quoteattr(name)}/>" for name in (*shown, *axes, "note")]
    parts = (f"  {head}\n  {line}\n" for head, line in zip(heads, lines, strict=True))
    return f"<View>\n{''.join(parts)}</View>\n"


def _studio_rows(file: str) -> Iterator[Row]:
    try:
        for number, task in enumerate(json.loads(_content(file)), start=1):
            for annotation in task["annotations"]:
                if not annotation.get("was_cancelled"):
                    by = annotation.get("completed_by", "")
                    rater = str(by.get("email", by.get("id")) if isinstance(by, dict) else by)
                    values = {one["from_name"]: one["value"] for one in annotation["result"]}
                    given = {name: _plain(value) for name, value in values.items()}
                    fields = task["data"] | given | {RATER: rater}
                    yield Row(f"{file}: task {task.get('id', number)}", fields)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        reason = f"{type(error).__name__} {error}"
        raise UserError(
            f"{file}: no export of Label Studio as JSON, with `data` and `annotations` ({reason})"
        ) from None


def _plain(value: Mapping[str, Any]) -> Any:
    """A rating, the one choice, or the lines of a note."""
    plain = next(iter(value.values()))
    return " ".join(map(str, plain)) if isinstance(plain, list) else plain


CSV, JSONL, JSON = ".csv", ".jsonl", ".json"
LARGEST = 1e300
LARGEST_CELL = 32_000
FORMULAS = tuple("=+-@\t\r\n＝＋－＠'")
"""Beginnings of cells, some of them full-width, that an apostrophe is put before."""
_NUMBER = re.compile(r"[+-]?\d+(\.\d*|,\d{1,2})?", re.ASCII)
Fields = Mapping[str, Any]


def ending_of(file: str) -> str:
    for ending in (CSV, JSONL, JSON):
        if file.lower().endswith(ending):
            return ending
    raise UserError(
        f"{file}: unknown ending; a sheet ends in {CSV} or {JSONL}, Label Studio's in {JSON}"
    )


def sheet(columns: Sequence[str], rows: Iterable[Fields], ending: str) -> bytes:
    if ending == JSONL:
        lines = [json.dumps({c: row.get(c) for c in columns}, ensure_ascii=False) for row in rows]
        return "".join(f"{line}\n" for line in lines).encode()
    if ending == JSON:
        tasks = [{"data": {c: v for c, v in row.items() if v is not None}} for row in rows]
        return json.dumps(tasks, ensure_ascii=False, indent=1).encode()
    return csv_of([columns, *([harmless_cell(row.get(c) or "") for c in columns] for row in rows)])


def csv_of(rows: Iterable[Sequence[Any]], separator: str = ",") -> bytes:
    written = io.StringIO()
    csv.writer(written, delimiter=separator).writerows(rows)
    return written.getvalue().encode("utf-8-sig", "surrogateescape")  # marked as UTF-8


def harmless_cell(text: str) -> str:
    return f"'{text}" if text.startswith(FORMULAS) else text


def spreadsheet(columns: Sequence[str], rows: Iterable[Fields]) -> bytes:
    """A table to look at, in CSV: each text is one line, and no longer than a cell may be."""
    cells = ([_shown_cell(row.get(c)) for c in columns] for row in rows)
    return csv_of([list(map(_shown_cell, columns)), *cells])


def _shown_cell(value: Any) -> Any:
    """Where semicolons separate cells, what follows one would begin a cell."""
    if not isinstance(value, str):
        return value
    return harmless_cell(re.sub(r";(?=\S)", "; ", one_line(value, LARGEST_CELL)))


def read_sheet(file: str) -> Iterator[Row]:
    """The sheet's rows; a CSV's cells are texts, and missing cells are empty."""
    read = {CSV: _csv_rows, JSON: _studio_rows}.get(PurePath(file).suffix.lower())
    return map(_dotted, read(file) if read else map(accepted, read_generic((file,))))


def jsonl_rows(content: bytes, file: str) -> Iterator[Row]:
    return (_dotted(accepted(row)) for row in read_jsonl(io.BytesIO(content), file))


def _dotted(row: Row) -> Row:
    """A row of the generic form, whose ratings get columns of their own, and its ids our names."""
    fields = dict(row.fields)
    for ours in ("doc_id", "system", RATER):
        theirs = [] if ours in fields else [n for n in fields if field_called(n) == ours]
        ids = [name for name in theirs if re.fullmatch("(doc.*)?id", name, re.IGNORECASE)]
        if len(theirs := ids if len(ids) == 1 else theirs) == 1:
            fields[ours] = fields.pop(theirs[0])
        elif theirs and not fields.get(LABEL):
            raise UserError(f"{row.place}: {named(theirs)}: call the one that is `{ours}` so")
    if isinstance(fields.get("ratings"), Mapping):
        ratings = fields.pop("ratings").items()
        fields |= {f"{DOTTED}{axis}": rating for axis, rating in ratings}
    return Row(row.place, fields)


def rating_in(row: Row, column: str) -> float | None:
    value = row.fields.get(column)
    if isinstance(value, str):
        value = value.strip()
        if _NUMBER.fullmatch(value):
            value = float(value.replace(",", "."))
    if value is None or value == "":
        return None
    if not is_number(value) or not -LARGEST < value < LARGEST:
        written = shown(value) if isinstance(value, str) else kind(value)
        remedy = "write a number (4 or 4.5), or leave it empty"
        if isinstance(value, Mapping | list):
            remedy = f"give each rater a row, with a name in `{RATER}`"
        raise UserError(f"{row.place}: {column} is {written}: {remedy}")
    return float(value) + 0.0


def _content(file: str) -> bytes:
    try:
        with open_to_read(file) as stream:
            return stream.read()
    except OSError as error:
        raise UserError(f"{file}: cannot be read ({first_line(error)})") from None


def _csv_rows(file: str) -> Iterator[Row]:
    content = _content(file)
    refuse_other_forms(file, content)
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:  # as Windows' spreadsheets write CSV in the west
        text = content.decode("cp1252", "replace")
    records = csv_records(io.StringIO(text, newline=""), file)[1]
    first = [cell.strip() for cell in next(records, ("", []))[1]]
    header = AS_THEY_ARE.header(first, file)
    if not {LABEL, "doc_id"} & {*header, *map(field_called, header)}:
        missing = f"its header names neither `{LABEL}` nor `doc_id`, which the corpus needs, too"
        raise UserError(f"{file}: {missing}")
    for place, cells in records:
        if isinstance(cells, str):
            raise UserError(f"{place}: {cells}")
        if any(cell.strip() for cell in cells[len(header) :]):
            raise UserError(f"{place}: {len(cells)} cells under a header of {len(header)}")
        yield Row(place, dict(zip_longest(header, cells[: len(header)], fillvalue="")))
