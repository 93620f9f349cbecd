"""Draws of documents, and the intervals that follow."""

import numpy as np
import pytest

from evaljudge.agreement.bootstrap import interval, multiplicities


def test_a_resample_draws_as_many_documents_as_there_are() -> None:
    (weights,) = multiplicities(7, resamples=50, seed=0, block=50)
    assert weights.shape == (50, 7)
    assert set(weights.sum(axis=1)) == {7.0}


def test_draws_do_not_depend_on_the_block() -> None:
    (whole,) = multiplicities(9, resamples=20, seed=5, block=20)
    parts = list(multiplicities(9, resamples=20, seed=5, block=6))
    assert [len(part) for part in parts] == [6, 6, 6, 2]
    np.testing.assert_array_equal(np.concatenate(parts), whole)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (np.linspace(0.0, 1.0, 41), (0.025, 0.975)),
        ([np.nan, 0.5], (0.5, 0.5)),
        ([np.nan, np.nan, 0.5], (None, None)),
        ([np.nan], (None, None)),
    ],
)
def test_interval(values: list[float], expected: tuple[float | None, float | None]) -> None:
    assert interval(np.array(values)) == pytest.approx(expected)
