"""What one row says about a document and its candidates; every field is checked here.

case_row({"doc_id": 7, "source": "The river …", "system": "A", "text": "A flood.",
          "ratings": {"coherence": [4, 5], "fluency": null}})
-> CaseRow(doc_id="7", source="The river …", context=None, references=(), candidates=[
       CandidateRow("A", "A flood.", Ratings({"coherence": 4.5}, {"coherence": (4.0, 5.0)}, 1))])

Ratings are one number for each axis, or a list with one number for each rater. A rater who gave no
rating keeps their place in the list, or another's ratings would be taken for theirs:

ratings_of({"coherence": [4, None, 5, None], "fluency": 3, "relevance": None})
-> Ratings(mean={"coherence": 4.5, "fluency": 3.0}, raters={"coherence": (4.0, nan, 5.0)}, absent=3)
"""

import statistics
from collections.abc import Mapping
from math import isfinite, isnan, nan
from typing import Annotated, Any, NamedTuple

from pydantic import BaseModel, Field, PlainValidator, ValidationError

from evaljudge.corpora.rows import RefusedError, clean, is_number, kind
from evaljudge.errors import first_words
from evaljudge.text import shown


class Ratings(NamedTuple):
    mean: Mapping[str, float]
    """Over the ratings that are not absent."""
    raters: Mapping[str, tuple[float, ...]]
    """Ratings of axes given as lists; NaN where this rater gave none but a later one did."""
    absent: int
    """Ratings that are null, NaN or infinite; an empty list counts as one."""


def ratings_of(value: Any) -> Ratings:
    if not isinstance(value, Mapping | None):
        raise ValueError(f'must be an object, not {kind(value)}: {{"AXIS": 4}} or {{"AXIS": [4]}}')
    mean, raters, absent = dict[str, float](), dict[str, tuple[float, ...]](), 0
    for name, rating in (value or {}).items():
        listed = (rating or [None]) if isinstance(rating, list) else [rating]
        numbers = tuple(_number(str(name), number) for number in listed)
        rated = [place for place, number in enumerate(numbers) if not isnan(number)]
        absent += len(numbers) - len(rated)
        if rated:
            axis = clean(str(name))
            mean[axis] = _mean([numbers[place] for place in rated])
            if isinstance(rating, list):
                raters[axis] = numbers[: rated[-1] + 1]
    return Ratings(mean, raters, absent)


def _number(axis: str, value: Any) -> float:
    """Absent is always the object `math.nan`, so that lists with it compare as equal."""
    if value is None:
        return nan
    if not is_number(value):
        got = shown(value) if isinstance(value, str) else kind(value)
        raise ValueError(
            f"{shown(axis)} must be a number such as 4.5, or a list of them, not {got}"
        )
    try:
        number = float(value)
    except OverflowError:  # an integer beyond any float
        return nan
    return number + 0.0 if isfinite(number) else nan  # -0.0 is 0.0, in the digest too


def _mean(numbers: list[float]) -> float:
    try:
        return statistics.fmean(numbers) + 0.0
    except OverflowError:  # their sum is beyond any float, their mean is not
        return statistics.mean(numbers)


def _name(value: Any) -> str:
    is_finite = not isinstance(value, float) or isfinite(value)
    is_name = isinstance(value, str) or (is_number(value) and is_finite)
    if is_name and (name := clean(str(value))):
        return name
    raise ValueError(f"must be a string that is not empty, not {kind(value)}")


def _text(value: Any) -> str | None:
    if not isinstance(value, str | None):
        raise ValueError(f"must be a string, not {kind(value)}")
    return clean(value) if value else None


def _references(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list | None) or not all(isinstance(text, str) for text in value or ()):
        raise ValueError("must be a list of strings")
    return tuple(map(clean, value or ()))


Name = Annotated[str, PlainValidator(_name)]
Text = Annotated[str | None, PlainValidator(_text)]


class CandidateRow(BaseModel):
    system: Name
    text: Text
    ratings: Annotated[Ratings, PlainValidator(ratings_of)] = Field(
        default_factory=lambda: Ratings({}, {}, 0)  # a default would be copied for each row
    )


class CaseRow(BaseModel):
    """A part that is `None` or `()` may come from another row of the document."""

    doc_id: Name
    source: Text = None
    context: Text = None
    references: Annotated[tuple[str, ...], PlainValidator(_references)] = ()
    candidates: list[CandidateRow]


def case_row(fields: Mapping[str, Any]) -> CaseRow:
    """The case of a nested row, or of a flat one, which is itself the only candidate."""
    is_flat = fields.get("candidates") is None
    try:
        return CaseRow.model_validate({**fields, "candidates": [fields]} if is_flat else fields)
    except ValidationError as error:
        text = first_words(error)
        raise RefusedError(text.removeprefix("candidates: 0: ") if is_flat else text) from None
