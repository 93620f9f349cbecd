"""What the readers of published benchmarks share: required fields, and rows of single raters.

    turned(Row("a.csv:2", {"Story": "A flood.", …}), turn) -> Row("a.csv:2", {"text": "A flood."…})
    turned(Row("a.csv:3", {"Model": "GPT", …}), turn)      -> BadRow("a.csv:3", "no `Story`")

Each reader turns a row of its authors' form into a row of the generic form. If the form lacks the
documents, their source is empty, which is enough for agreement and for metrics against references.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from evaljudge.corpora.files import Readers
from evaljudge.corpora.readers import read_csv, read_json
from evaljudge.corpora.rows import BadRow, RefusedError, Row, Rows, is_number, kind, row_of
from evaljudge.text import shown

Fields = Mapping[str, Any]
T = TypeVar("T")

JSON: Readers = dict.fromkeys((".json", ".jsonl", ".json.gz", ".jsonl.gz"), read_json)
CSV: Readers = dict.fromkeys((".csv", ".csv.gz"), read_csv)
_WORDS: Mapping[type, str] = {str: "a string", list: "a list", dict: "an object"}


def turned(row: Row | BadRow, turn: Callable[[Fields], Fields]) -> Row | BadRow:
    if isinstance(row, BadRow):
        return row
    made = row_of(row.place, turn, row.fields)
    if isinstance(made, Row):
        return made
    return BadRow(made.place, " ".join(made.problem.split()))  # their names may hold line breaks


def given(fields: Fields, name: str, of: type[T], where: str = "") -> T:
    """The field of this name, which must be there; `where` says in which part of the row."""
    value = fields.get(name)
    if value is None:
        raise RefusedError(f"no `{name}`{where}")
    if not isinstance(value, of):
        raise RefusedError(f"`{name}`{where} must be {_WORDS[of]}, not {kind(value)}")
    return value


def objects(fields: Fields, name: str, where: str = "") -> list[dict[str, Any]]:
    """The field's list, each item an object."""
    items: list[Any] = given(fields, name, list, where)
    for item in items:
        if not isinstance(item, dict):
            raise RefusedError(f"`{name}`{where} must be a list of objects, not of {kind(item)}")
    return items


def number(fields: Fields, name: str, where: str = "") -> Any:
    """A rating, as a number or in a cell; None if it is null or the cell is empty."""
    if name not in fields:
        raise RefusedError(f"no `{name}`{where}")
    value = fields[name]
    if value is None or value == "" or is_number(value):
        return None if value == "" else value
    try:
        return float(value)
    except (TypeError, ValueError):
        said = shown(value) if isinstance(value, str) else kind(value)
        raise RefusedError(f"`{name}`{where} must be a number, not {said}") from None


def rater_by_rater(rows: Iterable[Row | BadRow]) -> Rows:
    """Joins the flat rows of a candidate, one from each rater, to one row with lists of ratings.

    All candidates are held in memory, because a candidate's rows may be anywhere in the files.
    """
    candidates: dict[tuple[str, str], Row] = {}
    for row in rows:
        if isinstance(row, BadRow):
            yield row
        else:
            key = row.fields["doc_id"], row.fields["system"]
            first = candidates.setdefault(key, Row(row.place, {**row.fields, "ratings": {}}))
            problem = _added(row, first)
            if problem:
                yield BadRow(row.place, problem)
    yield from candidates.values()


def _added(row: Row, first: Row) -> str | None:
    """Add the row's ratings to the first row's lists, or return how their texts differ."""
    for name, said in first.fields.items():
        if name != "ratings" and row.fields[name] != said:
            return f"`{name}` of this candidate is another than in {first.place}"
    for axis, rating in row.fields["ratings"].items():
        first.fields["ratings"].setdefault(axis, []).append(rating)
    return None
