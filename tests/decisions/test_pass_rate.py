"""The share of good texts: by hand, and where there is none."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from evaljudge.decisions.people import PassRate, pass_rate
from evaljudge.decisions.powered import NOTHING

NAN = np.nan


def found(right_good: int, wrong_good: int, right_bad: int, wrong_bad: int) -> PassRate:
    """Of 100 documents with one text, 60 pass; the first ones are rated."""
    passes = [1] * right_good + [0] * wrong_good + [0] * right_bad + [1] * wrong_bad
    ratings: list[Any] = [5] * (right_good + wrong_good) + [2] * (right_bad + wrong_bad)
    rest = 60 - sum(passes)
    passes += [1] * rest + [0] * (100 - len(passes) - rest)
    ratings += [NAN] * (100 - len(ratings))
    tables = np.array(passes, float)[:, None], np.array(ratings, float)[:, None]
    rate = pass_rate(*tables, threshold=0.5, good=4)
    assert rate is not None
    return rate


def test_by_hand() -> None:
    rate = found(18, 2, 8, 2)
    assert (rate.passing, rate.by_labels.value) == pytest.approx((0.6, 20 / 30))
    # the labels' rate, and by the slope of being good on passing what the other texts say
    is_good, passes = np.repeat([1, 1, 0, 0], [18, 2, 8, 2]), np.repeat([1, 0, 0, 1], [18, 2, 8, 2])
    slope = np.polyfit(passes, is_good, 1)[0]
    assert rate.corrected.value == pytest.approx(20 / 30 + slope * (0.6 - 20 / 30), abs=0.005)


def test_few_rated_documents_say_nothing() -> None:
    rate = found(2, 0, 3, 0)
    assert (rate.labels, rate.by_labels, rate.corrected) == (5, NOTHING, NOTHING)
    assert found(2, 0, 4, 0).corrected.value is not None
