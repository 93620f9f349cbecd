"""Reads scores that a user gives in a file, in any of these forms, as columns.

{"doc_id": "d1", "system": "A", "scorer": "unieval", "axis": "coherence", "value": 0.91}
{"doc_id": "d1", "system": "A", "scorer": "unieval", "scores": {"coherence": 0.91}}
{"doc_id": "d1", "system": "A", "scores": {"rouge1": 0.31, "METEOR": 0.22}}     scorers without axes

A row whose `value` is null may have a `reason`, as the rows of a run's own scores do.
"""

from collections.abc import Iterable, Iterator, Mapping
from math import isfinite
from typing import Any

from evaljudge.corpora.files import read_generic
from evaljudge.corpora.memory import Input
from evaljudge.corpora.rows import Row, accepted, json_or_text, name_in
from evaljudge.errors import UserError
from evaljudge.records import ANY_AXIS, HUMAN

_NEEDED = 'needs `scorer` and `value`, or `scores`, such as {"bleu": 0.3}'
Given = dict[tuple[str, str], dict[tuple[str, str], float | None]]
"""The value of each (doc_id, system), by (scorer, axis)."""
Reasons = dict[tuple[str, str], dict[tuple[str, str], str]]
"""Why there is no value, as far as known, with the same keys."""
BY_AGREEMENT = " | weighted by agreement "
TO_PEOPLE = " | fitted to people "
SHOWN = " | shown people's ratings"
"""In the signatures of scores that rest on people's ratings: a combination's, a judge's."""


def read_all_given(inputs: Iterable[Input]) -> tuple[Given, Reasons, set[str]]:
    """Read scores in JSONL, Parquet or CSV, in runs' folders or in memory, what the rows say about
    missing values, and which scorers were fitted to ratings."""
    scores: Given = {}
    reasons: Reasons = {}
    fitted = set[str]()
    for path in inputs:
        before = set(scores)
        for row in map(accepted, read_generic((path,), part="scores")):
            at = (name_in(row, "doc_id"), name_in(row, "system"))
            for key, value in _values(row):
                if key[0] == HUMAN:
                    raise UserError(f"{row.place}: scorer {HUMAN!r}: people go by it; give another")
                if key in before:
                    message = f"scorer {key[0]!r} is in another --scores file already"
                    raise UserError(f"{path}: {message}")
                if any(
                    m in f"{row.fields.get('signature')}" for m in (BY_AGREEMENT, TO_PEOPLE, SHOWN)
                ):
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
        raise UserError(f"{row.place}: {_NEEDED}")


def _number(row: Row, value: Any) -> float | None:
    if value is None or value == "":
        return None
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise UserError(f"{row.place}: {value!r} is not a number") from None
    return number if isfinite(number) else None
