"""Human ratings as a row gives them: a number an axis, or a list, rater by rater.

ratings_of({"coherence": [4, None, 5, None], "fluency": 3, "relevance": None})
-> Ratings(mean={"coherence": 4.5, "fluency": 3.0}, raters={"coherence": (4.0, nan, 5.0)}, absent=3)

A rater keeps his place in every list, or another's ratings would be taken for his.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from math import isfinite, isnan, nan
from typing import Any, NamedTuple

from evaljudge.corpora.values import RefusedError, clean, is_number, kind, shown


class Ratings(NamedTuple):
    mean: Mapping[str, float]
    """Over the ratings that are there."""
    raters: Mapping[str, tuple[float, ...]]
    """Only of axes that were given as lists; NaN where a later rater rated and this one did not."""
    absent: int
    """Ratings that are there but no number: null, NaN or infinite; an empty list is one."""


def ratings_of(given: Any) -> Ratings:
    if given is None:
        return Ratings({}, {}, 0)
    if not isinstance(given, Mapping):
        raise RefusedError(f"`ratings` must be an object, not {kind(given)}")
    rated = {clean(str(axis)): _numbers(str(axis), value) for axis, value in given.items()}
    listed = {clean(str(axis)) for axis, value in given.items() if isinstance(value, list)}
    present = {axis: _present(numbers) for axis, numbers in rated.items()}
    return Ratings(
        {axis: _mean(numbers) for axis, numbers in present.items() if numbers},
        {axis: _until_last(rated[axis]) for axis in present if present[axis] and axis in listed},
        sum(len(rated[axis]) - len(present[axis]) for axis in present),
    )


def _numbers(axis: str, value: Any) -> tuple[float, ...]:
    """What each rater gave for an axis, NaN where it is absent."""
    given = (value or [None]) if isinstance(value, list) else [value]
    for one in given:
        if one is not None and not is_number(one):
            expected = "a list of numbers, not of" if given is value else "a number or a list, not"
            raise RefusedError(f"rating {shown(axis)} must be {expected} {kind(one)}")
    return tuple(map(_number, given))


def _number(value: Any) -> float:
    """An absent one is this very `nan`: so equal lists are equal, as they are not by value."""
    try:
        number = float(value) if value is not None else nan
    except OverflowError:  # an integer beyond any float
        return nan
    # -0.0 is 0.0, in the digest too
    return number + 0.0 if isfinite(number) else nan


def _present(numbers: Sequence[float]) -> list[float]:
    return [number for number in numbers if not isnan(number)]


def _until_last(numbers: tuple[float, ...]) -> tuple[float, ...]:
    """Without the absent ones at the end, which hold nobody's place."""
    last = max(place for place, number in enumerate(numbers) if not isnan(number))
    return numbers[: last + 1]


def _mean(numbers: Sequence[float]) -> float:
    try:
        return statistics.fmean(numbers) + 0.0
    except OverflowError:  # their sum is beyond any float, their mean is not
        return statistics.mean(numbers)
