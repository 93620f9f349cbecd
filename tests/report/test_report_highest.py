"""The threshold of a top fraction: by sorting, and with the values on disk."""

import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaljudge.analysis.selection import SCORED, highest, share_of
from evaljudge.storage.index import index_on_disk

NUMBERS = st.floats(allow_nan=False, allow_infinity=False)
TIED = st.integers(-3, 3).map(float) | st.just(-0.0)


def found(values: Sequence[float], fraction: float) -> float | None:
    with index_on_disk(SCORED) as index:
        rows = [("s", "tone", value) for value in values]
        index.executemany("INSERT INTO scored VALUES (?, ?, ?)", [("s", "other", 99.0), *rows])
        return highest(index, ("s", "tone"), fraction)


def test_half_of_four() -> None:
    assert found([1.0, 4.0, 2.0, 3.0], 0.5) == 3.0


def test_nothing_has_no_highest() -> None:
    assert found([], 0.5) is None


@given(st.lists(NUMBERS | TIED, min_size=1, max_size=60), st.floats(0.001, 1.0))
def test_is_what_sorting_says(values: list[float], fraction: float) -> None:
    expected = sorted(values, reverse=True)[share_of(fraction, len(values)) - 1]
    assert found(values, fraction) == expected


def test_there_is_one_zero() -> None:
    assert str(found([-0.0, 0.0], 1.0)) == "0.0"
    assert str(found([-0.0], 1.0)) == "0.0"


@pytest.mark.parametrize(
    ("fraction", "number", "share"),
    [(0.07, 100, 7), (0.1, 30, 3), (0.1, 31, 4), (1.0, 9, 9), (1e-9, 5, 1), (0.5, 0, 0)],
)
def test_a_share_is_of_the_decimal_as_written(fraction: float, number: int, share: int) -> None:
    assert share_of(fraction, number) == share
    assert math.ceil(0.07 * 100) == 8  # why floats are not multiplied


def test_many_different_numbers() -> None:
    values = np.random.default_rng(0).normal(3.0, 1.0, 200_000)
    assert found(values.tolist(), 0.1) == np.sort(values)[-20_000]


def test_numbers_from_everywhere() -> None:
    """Numbers over all exponents and, around one of them, over all its last bits."""
    rng = np.random.default_rng(1)
    everywhere = rng.integers(0, 2**63 - 2**53, 1000).view(np.float64)
    close = (np.float64(1.5).view(np.int64) + np.arange(2000)).view(np.float64)
    values = np.concatenate([everywhere, -everywhere, close, close[:1] + 2.0**-30]).tolist()
    for fraction in (0.01, 0.2, 0.5, 0.99):
        ranked = sorted(values, reverse=True)
        assert found(values, fraction) == ranked[share_of(fraction, len(values)) - 1]
