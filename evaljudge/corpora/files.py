"""Reads the files that a path names, each with the reader for its ending; and scores in such files.

    read_files(("data/cases.jsonl", "more/*.csv"), {".jsonl": read_jsonl, ".csv": read_csv})
    -> Row("cases.jsonl:1", {"doc_id": …}), …

{"doc_id": "d1", "system": "A", "scorer": "unieval", "axis": "coherence", "value": 0.91}
{"doc_id": "d1", "system": "A", "scorer": "unieval", "scores": {"coherence": 0.91}}
{"doc_id": "d1", "system": "A", "scores": {"rouge1": 0.31, "METEOR": 0.22}}     scorers without axes
{"doc_id": "d1", "system": "A", "unieval.coherence": 0.91, "rouge1": 0.31, "human.coherence": 4}
"""

import gzip
import io
import zlib
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from math import isfinite
from typing import IO, Any, Literal

from evaljudge.corpora.columns import (
    AS_THEY_ARE,
    ColumnNames,
    field_called,
    is_numbering,
    known_axes,
)
from evaljudge.corpora.memory import Input, kind_in_memory
from evaljudge.corpora.readers import PARQUET, rating, read_csv, read_json, read_jsonl, read_parquet
from evaljudge.corpora.rows import (
    DOTTED,
    IN_EXCEL,
    KNOWN_FIELDS,
    KnownFormat,
    Reader,
    Row,
    Rows,
    accepted,
    is_absent,
    is_number,
    json_or_text,
    keys_of,
    name_in,
    refuse_other_forms,
)
from evaljudge.errors import UserError, first_line
from evaljudge.records import ANY_AXIS, HUMAN
from evaljudge.storage import RUN, expand, is_a_file, open_to_read

Readers = Mapping[str, Reader]
"""The keys are file endings, which tell whether a file is compressed; Parquet compresses inside."""
GENERIC_READERS: Mapping[str, Callable[..., Rows]] = {
    **dict.fromkeys((".jsonl", ".ndjson", ".jsonl.gz", ".ndjson.gz"), read_jsonl),
    **dict.fromkeys((".json", ".json.gz"), read_json),
    **dict.fromkeys((".csv", ".csv.gz", ".tsv", ".tsv.gz"), read_csv),
    PARQUET: read_parquet,
}
Part = Literal["cases", "scores"]
BUFFER = 1 << 20


def read_generic(
    inputs: Sequence[Input], columns: ColumnNames = AS_THEY_ARE, part: Part = "cases"
) -> Rows:
    """`part`: what is read of a run's folder."""
    readers = {end: partial(read, columns=columns) for end, read in GENERIC_READERS.items()}
    return read_files(inputs, readers, part)


def read_files(inputs: Sequence[Input], readers: Readers, part: Part = "cases") -> Rows:
    files = dict(pair for one in inputs for pair in _files(one, readers, part))
    shared = Counter(map(_base, files))
    for file, reader in files.items():
        rows = _rows(file, _base(file) if shared[_base(file)] == 1 else str(file), reader)
        if kind := kind_in_memory(file):
            of = f"the {kind}" if isinstance(file, str) else str(file)
            rows = (row._replace(place=f"row {n} of {of}") for n, row in enumerate(rows, 1))
        yield from rows


def run_in(path: Input) -> str | None:
    """The folder, with a slash at its end, if a run is there."""
    files = expand(path) if isinstance(path, str) else []
    return next((f.removesuffix(RUN) for f in files if f.endswith(f"/{RUN}")), None)


def rows_of(file: str, see: Callable[[bytes], None] = lambda line: None) -> Iterator[Row]:
    """The rows of one file of JSON lines that a user gives in addition to the corpus. `see` is
    called with every line. The first bad row is the user's mistake."""
    try:
        with open_to_read(file) as stream, io.BufferedReader(stream, BUFFER) as lines:  # type: ignore[type-var]
            refuse_other_forms(file, lines.peek(4))
            yield from map(accepted, read_jsonl(_seen(lines, see), file))
    except OSError as error:
        raise UserError(f"{file}: cannot be read ({first_line(error)})") from None


def _seen(lines: Iterable[bytes], see: Callable[[bytes], None]) -> Iterator[bytes]:
    for line in lines:
        see(line)
        yield line


def _files(path: Input, readers: Readers, part: Part) -> list[tuple[Input, Reader]]:
    matches: list[Input] = [path]
    if isinstance(path, str):
        run = run_in(path)
        matches = [*expand(f"{run}{part}" if run else path)]
    readable = [
        (file, readers[ending])
        for file in matches
        if (ending := next(filter(_name(file).lower().endswith, readers), None))
    ]
    if readable:
        return readable
    endings = ", ".join(readers)
    if matches == [path]:
        if _name(path).endswith((".yaml", ".yml")):
            raise is_a_file(str(path))
        is_sheet = _name(path).lower().endswith((".xls", ".xlsx", ".ods"))
        advice = f": save it as CSV ({IN_EXCEL})" if is_sheet else ""
        raise UserError(f"{path}: unknown ending; the known are {endings}{advice}")
    raise UserError(f"{path}: no run lies here, and no file ends in one of {endings}")


def _rows(file: Input, name: str, reader: Reader) -> Rows:
    try:
        opened = open_to_read(file) if isinstance(file, str) else io.BytesIO(file.content)
        with opened as stream, _unpacked(stream, _name(file)) as content:
            if isinstance(content, io.BufferedReader | gzip.GzipFile):
                if content.peek(2).startswith((BOM_UTF16_LE, BOM_UTF16_BE)):  # Excel's "Unicode"
                    as_utf8 = content.read().decode("utf-16").encode()
                    content = io.BufferedReader(io.BytesIO(as_utf8))
                refuse_other_forms(name, content.peek(4))
            yield from reader(content, name)
    except (OSError, EOFError, zlib.error, UnicodeError) as error:
        raise UserError(f"{file}: cannot be read ({first_line(error)})") from None


def _unpacked(stream: IO[bytes], file: str) -> IO[bytes]:
    if file.lower().endswith(PARQUET):
        return stream  # its reader seeks, and buffers by itself
    buffered = io.BufferedReader(stream, BUFFER)  # type: ignore[type-var]
    packed = file.lower().endswith(".gz")
    return gzip.GzipFile(fileobj=buffered) if packed else buffered  # type: ignore[return-value]


def _name(file: Input) -> str:
    return file if isinstance(file, str) else file.name


def _base(file: Input) -> str:
    return str(file).rpartition("/")[2]


FORMATS = {
    "generic": KnownFormat(
        read_generic,
        "A row for each document with its candidates, or a row for each candidate.",
        "JSON lines, CSV or Parquet with doc_id, source, system and text (`columns` renames)",
    )
}


_NEEDED = 'needs `scorer` and `value`, `scores`, such as {"bleu": 0.3}, or columns of numbers'
Given = dict[tuple[str, str], dict[tuple[str, str], float | None]]
"""The value of each (doc_id, system), by (scorer, axis)."""
Reasons = dict[tuple[str, str], dict[tuple[str, str], str]]
"""Why there is no value, as far as known, with the same keys."""
BY_AGREEMENT = " | weighted by agreement "
TO_PEOPLE = " | fitted to people "
SHOWN = " | shown people's ratings"
"""In the signatures of scores that rest on people's ratings: a combination's, a judge's."""


def read_all_given(
    inputs: Iterable[Input], columns: Mapping[str, str]
) -> tuple[Given, Reasons, set[str]]:
    """Read scores in JSONL, Parquet or CSV, in runs' folders or in memory, what the rows say about
    missing values, and which scorers were fitted to ratings. `columns`: those of the cases."""
    scores: Given = {}
    reasons: Reasons = {}
    fitted = set[str]()
    for path in inputs:
        before = set(scores)
        for row in _long(path, columns):
            at = (name_in(row, "doc_id"), name_in(row, "system"))
            for key, value in _values(row):
                if key[0] == HUMAN:
                    raise UserError(f"{row.place}: scorer {HUMAN!r}: people go by it; give another")
                if key in before:
                    raise UserError(f"{path}: scorer {key[0]!r} is in another --scores file, too")
                signature = f"{row.fields.get('signature')}"
                if any(mark in signature for mark in (BY_AGREEMENT, TO_PEOPLE, SHOWN)):
                    fitted.add(key[0])
                column = scores.setdefault(key, {})
                if at in column:
                    raise UserError(f"{row.place}: a second score of {at[1]!r} for {at[0]!r}")
                column[at] = value
                reason = row.fields.get("reason")
                if value is None and isinstance(reason, str) and reason:
                    reasons.setdefault(key, {})[at] = reason
        if scores.keys() == before:
            raise UserError(f"{path}: holds no score")
    for scorer, axis in scores:
        if axis != ANY_AXIS and (scorer, ANY_AXIS) in scores:
            raise UserError(
                f"scorer {scorer!r} has scores of axis {axis!r} and scores without an axis: "
                "it is unclear which belongs to which; give one of them another name"
            )
    return scores, reasons, fitted


def _long(path: Input, columns: Mapping[str, str]) -> Iterator[Row]:
    """Rows with one value or an object of `scores`. A table with a column for each score is read as
    a whole: such a column is one of which most cells are numbers, and is no rating."""
    rows = map(accepted, read_generic((path,), part="scores"))
    own = {name: field_called(name) for name in next(iter(rows), Row("", {})).fields}
    ids = dict[str, str]()
    for name, to in [(n, to) for n, to in columns.items() if n in own] + [*own.items()]:
        if to in {"doc_id", "system"} - own.keys() - {*ids.values()}:
            ids[name] = to
    rows = map(accepted, read_generic((path,), ColumnNames(ids, numbers=own), "scores"))
    if not own or own.keys() & {"scorer", "value", "scores"}:
        yield from rows
        return
    cells = dict[str, list[bool]]()  # whether each is a number
    for row in rows:
        for name, cell in row.fields.items():
            if name not in {*KNOWN_FIELDS, *columns, *ids} and not is_numbering(name):
                is_one = is_number(rating(str(cell)))
                cells.setdefault(name, []).extend([] if is_absent(cell) else [is_one])
    of_people = (DOTTED, f"{HUMAN}.")
    rated = [name for name in (*cells, *columns.values()) if name.startswith(of_people)]
    axes = {*known_axes(), *(name.partition(".")[2] for name in rated)}
    names = [n for n, are in cells.items() if n not in rated and 2 * sum(are) > len(are)]
    for row in map(accepted, read_generic((path,), ColumnNames(ids, numbers=names), "scores")):
        at = {field: name_in(row, field) for field in ("doc_id", "system")}
        if not names:
            raise UserError(f"{row.place}: {_NEEDED}; {keys_of(row.fields)}")
        for name in names:
            scorer, _, axis = name.rpartition(".")
            of = (scorer, axis) if scorer and axis in axes else (name, ANY_AXIS)
            value = row.fields.get(name)
            yield Row(row.place, {**at, "scorer": of[0], "axis": of[1], "value": value})


def _values(row: Row) -> Iterator[tuple[tuple[str, str], float | None]]:
    scores = row.fields.get("scores")
    if isinstance(scores, str):
        scores = json_or_text(scores)
    if isinstance(scores, Mapping):
        scorer = row.fields.get("scorer")
        for name, value in scores.items():
            key = (str(name), ANY_AXIS) if scorer is None else (name_in(row, "scorer"), str(name))
            yield key, _number(row, value)
    elif "value" in row.fields:
        axis = str(row.fields.get("axis") or ANY_AXIS)
        yield (name_in(row, "scorer"), axis), _number(row, row.fields["value"])
    else:
        raise UserError(f"{row.place}: {_NEEDED}; {keys_of(row.fields)}")


def _number(row: Row, value: Any) -> float | None:
    if is_absent(value):
        return None
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise UserError(f"{row.place}: {value!r} is not a number") from None
    return number if isfinite(number) else None
