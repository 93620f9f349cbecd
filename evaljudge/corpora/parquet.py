"""Rows of Parquet, a batch at a time; only columns that mean something here are read.

doc_id: string, source: string, references: list<string>,
candidates: list<struct<system: string, text: string, ratings: struct<coherence: double>>>

`ratings` may as well be a map, a JSON string, or columns `ratings.coherence`; a rating may be a
list of doubles, one a rater.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from itertools import islice
from typing import IO, TYPE_CHECKING, Any

from evaljudge.corpora.columns import AS_THEY_ARE, ColumnNames
from evaljudge.corpora.rows import (
    DOTTED,
    KNOWN_FIELDS,
    NOT_UTF8,
    SCORE_FIELDS,
    BadRow,
    Rows,
    in_candidates,
    ratings_in,
    row_of,
    undotted,
)
from evaljudge.errors import UserError, first_line

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

PARQUET = ".parquet"
GENERIC = frozenset(KNOWN_FIELDS + SCORE_FIELDS)
ROWS_AT_A_TIME = 256
"""Few, because a row may hold an article with all its candidates."""


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
        table = pq.ParquetFile(stream)
        schema = table.schema_arrow
        ours = dict(zip(schema.names, columns.header(schema.names, name), strict=True))
        read = [c for c in schema.names if ours[c] in wanted or ours[c].startswith(DOTTED)]
        unread = _examples(table, [c for c in schema.names if c not in read])
        for batch in table.iter_batches(batch_size=ROWS_AT_A_TIME, columns=read):
            yield batch, unread
    except (pa.ArrowException, UnicodeDecodeError) as error:
        raise UserError(f"{name}: not readable as Parquet ({first_line(error)})") from None


def _examples(table: pq.ParquetFile, columns: Collection[str]) -> dict[str, Any]:
    """The first value of each column that may hold ratings; None for other columns."""
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
    except (UnicodeDecodeError, KeyError) as error:
        if batch.num_rows > 1:  # one bad row must not take its neighbours along
            return [row for n in range(batch.num_rows) for row in _unpacked(batch.slice(n, 1))]
        return [NOT_UTF8 if isinstance(error, UnicodeDecodeError) else "a map with one key twice"]
    return rows


def _with_ratings(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Ratings in a JSON string become the object that it holds, in candidates too."""
    ratings = fields.get("ratings")
    held = {"ratings": ratings_in(ratings)} if isinstance(ratings, str) else {}
    return in_candidates({**fields, **held}, _with_ratings)
