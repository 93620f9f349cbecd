"""What one row says about a document and its candidates, with everything about it checked.

Row("c.jsonl:1", {"doc_id": 7, "source": "The river …", "system": "A", "text": "A flood.",
                  "ratings": {"coherence": 4, "fluency": null}})
-> Fragment("c.jsonl:1", "7", "The river …", None, (), (Candidate("A", "A flood.",
            {"coherence": 4.0}),), absent=1)
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from math import isfinite
from typing import Any, TypeGuard

from evaljudge.corpora.rows import BadRow, Row
from evaljudge.records import Candidate

_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Fragment:
    """`None` and `()` say nothing: another row of the document may say it."""

    place: str
    doc_id: str
    source: str | None
    context: str | None
    references: tuple[str, ...]
    candidates: tuple[Candidate, ...]
    absent: int
    """Ratings that are there but no number: null, NaN or infinite."""


class _RefusedError(Exception):
    """What is wrong with a row; never leaves this file."""


def fragment_of(row: Row) -> Fragment | BadRow:
    fields = row.fields
    try:
        rated = [_candidate(candidate) for candidate in _candidates(fields)]
        return Fragment(
            row.place,
            _identity(fields, "doc_id"),
            _text(fields, "source") or None,
            _text(fields, "context") or None,
            _references(fields.get("references")),
            tuple(candidate for candidate, _ in rated),
            sum(absent for _, absent in rated),
        )
    except _RefusedError as refused:
        return BadRow(row.place, str(refused))


def _candidates(fields: Mapping[str, Any]) -> list[Any]:
    """A nested row's list, or the flat row itself as the only one."""
    nested = fields.get("candidates")
    if nested is None:
        if fields.get("system") is None:
            raise _RefusedError("neither `candidates` nor `system`")
        return [fields]
    if not isinstance(nested, list):
        raise _RefusedError(f"`candidates` must be a list, not {_kind(nested)}")
    return nested


def _candidate(fields: Any) -> tuple[Candidate, int]:
    """The candidate, and how many of its ratings are absent."""
    if not isinstance(fields, Mapping):
        raise _RefusedError(f"a candidate must be an object, not {_kind(fields)}")
    system = _identity(fields, "system")
    if "text" not in fields:
        raise _RefusedError(f"candidate {shown(system)} has no `text`")
    ratings, absent = _ratings(fields.get("ratings"))
    return Candidate(system, _text(fields, "text") or "", ratings), absent


def _identity(fields: Mapping[str, Any], name: str) -> str:
    given = fields.get(name)
    if isinstance(given, str):
        if given:
            return _clean(given)
    elif _is_number(given):
        if not isinstance(given, float) or isfinite(given):
            return str(given)
    elif given is not None:
        raise _RefusedError(f"`{name}` must be a string, not {_kind(given)}")
    raise _RefusedError(f"no `{name}`")


def _text(fields: Mapping[str, Any], name: str) -> str | None:
    given = fields.get(name)
    if given is None:
        return None
    if not isinstance(given, str):
        raise _RefusedError(f"`{name}` must be a string, not {_kind(given)}")
    return _clean(given)


def _references(given: Any) -> tuple[str, ...]:
    if given is None:
        return ()
    if not isinstance(given, list) or not all(isinstance(text, str) for text in given):
        raise _RefusedError("`references` must be a list of strings")
    return tuple(_clean(text) for text in given)


def _ratings(given: Any) -> tuple[dict[str, float], int]:
    if given is None:
        return {}, 0
    if not isinstance(given, Mapping):
        raise _RefusedError(f"`ratings` must be an object, not {_kind(given)}")
    ratings = {_clean(str(axis)): _rating(axis, value) for axis, value in given.items()}
    present = {axis: value for axis, value in ratings.items() if value is not None}
    return present, len(ratings) - len(present)


def _rating(axis: Any, value: Any) -> float | None:
    if value is None:
        return None
    if not _is_number(value):
        raise _RefusedError(f"rating {shown(str(axis))} must be a number, not {_kind(value)}")
    try:
        number = float(value)
    except OverflowError:  # an integer beyond any float
        return None
    return number + 0.0 if isfinite(number) else None  # -0.0 is 0.0, in the digest too


def _is_number(value: Any) -> TypeGuard[int | float | Decimal]:
    return isinstance(value, int | float | Decimal) and not isinstance(value, bool)


def _clean(text: str) -> str:
    """Without lone surrogates, which neither Parquet nor a tokenizer can carry."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return _SURROGATE.sub("\ufffd", text)
    return text


def shown(text: str) -> str:
    """Short, quoted and on one line, for a message."""
    return repr(text if len(text) <= 60 else f"{text[:59]}…")


def _kind(value: Any) -> str:
    return type(value).__name__
