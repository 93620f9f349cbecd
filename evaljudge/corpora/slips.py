"""Ratings far outside all others: as a rule slips of the hand, such as 55 for 5."""

from collections.abc import Iterable, Iterator

FEWEST_OTHERS, FAR = 3, 2
"""Ratings are far from the others where these have so many different values, and lie so many times
their range away from the nearest."""
MOST_ODD, MOST_VALUES = 3, 1000


def slips(rated: Iterable[tuple[str, float, str]]) -> Iterator[str]:
    """`rated`: axes, ratings on them, and the places of their rows."""
    places: dict[str, dict[float, str]] = {}
    for axis, rating, place in rated:
        by_value = places.setdefault(axis, {})
        by_value.setdefault(rating, place)
        if len(by_value) > MOST_VALUES:  # those in the middle are no slips
            for value in sorted(by_value)[MOST_ODD + 1 : -MOST_ODD - 1]:
                del by_value[value]
    for axis, by_value in places.items():
        odd, others = _odd(sorted(by_value))
        span = f"{others[0]:g} to {others[-1]:g}"
        for value in odd:
            said = f"{axis} {value:g} is far from all other ratings ({span}): is it a slip?"
            yield f"{by_value[value]}: {said}"


def _odd(values: list[float]) -> tuple[list[float], list[float]]:
    """Those at one end that are far from the others, and the others."""
    for number in range(min(MOST_ODD, len(values) - FEWEST_OTHERS), 0, -1):
        low, high = (values[:number], values[number:]), (values[-number:], values[:-number])
        for odd, others in (low, high):
            gap = max(others[0] - odd[-1], odd[0] - others[-1])
            if gap > FAR * (others[-1] - others[0]):
                return odd, others
    return [], values
