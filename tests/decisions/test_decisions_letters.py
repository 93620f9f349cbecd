"""Letters against their definition: two share one exactly where they are not told apart."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaljudge.decisions.letters import letters


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
    """Greedily, 0-1 with 2, 1-3, 2-4 and last 3-4 with neither: no clique is inside the others."""
    apart = np.ones((5, 5), dtype=bool)
    for one, other in [(0, 1), (0, 2), (1, 2), (1, 3), (2, 3), (1, 4), (2, 4)]:
        apart[one, other] = apart[other, one] = False
    assert letters(apart) == ["a", "abc", "abc", "b", "c"]


def test_after_z_comes_a2() -> None:
    found = letters(np.ones((28, 28)))
    assert found[24:] == ["y", "z", "a2", "b2"]
