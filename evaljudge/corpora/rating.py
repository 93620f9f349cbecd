"""Human ratings as a row gives them: a number an axis, or a list, rater by rater.

ratings_of({"coherence": [4, 5, None], "fluency": 3, "relevance": None})
-> Ratings(mean={"coherence": 4.5, "fluency": 3.0}, raters={"coherence": (4.0, 5.0)}, absent=2)
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Any, NamedTuple

from evaljudge.corpora.values import RefusedError, clean, is_number, kind, shown


class Ratings(NamedTuple):
    mean: Mapping[str, float]
    raters: Mapping[str, tuple[float, ...]]
    """Only of axes that were given as lists."""
    absent: int
    """Ratings that are there but no number: null, NaN or infinite; an empty list is one."""


def ratings_of(given: Any) -> Ratings:
    if given is None:
        return Ratings({}, {}, 0)
    if not isinstance(given, Mapping):
        raise RefusedError(f"`ratings` must be an object, not {kind(given)}")
    present = {clean(str(axis)): _present(str(axis), value) for axis, value in given.items()}
    rated = {axis: numbers for axis, (numbers, _) in present.items() if numbers}
    listed = {clean(str(axis)) for axis, value in given.items() if isinstance(value, list)}
    return Ratings(
        {axis: _mean(numbers) for axis, numbers in rated.items()},
        {axis: numbers for axis, numbers in rated.items() if axis in listed},
        sum(absent for _, absent in present.values()),
    )


def _present(axis: str, value: Any) -> tuple[tuple[float, ...], int]:
    """The numbers given for an axis, and how many are absent."""
    given = (value or [None]) if isinstance(value, list) else [value]
    for one in given:
        if one is not None and not is_number(one):
            expected = "a list of numbers, not of" if given is value else "a number or a list, not"
            raise RefusedError(f"rating {shown(axis)} must be {expected} {kind(one)}")
    numbers = tuple(number for number in map(_number, given) if number is not None)
    return numbers, len(given) - len(numbers)


def _number(value: Any) -> float | None:
    try:
        number = float(value) if value is not None else None
    except OverflowError:  # an integer beyond any float
        return None
    # -0.0 is 0.0, in the digest too
    return number + 0.0 if number is not None and isfinite(number) else None


def _mean(numbers: Sequence[float]) -> float:
    try:
        return statistics.fmean(numbers) + 0.0
    except OverflowError:  # their sum is beyond any float, their mean is not
        return statistics.mean(numbers)
