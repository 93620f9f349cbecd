"""A row as a reader yields it, with its place in the file; or what is wrong with it.

    Row("cases.jsonl:17", {"doc_id": "d1", "source": "The river …", "system": "A", "text": "…"})
    BadRow("cases.jsonl:18", "not valid JSON")

Readers only change forms (a JSON cell into the object that it holds). Every field is checked here:

case_row({"doc_id": 7, "source": "The river …", "system": "A", "text": "A flood.",
          "ratings": {"coherence": [4, 5], "fluency": null}})
-> CaseRow(doc_id="7", source="The river …", context=None, references=(), candidates=[
       CandidateRow("A", "A flood.", Ratings({"coherence": 4.5}, {"coherence": (4.0, 5.0)}, 1))])

A rater who gave no rating keeps their place in a list, or another's would be taken for theirs:

ratings_of({"coherence": [4, None, 5, None], "fluency": 3, "relevance": None})
-> Ratings(mean={"coherence": 4.5, "fluency": 3.0}, raters={"coherence": (4.0, nan, 5.0)}, absent=3)
"""

import json
import re
import statistics
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from itertools import islice
from math import isfinite, isnan, nan
from typing import IO, Annotated, Any, NamedTuple, TypeGuard
from unicodedata import normalize

from pydantic import BaseModel, Field, PlainValidator, ValidationError

from evaljudge.errors import UserError, first_words
from evaljudge.text import shown

SURROGATE = re.compile("[\ud800-\udfff]")
SCORE_FIELDS = ("scorer", "axis", "value", "scores", "reason", "signature")
"""What rows of given scores have besides `doc_id` and `system` (see scores.py)."""
LABEL, RATER, NOTE = "label", "rater", "note"  # what rows of sheets have (see sheets.py)
KNOWN_FIELDS = (
    *("doc_id", "source", "references", "context"),
    *("candidates", "system", "text", "ratings", RATER),
)
KEYS_NAMED = 20
NOT_UTF8 = "not UTF-8"
IN_EXCEL = "in Excel: File > Save As > CSV UTF-8"
OTHER_FORMS = {
    b"PAR1": "a Parquet file: let its name end in .parquet",
    b"\x1f\x8b": "a gzip file: let its name end in .gz",
    b"PK\x03\x04": f"a zip file or a spreadsheet: save it as CSV ({IN_EXCEL})",
    BOM_UTF16_LE: "not UTF-8 but UTF-16: save it as UTF-8",
    BOM_UTF16_BE: "not UTF-8 but UTF-16: save it as UTF-8",
}
DOTTED = "ratings."  # the beginning of a column's name that holds the ratings of one axis
ABSENT = {"", "-", "–", "n/a", "na", "nan", "nil", "none", "null", "?"}
"""What a cell says where there is no value."""
OF_RATER = LEFT_OUT = "\x1f"
"""What stands between that name and the place of a rater, where there is a column for each; alone,
the name of a column that is not to be read."""
_SCALED = re.compile(r"(?P<number>\d+([.,]\d+)?) *(/|out of|of) *(?P<highest>\d+)", re.IGNORECASE)
_CALLED = re.compile(r"(?P<number>\d+) *[-–:(.=)] *(?P<words>[^\W\d_]\D*)")
_MONTH = re.compile(
    r"(jan|janv|ene|gen|feb|febr|fev|fevr|mar|mars|marz|mrz|mrt|apr|avr|abr|may|mai|maj|mei|mag|jun"
    r"|juni|juin|giu|jul|juil|juli|lug|aug|ago|aou|aout|sep|sept|set|oct|okt|out|ott|nov|dec|dez"
    r"|dic)\.?",
    re.IGNORECASE,
)
"""Excel writes 3-5 as a day and a month: `3-May`, `3. Mai`, `5-févr.`."""
_NO_ANSWER = re.compile(
    r"(n/?a|don.?t know|do not know|not applicable|no (answer|rating|response)"
    r"|(cannot|can.?t) (say|tell|judge))\W*",
    re.IGNORECASE,
)
"""What such a number as 0 or 99 is called where it is no rating."""
_NUMBER = re.compile(r"[+-]?\d+(\.\d+)?", re.ASCII)
_OF_LABEL_STUDIO = re.compile(r'\[\{"rating": *(?P<number>\d+)\}\]')
_STARS = re.compile("([★⭐]\ufe0f?)+☆*")


class RefusedError(Exception):
    """What is wrong with a row; never leaves this folder."""


class Row(NamedTuple):
    place: str
    fields: Mapping[str, Any]


class BadRow(NamedTuple):
    place: str
    problem: str


Rows = Iterator[Row | BadRow]
Reader = Callable[[IO[bytes], str], Rows]
"""Reads one open file, known to the user by this name."""
Format = Callable[..., Rows]
"""Reads all files that a corpus' paths name, as rows of the generic form (nested or flat)."""


@dataclass(frozen=True, slots=True)
class KnownFormat:
    read: Format
    about: str  # what it reads, in a sentence
    needs: str  # which files it needs, for a reader who has them
    takes_sources: bool = False
    """Whether its files may lack the documents, which are then at `sources`."""


def row_of(place: str, read: Callable[..., Mapping[str, Any]], *given: Any) -> Row | BadRow:
    """The row whose fields are read from what is given, or what is wrong with it."""
    try:
        return Row(place, read(*given))
    except RefusedError as refused:
        return BadRow(place, str(refused))


def accepted(row: Row | BadRow) -> Row:
    """The row; a bad one is refused, for files where that is the user's mistake."""
    if isinstance(row, BadRow):
        raise UserError(f"{row.place}: {row.problem}")
    return row


def name_in(row: Row, field: str) -> str:
    """The name in a field that must have one; it may be a number."""
    value = row.fields.get(field)
    if value is None or isinstance(value, bool | dict | list) or not (name := str(value).strip()):
        raise UserError(f"{row.place}: needs `{field}`; {keys_of(row.fields)}")
    return name


def keys_of(fields: Mapping[str, Any]) -> str:
    names = dict.fromkeys(name.partition(OF_RATER)[0] for name in fields)
    return f"its keys are {', '.join(map(shown, islice(names, KEYS_NAMED)))}"


def refuse_other_forms(name: str, first: bytes) -> None:
    for mark, form in OTHER_FORMS.items():
        if first.startswith(mark):
            raise UserError(f"{name}: this is {form}")


def is_number(value: Any) -> TypeGuard[int | float | Decimal]:
    return isinstance(value, int | float | Decimal) and not isinstance(value, bool)


def plain(cell: str) -> tuple[str, str]:
    """The number in `4/5`, `4 - Good`, `80%` or `★★★★`, and what is said of its scale (`/5`)."""
    text = cell.strip()
    if _STARS.fullmatch(text):
        return str(len(re.findall("[★⭐]", text))), "★"
    if found := _SCALED.fullmatch(text):
        return found["number"], f"/{found['highest']}"
    if found := _OF_LABEL_STUDIO.fullmatch(text):
        return found["number"], ""
    if found := _CALLED.fullmatch(text):
        if _NO_ANSWER.fullmatch(found["words"]):
            return "", ""
        letters = "".join(c for c in normalize("NFD", found["words"]) if c.isascii())
        return (cell if _MONTH.fullmatch(letters) else found["number"]), ""
    return (text[:-1].rstrip(), "%") if text.endswith("%") else (cell, "")


def is_absent(value: Any) -> bool:
    return value is None or (isinstance(value, str) and value.strip().casefold() in ABSENT)


def clean(text: str) -> str:
    """The text without lone surrogates, which neither Parquet nor a tokenizer can carry."""
    return text if text.isascii() else SURROGATE.sub("\ufffd", text)


def kind(value: Any) -> str:
    return "null" if value is None else type(value).__name__


def _each_key_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise RefusedError(f"key {shown(twice)} stands twice in one object")
    return fields


read_json_text = json.JSONDecoder(object_pairs_hook=_each_key_once).decode
"""Refuses two keys of one name, of which the json module would silently drop the first."""


def json_or_text(cell: str) -> Any:
    """The value of the JSON in a table's cell, or the text itself if it is not JSON."""
    try:
        return read_json_text(cell)
    except (ValueError, RecursionError):
        return cell


def with_ratings(fields: Mapping[str, Any]) -> dict[str, Any]:
    """`{"ratings": '{"ease": 3}', "ratings.tone": 4}`: with `{"ratings": {"ease": 3, "tone": 4}}`.

    Ratings that are no object are left to be refused below. Columns of several raters become a
    list with a place for each; the `raters` of a run's own cases are such lists.
    """
    joined, ratings = dict(fields), fields.get("ratings")
    dotted = {k.removeprefix(DOTTED): v for k, v in fields.items() if k.startswith(DOTTED)}
    for column in [column for column in dotted if OF_RATER in column]:
        axis, _, place = column.partition(OF_RATER)
        each = dotted.setdefault(axis, [])
        each += [None] * (int(place) + 1 - len(each))
        each[int(place)] = dotted.pop(column)
    if isinstance(ratings, str):
        joined["ratings"] = ratings = json_or_text(ratings) if ratings else None
    each = ratings if isinstance(ratings, list) else []  # of an object for each rater
    if each and all(isinstance(one, Mapping) for one in each):
        axes = dict.fromkeys(axis for one in each for axis in one)
        joined["ratings"] = ratings = {axis: [one.get(axis) for one in each] for axis in axes}
    if isinstance(fields.get("raters"), Mapping) and isinstance(ratings, Mapping | None):
        joined["ratings"] = ratings = {**(ratings or {}), **joined.pop("raters")}
    if dotted and isinstance(ratings, Mapping | None):
        for axis in dotted.keys() & (ratings or {}).keys():
            both = f"in `ratings` and as `{DOTTED}{axis}`"
            raise RefusedError(f"{shown(axis)} is rated twice: {both}")
        joined["ratings"] = {**(ratings or {}), **dotted}
    return in_candidates(joined, with_ratings)


def in_candidates(
    fields: dict[str, Any], change: Callable[[Mapping[str, Any]], dict[str, Any]]
) -> dict[str, Any]:
    nested = fields.get("candidates")
    if not isinstance(nested, list):
        return fields
    changed = [change(text) if isinstance(text, Mapping) else text for text in nested]
    return {**fields, "candidates": changed}


class Ratings(NamedTuple):
    mean: Mapping[str, float]  # over the ratings that are not absent
    raters: Mapping[str, tuple[float, ...]]
    """Ratings of axes given as lists; NaN where this rater gave none but a later one did."""
    absent: int  # ratings that are null, NaN or infinite; an empty list counts as one


class Earlier(NamedTuple):
    """What earlier rows said of each axis."""

    raters: dict[str, dict[Any, None]]
    """By name, or by place in a list."""
    ratings: dict[str, Any]
    """The first of each axis, which may name its scale: `4/5`, `80%`."""


def ratings_of(value: Any, known: Earlier | None = None) -> Ratings:
    if not isinstance(value, Mapping | None):
        raise ValueError(f'must be an object, not {kind(value)}: {{"AXIS": 4}} or {{"AXIS": [4]}}')
    mean, raters, absent = dict[str, float](), dict[str, tuple[float, ...]](), 0
    known = known or Earlier({}, {})
    for name, rating in (value or {}).items():
        if isinstance(rating, list | Mapping) and rating:
            of = rating.items() if isinstance(rating, Mapping) else enumerate(rating)
            each = {who.strip() if isinstance(who, str) else who: number for who, number in of}
            raters_of = known.raters.setdefault(str(name), {})
            raters_of |= dict.fromkeys(each)
            rating, absent = list(map(each.get, raters_of)), absent + len(each) - len(raters_of)
        listed = (rating or [None]) if isinstance(rating, list | Mapping) else [rating]
        numbers = tuple(_number(str(name), number, known.ratings) for number in listed)
        rated = [place for place, number in enumerate(numbers) if not isnan(number)]
        absent += len(numbers) - len(rated)
        if rated:
            axis = clean(str(name))
            mean[axis] = _mean([numbers[place] for place in rated])
            if isinstance(rating, list):
                raters[axis] = numbers[: rated[-1] + 1]
    return Ratings(mean, raters, absent)


def _number(axis: str, value: Any, first: dict[str, Any]) -> float:
    """Absent is always the object `math.nan`, so that lists with it compare as equal."""
    given = value
    if isinstance(value, str):
        value, _ = plain(value)
    if is_absent(value):
        return nan
    if isinstance(value, str) and _NUMBER.fullmatch(value):
        value = float(value)
    if not is_number(value):
        got = shown(given) if isinstance(given, str) else kind(given)
        raise ValueError(
            f'{shown(axis)} must be a number such as 4.5, [4, 5] or {{"ben": 4.5}}, not {got}'
        )
    if other := another_scale(given, first.setdefault(axis, given)):
        raise ValueError(f"{shown(axis)}: {other}")
    try:
        number = float(value)
    except OverflowError:  # an integer beyond any float
        return nan
    return number + 0.0 if isfinite(number) else nan  # -0.0 is 0.0, in the digest too


def another_scale(given: Any, first: Any) -> str:
    """What is wrong with a rating, if it is on another scale than the first of its axis."""
    if plain(f"{given}")[1] == plain(f"{first}")[1]:
        return ""
    both = " is on another scale than ".join(shown(f"{one}") for one in (given, first))
    return f"{both} before it: write both alike"


def _mean(numbers: list[float]) -> float:
    try:
        return statistics.fmean(numbers) + 0.0
    except OverflowError:  # their sum is beyond any float, their mean is not
        return statistics.mean(numbers)


def _name(value: Any) -> str:
    is_finite = not isinstance(value, float) or isfinite(value)
    is_name = isinstance(value, str) or (is_number(value) and is_finite)
    if is_name and (name := clean(str(value)).strip()):  # a blank at its end is a slip
        return name
    raise ValueError("is empty" if is_name else f"must be a string, not {kind(value)}")


def _text(value: Any) -> str | None:
    if not isinstance(value, str | None):
        raise ValueError(f"must be a string, not {kind(value)}")
    return clean(value) if value else None


def _texts(value: Any) -> tuple[str, ...]:
    """One text or a list of them, in which null and empty ones say nothing."""
    texts = value if isinstance(value, list) else [value]
    if not all(isinstance(text, str | None) for text in texts):
        raise ValueError("must be a string or a list of strings")
    return tuple(clean(text) for text in texts if text)


def _context(value: Any) -> str | None:
    return "\n\n".join(_texts(value)) or None


Name = Annotated[str, PlainValidator(_name)]
Text = Annotated[str | None, PlainValidator(_text)]


class CandidateRow(BaseModel):
    system: Name
    text: Text
    ratings: Annotated[
        Ratings, PlainValidator(lambda value, about: ratings_of(value, about.context))
    ] = Field(default_factory=lambda: Ratings({}, {}, 0))  # a default would be copied for each row


class CaseRow(BaseModel):
    """A part that is `None` or `()` may come from another row of the document."""

    doc_id: Name
    source: Text = None
    context: Annotated[str | None, PlainValidator(_context)] = None
    references: Annotated[tuple[str, ...], PlainValidator(_texts)] = ()
    candidates: list[CandidateRow]
    by_one: bool
    """Its ratings are those of one rater, whom it names."""


def case_row(fields: Mapping[str, Any], known: Earlier | None = None) -> CaseRow:
    """The case of a nested row, or of a flat one, which is itself the only candidate."""
    is_flat = fields.get("candidates") is None
    try:
        nested = {**fields, "candidates": [_of_its_rater(fields)]} if is_flat else fields
        by_one = is_flat and not is_absent(fields.get(RATER))
        return CaseRow.model_validate({**nested, "by_one": by_one}, context=known)
    except ValidationError as error:
        text = first_words(error)
        if all(fields.get(name) in (None, "") for name in ("doc_id", "source")):
            lacks = "no `source`" if "source" not in fields else "`source` is empty"
            text = f"{lacks}; {keys_of(fields)}"
        raise RefusedError(text.removeprefix("candidates: 0: ") if is_flat else text) from None


def _of_its_rater(fields: Mapping[str, Any]) -> Mapping[str, Any]:
    rater, ratings = fields.get(RATER), fields.get("ratings")
    if is_absent(rater) or not isinstance(ratings, Mapping):
        return fields
    named = {
        axis: rating if isinstance(rating, list | Mapping) else {str(rater).strip(): rating}
        for axis, rating in ratings.items()
    }
    return {**fields, "ratings": named}
