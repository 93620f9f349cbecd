"""Rows in memory (dicts, an Arrow table or a data frame) as a file, wherever a path is taken.

    file_of([{"doc_id": "d1", "source": "The river …", "system": "A", "text": "A flood."}])
    ->  CorpusFile("rows-5b0f1c2e9a31.jsonl", b'{"doc_id": "d1", …}\\n')

The file of a run's corpus is written into the run's folder: so the run can be resumed, and workers
on other machines find it. It is named after its content, so no other corpus takes its place.
"""

import io
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from evaljudge.errors import UserError, first_line
from evaljudge.settings import as_path
from evaljudge.storage import Place

FOLDER = "corpus"
LONGER = ".long.jsonl"  # the end of a file that `evaljudge init` makes of a table of another shape
_ROWS = "rows-"
A_ROW = "a dict such as {'source': 'It rained all day.', 'text': 'Rain.'}"
_INDEX = "__index_level_"  # how pyarrow names the column of an index that has no name


@dataclass(frozen=True)
class CorpusFile:
    name: str
    content: bytes
    argument: str

    def __str__(self) -> str:
        return self.argument

    def path_in(self, out: str) -> str:
        return f"{out.rstrip('/')}/{FOLDER}/{self.name}"

    def write(self, out: str) -> None:
        Place(out).write(f"{FOLDER}/{self.name}", self.content)


Input = str | CorpusFile


def kind_in_memory(path: Input) -> str:
    """What rows were in memory as, of which this is the file; empty where it is another file."""
    if isinstance(path, str) and not re.search(rf"/{FOLDER}/{_ROWS}[0-9a-f]{{12}}\.\w+$", path):
        return ""
    name = path if isinstance(path, str) else path.name
    return "frame" if name.endswith(".parquet") else "list"


def as_inputs(value: Any, argument: str) -> tuple[Input, ...]:
    """What an argument names: a path, rows in memory, or several of these."""
    is_one = is_in_memory(value) or not isinstance(value, list | tuple)
    return tuple(
        file_of(one, argument) if is_in_memory(one) else as_path(one, argument)
        for one in ([value] if is_one else value)
    )


def is_in_memory(value: Any) -> bool:
    """Whether it is rows itself, and neither a path, nor paths, nor settings of a corpus."""
    if _is_table(value):
        return True
    if isinstance(value, Sequence):
        return any(isinstance(row, Mapping) for row in value)
    return isinstance(value, Iterable) and not isinstance(value, Mapping)


def file_of(rows: Any, argument: str = "corpus") -> CorpusFile:
    write, ending = (_as_parquet, ".parquet") if _is_table(rows) else (_as_jsonl, ".jsonl")
    content = write(rows, argument)
    name = f"{_ROWS}{blake2b(content, digest_size=6).hexdigest()}{ending}"
    return CorpusFile(name, content, argument)


def _is_table(value: Any) -> bool:
    """A single column (a Series of pandas) is none."""
    if getattr(value, "ndim", 2) != 2:
        return False
    return any(hasattr(value, name) for name in ("__arrow_c_stream__", "to_arrow", "iloc"))


def _as_jsonl(rows: Iterable[Any], argument: str) -> bytes:
    lines = (f"{_line(f'{argument}: row {n}', row)}\n" for n, row in enumerate(rows, 1))
    # a lone surrogate becomes `\udc80`, which is its form in JSON
    return "".join(lines).encode("utf-8", "backslashreplace")


def _line(place: str, row: Any) -> str:
    """A cell that is empty in a data frame is NaN in its rows."""
    if not isinstance(row, Mapping):
        raise UserError(f"{place} is {type(row).__name__}: each row is {A_ROW}")
    is_nan = {name for name, cell in row.items() if isinstance(cell, float) and cell != cell}
    cells = {str(name): None if name in is_nan else cell for name, cell in row.items()}
    try:
        return json.dumps(cells, default=_plain, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError) as error:
        message = f"{place} cannot be written as JSON ({first_line(error)})"
        raise UserError(f"{message}: give texts, numbers, lists or dicts") from None


def _plain(value: Any) -> Any:
    """Numbers and arrays of NumPy and the like say what they are in Python's own."""
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"it holds {type(value).__name__}")


def _as_parquet(table: Any, argument: str) -> bytes:
    stream = io.BytesIO()
    try:
        pq.write_table(_as_arrow(table), stream)
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise UserError(
            f"{argument}: this {type(table).__name__} cannot be written as Parquet "
            f"({first_line(error)}): leave that column out, or give rows as a list of dicts"
        ) from None
    return stream.getvalue()


def _pairs_as_json(cell: Any) -> Any:
    is_pairs = isinstance(cell, list) and all(isinstance(pair, tuple) for pair in cell)
    return json.dumps(dict(cell), default=float) if is_pairs else cell


def _as_arrow(table: Any) -> pa.Table:
    if hasattr(table, "iloc") and "ratings" in table:  # the pairs that pandas makes of Arrow's map
        table = table.assign(ratings=table["ratings"].map(_pairs_as_json))
    has_arrow = hasattr(table, "iloc") or hasattr(table, "__arrow_c_stream__")
    converted = pa.table(table) if has_arrow else table.to_arrow()
    unnamed = [name for name in converted.column_names if name.startswith(_INDEX)]
    return converted.drop_columns(unnamed).replace_schema_metadata(None)
