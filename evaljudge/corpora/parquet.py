"""Rows of Parquet, a batch at a time: only columns that mean something are read, others are None.

doc_id: string, source: string, references: list<string>,
candidates: list<struct<system: string, text: string, ratings: struct<coherence: double>>>

`ratings` may as well be a map, a JSON string, or columns `ratings.coherence`; a rating may be a
list of doubles, one a rater.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import IO, TYPE_CHECKING, Any

from evaljudge.corpora.rows import (
    DOTTED,
    KNOWN_FIELDS,
    NOT_UTF8,
    SCORE_FIELDS,
    BadRow,
    Row,
    all_ratings,
    first_line,
    ratings_in,
)
from evaljudge.errors import UserError

if TYPE_CHECKING:
    import pyarrow as pa

PARQUET = ".parquet"
GENERIC = frozenset(KNOWN_FIELDS + SCORE_FIELDS)
ROWS_AT_A_TIME = 256
"""Few, because a row may hold an article with all its candidates."""


def read_parquet(
    stream: IO[bytes], name: str, wanted: Collection[str] = GENERIC
) -> Iterator[Row | BadRow]:
    number = 0
    for batch, unread in _batches(stream, name, wanted):
        for fields in _unpacked(batch):
            number += 1
            place = f"{name}: row {number}"
            if isinstance(fields, str):
                yield BadRow(place, fields)
            else:
                yield Row(place, _row(fields) | unread)


def _batches(
    stream: IO[bytes], name: str, wanted: Collection[str]
) -> Iterator[tuple[pa.RecordBatch, dict[str, None]]]:
    """Each batch, beside the names of the columns left unread."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = pq.ParquetFile(stream)
        names = table.schema_arrow.names
        columns = [c for c in names if c in wanted or _is_dotted(c)]
        unread = dict.fromkeys(c for c in names if c not in columns)
        for batch in table.iter_batches(batch_size=ROWS_AT_A_TIME, columns=columns):
            yield batch, unread
    except (pa.ArrowException, UnicodeDecodeError) as error:
        raise UserError(f"{name}: not readable as Parquet ({first_line(error)})") from None


def _is_dotted(column: str) -> bool:
    return column.startswith(DOTTED)


def _unpacked(batch: pa.RecordBatch) -> list[dict[str, Any] | str]:
    try:
        rows: list[dict[str, Any] | str] = batch.to_pylist(maps_as_pydicts="strict")
    except (UnicodeDecodeError, KeyError) as error:
        if batch.num_rows > 1:  # one bad row must not take its neighbours along
            return [row for n in range(batch.num_rows) for row in _unpacked(batch.slice(n, 1))]
        return [NOT_UTF8 if isinstance(error, UnicodeDecodeError) else "a map with one key twice"]
    return rows


def _row(columns: dict[str, Any]) -> dict[str, Any]:
    dotted = {c.removeprefix(DOTTED): v for c, v in columns.items() if _is_dotted(c)}
    fields = _with_ratings(columns, dotted)
    if isinstance(fields.get("candidates"), list):
        fields["candidates"] = [
            _with_ratings(c, {}) if isinstance(c, dict) else c for c in fields["candidates"]
        ]
    return fields


def _with_ratings(fields: dict[str, Any], dotted: dict[str, Any]) -> dict[str, Any]:
    ratings = fields.get("ratings")
    held = ratings_in(ratings) if isinstance(ratings, str) else ratings
    return {**fields, **all_ratings(held, dotted)}
