"""What one row says about a document and its candidates, with everything about it checked.

Row("c.jsonl:1", {"doc_id": 7, "source": "The river …", "system": "A", "text": "A flood.",
                  "ratings": {"coherence": [4, 5], "fluency": null}})
-> Fragment("c.jsonl:1", "7", "The river …", None, (), (Candidate("A", "A flood.",
            {"coherence": 4.5}, {"coherence": (4.0, 5.0)}),), absent=1)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Any

from evaljudge.corpora.rating import ratings_of
from evaljudge.corpora.rows import BadRow, Row
from evaljudge.corpora.values import RefusedError, clean, is_number, kind, shown
from evaljudge.records import Candidate


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
    except RefusedError as refused:
        return BadRow(row.place, str(refused))


def _candidates(fields: Mapping[str, Any]) -> list[Any]:
    """A nested row's list, or the flat row itself as the only one."""
    nested = fields.get("candidates")
    if nested is None:
        if fields.get("system") is None:
            raise RefusedError("neither `candidates` nor `system`")
        return [fields]
    if not isinstance(nested, list):
        raise RefusedError(f"`candidates` must be a list, not {kind(nested)}")
    return nested


def _candidate(fields: Any) -> tuple[Candidate, int]:
    """The candidate, and how many of its ratings are absent."""
    if not isinstance(fields, Mapping):
        raise RefusedError(f"a candidate must be an object, not {kind(fields)}")
    system = _identity(fields, "system")
    if "text" not in fields:
        raise RefusedError(f"candidate {shown(system)} has no `text`")
    text, rated = _text(fields, "text") or "", ratings_of(fields.get("ratings"))
    return Candidate(system, text, rated.mean, rated.raters), rated.absent


def _identity(fields: Mapping[str, Any], name: str) -> str:
    given = fields.get(name)
    if isinstance(given, str):
        if given:
            return clean(given)
    elif is_number(given):
        if not isinstance(given, float) or isfinite(given):
            return str(given)
    elif given is not None:
        raise RefusedError(f"`{name}` must be a string, not {kind(given)}")
    raise RefusedError(f"no `{name}`")


def _text(fields: Mapping[str, Any], name: str) -> str | None:
    given = fields.get(name)
    if given is None:
        return None
    if not isinstance(given, str):
        raise RefusedError(f"`{name}` must be a string, not {kind(given)}")
    return clean(given)


def _references(given: Any) -> tuple[str, ...]:
    if given is None:
        return ()
    if not isinstance(given, list) or not all(isinstance(text, str) for text in given):
        raise RefusedError("`references` must be a list of strings")
    return tuple(clean(text) for text in given)
