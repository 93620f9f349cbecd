"""Rogan and Gladen's pass rate: by hand, its interval by trying, and where there is none."""

from __future__ import annotations

from math import sqrt
from typing import Any

import numpy as np
import pytest
from scipy import stats

from evaljudge.decisions.pass_rate import BLIND, FEW, NO_BAD, NO_GOOD, PassRate, pass_rate

NAN = np.nan


def found(scores: Any, human: Any, probabilities: Any = None) -> PassRate:
    one = pass_rate(np.asarray(scores), np.asarray(human), probabilities, threshold=0.5, good=4)
    assert one is not None
    return one


def table(right_good: int, wrong_good: int, right_bad: int, wrong_bad: int) -> Any:
    """Of 100 documents with one text, 60 pass; the first ones are rated."""
    passes = [1] * right_good + [0] * wrong_good + [0] * right_bad + [1] * wrong_bad
    ratings = [5] * (right_good + wrong_good) + [2] * (right_bad + wrong_bad)
    rest = 60 - sum(passes)
    passes += [1] * rest + [0] * (100 - len(passes) - rest)
    ratings += [NAN] * (100 - len(ratings))
    return np.array(passes, float)[:, None], np.array(ratings, float)[:, None]


def test_by_hand() -> None:
    one = found(*table(18, 2, 8, 2))
    assert (one.sensitivity, one.specificity, one.passing) == pytest.approx((0.9, 0.8, 0.6))
    assert one.rogan_gladen.value == pytest.approx((0.6 + 0.8 - 1) / 0.7)
    assert one.by_labels.value == pytest.approx(20 / 30)
    # the labels' rate, and by the slope of being good on passing what the other texts say
    is_good, passes = np.repeat([1, 1, 0, 0], [18, 2, 8, 2]), np.repeat([1, 0, 0, 1], [18, 2, 8, 2])
    slope = np.polyfit(passes, is_good, 1)[0]
    assert one.corrected.value == pytest.approx(20 / 30 + slope * (0.6 - 20 / 30), abs=0.005)
    assert 0 < one.rogan_gladen.low < one.rogan_gladen.value < one.rogan_gladen.high < 1  # type: ignore[operator]


def test_the_interval_ends_where_leaving_out_documents_explains_the_distance() -> None:
    rng = np.random.default_rng(3)
    effect, shape = rng.normal(0, 1, (40, 1)), (40, 3)
    ratings = np.where(rng.normal(0, 1, shape) + effect > 0, 5.0, 2.0)
    scores = (ratings > 3) * 0.6 + rng.normal(0.1, 0.3, shape)
    human = np.where(np.arange(40)[:, None] < 25, ratings, NAN)
    one = found(scores, human).rogan_gladen

    def distance(share: float, without: int | None = None) -> float:
        """What passes, less what would pass if this share were good."""
        kept = np.arange(40) != without
        passes, rated = scores[kept] >= 0.5, np.isfinite(human[kept])
        good = rated & (human[kept] >= 4)
        wrong = np.mean(passes[rated & ~good])
        return float(np.mean(scores >= 0.5) - share * np.mean(passes[good]) - (1 - share) * wrong)

    def of_passing(without: int) -> float:
        own = scores[without] >= 0.5
        return float(np.sum(own - np.mean(scores >= 0.5)) / (120 - 3))

    reach = stats.t.ppf(0.975, 24)
    for end in (one.low, one.high):
        assert end is not None
        moved = [distance(end) - distance(end, d) + of_passing(d) for d in range(40)]
        error = sqrt(24 / 25 * np.sum(np.square(moved)))
        assert abs(distance(end)) == pytest.approx(reach * error, rel=1e-6)


@pytest.mark.parametrize(
    ("counts", "reason"),
    [
        ((20, 2, 0, 1), NO_BAD),
        ((1, 0, 20, 5), NO_GOOD),
        ((10, 10, 5, 5), BLIND),
        ((2, 0, 2, 0), FEW),
    ],
)
def test_where_there_is_none_it_says_why(counts: Any, reason: str) -> None:
    one = found(*table(*counts))
    assert one.reason == reason
    assert one.rogan_gladen.value is None
    assert (one.sensitivity is None) == (reason != BLIND)


def test_a_judge_that_hardly_tells_good_from_bad_leaves_any_share() -> None:
    one = found(*table(11, 9, 5, 5))
    assert one.reason == ""
    assert (one.rogan_gladen.low, one.rogan_gladen.high) == (0, 1)


def test_probabilities_weigh_the_errors() -> None:
    scores, human = table(18, 2, 8, 2)
    probabilities = np.full_like(scores, 0.3)
    probabilities[18:20] = 0.1  # good texts that fail: each stands for ten
    one = found(scores, human, probabilities)
    assert one.sensitivity == pytest.approx((18 / 0.3) / (18 / 0.3 + 2 / 0.1))
