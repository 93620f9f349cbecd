"""Records as Parquet tables and back. The columns are a contract: they may grow, not change."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict
from functools import cache, partial
from math import isnan, nan
from typing import TYPE_CHECKING, Any, TypeVar

from evaljudge.records import Brief, Candidate, Case, Document, Score, Tokens, Verdict

if TYPE_CHECKING:
    import pyarrow as pa

R = TypeVar("R", Case, Brief, Verdict, Score)
AS_JSON = ("content", "evidence")
"""Columns that hold a mapping as JSON."""


@cache
def _schemas() -> dict[type, pa.Schema]:
    import pyarrow as pa

    text, number = pa.string(), pa.float64()
    ratings = [("ratings", pa.map_(text, number)), ("raters", pa.map_(text, pa.list_(number)))]
    others = {
        "references": pa.list_(text),
        "candidates": pa.list_(pa.struct([("system", text), ("text", text), *ratings])),
        "tokens": pa.struct([(name, pa.int64()) for name in asdict(Tokens())]),
        "value": number,
    }
    columns = {
        Case: "doc_id source references context candidates",
        Brief: "doc_id key judge axis part content status reason signature tokens",
        Verdict: "doc_id system judge axis evidence status reason tokens",
        Score: "doc_id system scorer axis value status reason signature",
    }
    return {
        kind: pa.schema([(name, others.get(name, text)) for name in names.split()])
        for kind, names in columns.items()
    }


def to_table(kind: type[R], records: Iterable[R]) -> pa.Table:
    import pyarrow as pa

    rows = [_case_row(r) if isinstance(r, Case) else _row(r) for r in records]
    return pa.Table.from_pylist(rows, schema=_schemas()[kind])


def from_table(kind: type[R], table: pa.Table) -> Iterator[R]:
    read: Callable[[dict[str, Any]], Any] = _case if kind is Case else partial(_record, kind)
    return map(read, table.to_pylist())


def _row(record: Brief | Verdict | Score) -> dict[str, Any]:
    row = {name: getattr(record, name) for name in record.__slots__}
    if isinstance(record, Score):
        return row | {"status": record.status}
    mappings = {name: json.dumps(row[name], ensure_ascii=False) for name in AS_JSON if name in row}
    return row | mappings | {"tokens": asdict(record.tokens)}


def _record(kind: type[Any], row: dict[str, Any]) -> Any:
    if kind is Score:
        del row["status"]
        return kind(**row)
    mappings = {name: json.loads(row[name]) for name in AS_JSON if name in row}
    return kind(**row | mappings | {"tokens": Tokens(**row["tokens"])})


def _case_row(case: Case) -> dict[str, Any]:
    document = case.document
    return {
        "doc_id": document.doc_id,
        "source": document.source,
        "references": list(document.references),
        "context": document.context,
        "candidates": [
            {
                "system": c.system,
                "text": c.text,
                "ratings": list(c.ratings.items()),
                "raters": [
                    (axis, [None if isnan(number) else number for number in numbers])
                    for axis, numbers in c.raters.items()
                ],
            }
            for c in case.candidates
        ],
    }


def _case(row: Mapping[str, Any]) -> Case:
    references = tuple(row["references"] or ())
    document = Document(row["doc_id"], row["source"], references, row["context"])
    return Case(document, tuple(map(_candidate, row["candidates"])))


def _candidate(columns: Mapping[str, Any]) -> Candidate:
    """Older runs have no column of raters; null is an absent rating.

    It becomes the object `math.nan` itself, so that equal cases are equal.
    """
    raters = {
        axis: tuple(nan if number is None else number for number in numbers)
        for axis, numbers in columns.get("raters") or ()
    }
    return Candidate(columns["system"], columns["text"], dict(columns["ratings"] or ()), raters)
