"""The generic format: JSON lines, CSV and Parquet, as a file, a folder, a glob, or several.

("data/cases.jsonl", "more/*.parquet") -> Row("cases.jsonl:1", {"doc_id": …}), …
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from evaljudge.corpora.columns import AS_THEY_ARE, Columns
from evaljudge.corpora.csv_table import read_csv
from evaljudge.corpora.files import read_files
from evaljudge.corpora.jsonl import read_jsonl
from evaljudge.corpora.parquet import PARQUET, read_parquet
from evaljudge.corpora.rows import BadRow, Row

READERS: dict[str, Callable[..., Iterator[Row | BadRow]]] = {
    ".jsonl": read_jsonl,
    ".ndjson": read_jsonl,
    ".json": read_jsonl,
    ".jsonl.gz": read_jsonl,
    ".ndjson.gz": read_jsonl,
    ".json.gz": read_jsonl,
    ".csv": read_csv,
    ".csv.gz": read_csv,
    PARQUET: read_parquet,
}
"""By a file's ending; a Parquet file is packed inside."""


def read_generic(paths: tuple[str, ...], columns: Columns = AS_THEY_ARE) -> Iterator[Row | BadRow]:
    return read_files(paths, {end: partial(read, columns=columns) for end, read in READERS.items()})
