"""Records as Parquet tables and back. The columns are a contract: they may grow, not change."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from functools import cache
from math import isnan, nan
from typing import TYPE_CHECKING, Any

from evaljudge.records import Brief, Candidate, Case, Document, Score, Tokens, Verdict

if TYPE_CHECKING:
    import pyarrow as pa


@cache
def _schemas() -> dict[str, pa.Schema]:
    import pyarrow as pa

    text, number = pa.string(), pa.float64()

    def texts(names: str) -> list[tuple[str, pa.DataType]]:
        return [(name, text) for name in names.split()]

    rated = [("ratings", pa.map_(text, number)), ("raters", pa.map_(text, pa.list_(number)))]
    candidates = ("candidates", pa.list_(pa.struct([*texts("system text"), *rated])))
    references = ("references", pa.list_(text))
    tokens = ("tokens", pa.struct([(name, pa.int64()) for name in asdict(Tokens())]))
    columns = {
        "cases": [*texts("doc_id source"), references, *texts("context"), candidates],
        "briefs": [*texts("doc_id key judge axis part content status reason signature"), tokens],
        "verdicts": [*texts("doc_id system judge axis evidence status reason"), tokens],
        "scores": [
            *texts("doc_id system scorer axis"),
            ("value", number),
            *texts("status reason signature"),
        ],
    }
    return {name: pa.schema(fields) for name, fields in columns.items()}


def cases_table(cases: Iterable[Case]) -> pa.Table:
    return _table("cases", map(_case_row, cases))


def briefs_table(briefs: Iterable[Brief]) -> pa.Table:
    return _table("briefs", (_row(b) | {"content": _json(b.content)} for b in briefs))


def verdicts_table(verdicts: Iterable[Verdict]) -> pa.Table:
    return _table("verdicts", (_row(v) | {"evidence": _json(v.evidence)} for v in verdicts))


def scores_table(scores: Iterable[Score]) -> pa.Table:
    return _table("scores", (_row(s) | {"status": s.status} for s in scores))


def read_cases(table: pa.Table) -> Iterator[Case]:
    for row in table.to_pylist():
        document = Document(
            row["doc_id"], row["source"], tuple(row["references"] or ()), row["context"]
        )
        yield Case(document, tuple(_candidate(columns) for columns in row["candidates"]))


def _candidate(columns: Mapping[str, Any]) -> Candidate:
    """Older runs have no column of raters; null is an absent rating.

    It becomes the object `math.nan` itself, so that equal cases are equal.
    """
    raters = {
        axis: tuple(nan if number is None else number for number in numbers)
        for axis, numbers in columns.get("raters") or ()
    }
    return Candidate(columns["system"], columns["text"], dict(columns["ratings"] or ()), raters)


def read_briefs(table: pa.Table) -> Iterator[Brief]:
    return (Brief(**_with_json(row, "content")) for row in table.to_pylist())


def read_verdicts(table: pa.Table) -> Iterator[Verdict]:
    return (Verdict(**_with_json(row, "evidence")) for row in table.to_pylist())


def _with_json(row: dict[str, Any], name: str) -> dict[str, Any]:
    return row | {name: json.loads(row[name]), "tokens": Tokens(**row["tokens"])}


def read_scores(table: pa.Table) -> Iterator[Score]:
    for row in table.to_pylist():
        del row["status"]
        yield Score(**row)


def _table(name: str, rows: Iterable[Mapping[str, Any]]) -> pa.Table:
    import pyarrow as pa

    return pa.Table.from_pylist(list(rows), schema=_schemas()[name])


def _row(record: Any) -> dict[str, Any]:
    row = {name: getattr(record, name) for name in record.__slots__}
    return row | {"tokens": asdict(row["tokens"])} if "tokens" in row else row


def _case_row(case: Case) -> dict[str, Any]:
    return _row(case.document) | {
        "references": list(case.document.references),
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


def _json(content: Mapping[str, Any]) -> str:
    return json.dumps(content, ensure_ascii=False)
