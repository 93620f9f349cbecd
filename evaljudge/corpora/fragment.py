"""What one row says about a document and its candidates; every field is checked here.

Row("c.jsonl:1", {"doc_id": 7, "source": "The river …", "system": "A", "text": "A flood.",
                  "ratings": {"coherence": [4, 5], "fluency": null}})
-> Fragment("c.jsonl:1", "7", "The river …", None, (), (Candidate("A", "A flood.",
            {"coherence": 4.5}, {"coherence": (4.0, 5.0)}),), absent=1)

Ratings are one number for each axis, or a list with one number for each rater. A rater who gave no
rating keeps their place in the list, or another's ratings would be taken for theirs:

ratings_of({"coherence": [4, None, 5, None], "fluency": 3, "relevance": None})
-> Ratings(mean={"coherence": 4.5, "fluency": 3.0}, raters={"coherence": (4.0, nan, 5.0)}, absent=3)
"""

from __future__ import annotations

import re
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite, isnan, nan
from typing import Any, NamedTuple

from evaljudge.corpora.rows import BadRow, RefusedError, Row, clean, is_number, kind
from evaljudge.records import Candidate
from evaljudge.text import shown

ABSENT_TO_PEOPLE = {"", "-", "–", "n/a", "na", "nan", "nil", "none", "null", "?"}


@dataclass(frozen=True, slots=True)
class Fragment:
    """A part that is `None` or `()` may come from another row of the document."""

    place: str
    doc_id: str
    source: str | None
    context: str | None
    references: tuple[str, ...]
    candidates: tuple[Candidate, ...]
    absent: int
    """Ratings that are null, NaN or infinite."""


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
    """A nested row's list, or the flat row itself as the only candidate."""
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


class Ratings(NamedTuple):
    mean: Mapping[str, float]
    """Over the ratings that are not absent."""
    raters: Mapping[str, tuple[float, ...]]
    """Only of axes given as lists; NaN where this rater gave none but a later one did."""
    absent: int
    """Ratings that are null, NaN or infinite; an empty list counts as one."""


def ratings_of(given: Any) -> Ratings:
    if given is None:
        return Ratings({}, {}, 0)
    if not isinstance(given, Mapping):
        form = 'write {"AXIS": 4}, or {"AXIS": [4, 5]} with a number for each rater'
        raise RefusedError(f"`ratings` must be an object, not {kind(given)}: {form}")
    mean, raters, absent = dict[str, float](), dict[str, tuple[float, ...]](), 0
    for name, value in given.items():
        axis, numbers = clean(str(name)), _numbers(str(name), value)
        rated = [place for place, number in enumerate(numbers) if not isnan(number)]
        absent += len(numbers) - len(rated)
        if rated:
            mean[axis] = _mean([numbers[place] for place in rated])
            if isinstance(value, list):
                raters[axis] = numbers[: rated[-1] + 1]
    return Ratings(mean, raters, absent)


def _numbers(axis: str, value: Any) -> tuple[float, ...]:
    """What each rater gave for an axis, NaN where it is absent."""
    given = (value or [None]) if isinstance(value, list) else [value]
    for one in given:
        if isinstance(one, str):
            raise RefusedError(f"rating {shown(axis)} is the text {shown(one)}{_how_to_write(one)}")
        if one is not None and not is_number(one):
            expected = "a list of numbers, not of" if given is value else "a number or a list, not"
            raise RefusedError(f"rating {shown(axis)} must be {expected} {kind(one)}")
    return tuple(map(_number, given))


def _how_to_write(rating: str) -> str:
    if re.fullmatch(r"\s*[+-]?\d+(\.\d+)?\s*", rating, re.ASCII):
        return ": write the number without quotes"
    if re.fullmatch(r"\s*[+-]?\d+,\d+\s*", rating):
        return ": write a decimal point in place of the comma"
    if rating.strip().casefold() in ABSENT_TO_PEOPLE:
        return ": leave it empty (null) where there is none"
    return ": write a number"


def _number(value: Any) -> float:
    """Absent is always the object `math.nan`, so that lists with it compare as equal."""
    try:
        number = float(value) if value is not None else nan
    except OverflowError:  # an integer beyond any float
        return nan
    # -0.0 is 0.0, in the digest too
    return number + 0.0 if isfinite(number) else nan


def _mean(numbers: Sequence[float]) -> float:
    try:
        return statistics.fmean(numbers) + 0.0
    except OverflowError:  # their sum is beyond any float, their mean is not
        return statistics.mean(numbers)
