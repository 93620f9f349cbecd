"""The k-th highest of a stream: by sorting, and in bounded memory."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaljudge.analysis.highest import LIMIT, Highest, from_ordered, ordered, share_of

NUMBERS = st.floats(allow_nan=False, allow_infinity=False)
TIED = st.integers(-3, 3).map(float) | st.just(-0.0)


def found(values: Sequence[float], fraction: float, limit: int = LIMIT) -> tuple[Highest, int]:
    """The search when it is done, and how many readings of the stream it took."""
    highest, readings = Highest(fraction, limit), 0
    while not highest.found:
        for value in values:
            highest.see(value)
            assert highest.size <= limit
        highest.narrow()
        readings += 1
    return highest, readings


def test_half_of_four() -> None:
    assert found([1.0, 4.0, 2.0, 3.0], 0.5)[0].value == 3.0


def test_a_stream_that_got_shorter_is_refused() -> None:
    highest = Highest(0.75, limit=2)
    for value in (1.0, 2.0, 3.0, 4.0):
        highest.see(value)
    highest.narrow()
    assert not highest.found
    highest.see(2.0)
    with pytest.raises(ValueError, match="held fewer numbers than the first"):
        highest.narrow()


def test_nothing_has_no_highest() -> None:
    assert found([], 0.5)[0].value is None


@given(
    st.lists(NUMBERS | TIED, min_size=1, max_size=60),
    st.floats(0.001, 1.0),
    st.sampled_from([2, 4, 16, LIMIT]),
)
def test_is_what_sorting_says(values: list[float], fraction: float, limit: int) -> None:
    expected = sorted(values, reverse=True)[share_of(fraction, len(values)) - 1]
    assert found(values, fraction, limit)[0].value == expected


@given(NUMBERS, NUMBERS)
def test_integers_order_as_the_numbers_do(a: float, b: float) -> None:
    assert (ordered(a) < ordered(b)) == (a < b)
    assert (ordered(a) == ordered(b)) == (a == b)
    assert from_ordered(ordered(a)) == a
    assert 0 <= ordered(a) < 2**64


def test_there_is_one_zero() -> None:
    assert ordered(-0.0) == ordered(0.0)
    assert str(found([-0.0, 0.0], 1.0)[0].value) == "0.0"


@pytest.mark.parametrize(
    ("fraction", "number", "share"),
    [(0.07, 100, 7), (0.1, 30, 3), (0.1, 31, 4), (1.0, 9, 9), (1e-9, 5, 1), (0.5, 0, 0)],
)
def test_a_share_is_of_the_decimal_as_written(fraction: float, number: int, share: int) -> None:
    assert share_of(fraction, number) == share
    assert math.ceil(0.07 * 100) == 8  # why floats are not multiplied


def test_one_reading_where_few_numbers_differ() -> None:
    assert found([1.0, 2.0, 3.0] * 10_000, 0.1)[1] == 1


def test_memory_is_bounded_however_many_numbers_differ() -> None:
    """200,000 different numbers: `found` asserts on every one that the counts stay within LIMIT."""
    values = np.random.default_rng(0).normal(3.0, 1.0, 200_000)
    highest, readings = found(values.tolist(), 0.1)
    assert highest.value == np.sort(values)[-20_000]
    assert readings == 2


def test_four_readings_at_most_for_numbers_from_everywhere() -> None:
    """Numbers over all exponents and, around one of them, over all its last bits."""
    rng = np.random.default_rng(1)
    everywhere = rng.integers(0, 2**63 - 2**53, 1000).view(np.float64)
    close = (np.float64(1.5).view(np.int64) + np.arange(2000)).view(np.float64)
    values = np.concatenate([everywhere, -everywhere, close, close[:1] + 2.0**-30]).tolist()
    for fraction in (0.01, 0.2, 0.5, 0.99):
        highest, readings = found(values, fraction, limit=256)
        assert highest.value == sorted(values, reverse=True)[share_of(fraction, len(values)) - 1]
        assert readings <= 8  # 2^8 bins settle 8 of 64 bits each
