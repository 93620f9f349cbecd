"""Records as Parquet tables and back. The columns are a contract: they may grow, not change."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from math import isnan, nan
from operator import attrgetter
from typing import Any, TypeVar, cast

import pyarrow as pa
from pydantic_core import from_json

from evaljudge.records import Brief, Candidate, Case, Document, Score, Tokens, Verdict

R = TypeVar("R", Case, Brief, Verdict, Score)
AS_JSON = ("content", "evidence")  # columns that hold a mapping as JSON
BUT_TOKENS: list[str] = [name for name in Verdict.__match_args__ if name != "tokens"]
"""A verdict's columns without the last, which says what it cost."""
_encoded = json.JSONEncoder(ensure_ascii=False).encode


@cache
def _schemas() -> dict[type, pa.Schema]:
    text, number = pa.string(), pa.float64()
    ratings = [("ratings", pa.map_(text, number)), ("raters", pa.map_(text, pa.list_(number)))]
    others = {
        "references": pa.list_(text),
        "candidates": pa.list_(pa.struct([("system", text), ("text", text), *ratings])),
        "tokens": pa.struct([(name, pa.int64()) for name in Tokens.__slots__]),
        "value": number,
        "doubt": number,
    }
    columns = {
        Case: "doc_id source references context candidates",
        Brief: "doc_id key judge axis part content status reason signature tokens",
        Verdict: "doc_id system judge axis evidence status reason tokens",
        Score: "doc_id system scorer axis value status reason signature doubt",
    }
    return {
        kind: pa.schema([(name, others.get(name, text)) for name in names.split()])
        for kind, names in columns.items()
    }


def schema_of(kind: type[R]) -> pa.Schema:
    return _schemas()[kind]


def to_table(kind: type[R], records: Iterable[R]) -> pa.Table:
    if kind is Case:
        rows = list(map(_case_row, cast("Any", records)))
        return pa.Table.from_pylist(rows, schema=schema_of(kind))
    return _table(kind, list(records))


def score_tables(
    scores: Sequence[Sequence[Score]], signatures: Mapping[str, str]
) -> list[pa.Table]:
    """The scores with these signatures by scorer; others keep theirs. The ends of intervals are
    columns where any score has one."""
    have_ends = any(score.low is not None for some in scores for score in some)
    made = []
    for some in scores:
        signed = [signatures.get(score.scorer, score.signature) for score in some]
        table = _table(Score, some, signature=signed)
        for name in ("low", "high") if have_ends else ():
            table = table.append_column(name, pa.array(map(attrgetter(name), some), pa.float64()))
        made.append(table)
    return made


def _table(kind: type[R], records: Sequence[R], **given_columns: list[Any]) -> pa.Table:
    """`given_columns`: columns in place of the records' own."""
    schema = schema_of(kind)
    columns = {
        name: given_columns.get(name) or _written(name, list(map(attrgetter(name), records)))
        for name in schema.names
    }
    return pa.Table.from_pydict(columns, schema=schema)


def from_table(kind: type[R], table: pa.Table) -> Iterator[R]:
    if kind is Case:
        return map(_case, table.to_pylist())  # type: ignore[arg-type]
    names = (name for name in kind.__match_args__ if name in table.column_names)
    return map(kind, *(_read(name, table[name].to_pylist()) for name in names))


def as_stored(verdicts: Iterable[Verdict]) -> list[Verdict]:
    """The verdicts as they will be read again, without `tokens`."""
    table = _table(Verdict, list(verdicts))
    return list(from_table(Verdict, table.select(BUT_TOKENS)))


def _written(name: str, values: list[Any]) -> list[Any]:
    if name in AS_JSON:
        return list(map(_encoded, values))
    if name == "tokens":
        return [dict(zip(Tokens.__slots__, value.counts, strict=True)) for value in values]
    return values


def _read(name: str, values: list[Any]) -> list[Any]:
    if name in AS_JSON:
        parsed: list[Any] = from_json(f"[{','.join(values)}]")  # faster than one by one
        return parsed
    return [Tokens(*value.values()) for value in values] if name == "tokens" else values


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
    references = tuple(row["references"])
    document = Document(row["doc_id"], row["source"], references, row["context"])
    return Case(document, tuple(map(_candidate, row["candidates"])))


def _candidate(columns: Mapping[str, Any]) -> Candidate:
    """Null, an absent rating, becomes the object `math.nan`, so that equal cases are equal."""
    listed = columns["raters"]
    raters = {axis: tuple(nan if n is None else n for n in numbers) for axis, numbers in listed}
    return Candidate(columns["system"], columns["text"], dict(columns["ratings"]), raters)
