"""A row as a reader hands it over, with the place it lies at; or what made it unreadable.

    Row("cases.jsonl:17", {"doc_id": "d1", "source": "The river …", "system": "A", "text": "…"})
    BadRow("cases.jsonl:18", "not valid JSON")

Readers change shapes only (a JSON cell into the object it holds); what a row's fields must be is
said once, in `fragment`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import IO, Any, NamedTuple

from evaljudge.corpora.values import RefusedError, shown


class Row(NamedTuple):
    place: str
    fields: Mapping[str, Any]


class BadRow(NamedTuple):
    place: str
    problem: str


Reader = Callable[[IO[bytes], str], Iterator[Row | BadRow]]
"""Reads one open file, known to the user by this name."""

Format = Callable[[tuple[str, ...]], Iterator[Row | BadRow]]
"""Reads all files that a corpus' paths name, as rows of the generic form (nested or flat)."""

SourcedFormat = Callable[[tuple[str, ...], str | None], Iterator[Row | BadRow]]
"""Reads them with the documents that lie elsewhere, or without."""

KNOWN_FIELDS = (
    "doc_id",
    "source",
    "references",
    "context",
    "candidates",
    "system",
    "text",
    "ratings",
)
SCORE_FIELDS = ("scorer", "axis", "value", "scores")
"""What rows of given scores have besides `doc_id` and `system` (see meta.py)."""
NOT_UTF8 = "not UTF-8"
DOTTED = "ratings."
"""What the name of a table's column begins with that holds one axis' ratings."""


def json_or_text(cell: str) -> Any:
    """What a table's cell holds: the JSON in it, or else the very text."""
    try:
        return json.loads(cell)
    except (ValueError, RecursionError):
        return cell


def ratings_in(cell: str) -> Any:
    """The object in a JSON cell, which an empty one and `null` stand for too."""
    held = json_or_text(cell) if cell else None
    return {} if held is None else held


def all_ratings(ratings: Any, dotted: Mapping[str, Any]) -> dict[str, Any]:
    """`{"ease": 3}` beside a column `ratings.tone` of 4: `{"ratings": {"ease": 3, "tone": 4}}`.

    Nothing where nothing is rated; what is no object is left for the row's check to refuse. An axis
    in both is refused: which of the two was meant?
    """
    if dotted and (ratings is None or isinstance(ratings, Mapping)):
        for axis in dotted.keys() & (ratings or {}).keys():
            both = f"in `ratings` and as `{DOTTED}{axis}`"
            raise RefusedError(f"{shown(axis)} is rated twice: {both}")
        return {"ratings": {**(ratings or {}), **dotted}}
    return {} if ratings is None else {"ratings": ratings}


def undotted(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Keys `ratings.tone` of an object, and of the candidates in it, among its `ratings`."""
    dotted = {k.removeprefix(DOTTED): v for k, v in fields.items() if k.startswith(DOTTED)}
    joined = {**fields, **all_ratings(fields.get("ratings"), dotted)} if dotted else dict(fields)
    if isinstance(joined.get("candidates"), list):
        inner = joined["candidates"]
        joined["candidates"] = [undotted(c) if isinstance(c, Mapping) else c for c in inner]
    return joined


def first_line(error: BaseException) -> str:
    return str(error).partition("\n")[0]
