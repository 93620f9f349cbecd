"""Letters against their definition: two share one exactly where they are not told apart."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaljudge.decisions.systems import letters


def shared(one: str, other: str) -> bool:
    """Letters may be followed by a number: "ab2" is "a" and "b2"."""
    return bool(set(_split(one)) & set(_split(other)))


def _split(text: str) -> list[str]:
    found: list[str] = []
    for character in text:
        if character.isdigit():
            found[-1] += character
        else:
            found.append(character)
    return found


@st.composite
def graphs(draw: st.DrawFn) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
    size = draw(st.integers(0, 9))
    apart = np.zeros((size, size), dtype=bool)
    for one in range(size):
        for other in range(one):
            apart[one, other] = apart[other, one] = draw(st.booleans())
    return apart


@given(graphs())
def test_two_share_a_letter_exactly_where_they_are_not_told_apart(
    apart: np.ndarray[tuple[int, ...], np.dtype[np.bool_]],
) -> None:
    found = letters(apart)
    assert len(found) == len(apart) and all(found)
    for one in range(len(apart)):
        for other in range(one):
            assert shared(found[one], found[other]) != apart[one, other]


@pytest.mark.parametrize(
    ("least", "expected"),
    [
        (1, ["a", "b", "c", "d", "e"]),
        (2, ["a", "ab", "bc", "cd", "d"]),
        (3, ["a", "ab", "abc", "bc", "c"]),
        (5, ["a", "a", "a", "a", "a"]),
    ],
)
def test_neighbours_in_a_row_share_as_few_letters_as_can_be(
    least: int, expected: list[str]
) -> None:
    """Told apart where they are at least so many places from each other."""
    places = np.arange(5)
    assert letters(np.abs(places[:, None] - places) >= least) == expected


def test_a_letter_that_others_make_superfluous_is_dropped() -> None:
    """1, 2 and 4 are joined, but each two of them are also with 0, 3 or 5."""
    apart = np.ones((6, 6), dtype=bool)
    for joined in (
        combinations([0, 1, 4], 2),
        combinations([1, 2, 5], 2),
        combinations([2, 3, 4], 2),
    ):
        for one, other in joined:
            apart[one, other] = apart[other, one] = False
    assert letters(apart) == ["a", "ab", "bc", "c", "ac", "b"]


def test_after_z_comes_a2() -> None:
    found = letters(np.ones((28, 28)))
    assert found[24:] == ["y", "z", "a2", "b2"]
