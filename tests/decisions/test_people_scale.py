"""Means on people's scale from few labels: the published package's numbers, laws, coverage."""

from __future__ import annotations

import importlib
import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evaljudge.decisions.people import PassRate, PeopleScale, pass_rate, people_scale
from evaljudge.decisions.powered import NOTHING, Terms, labelled, powered

BENCHES = Path(__file__).parents[2] / "benches"
NAN = np.nan
NAMES = ["A", "B", "C"]


def waves() -> tuple[np.ndarray, np.ndarray]:
    """Scores and ratings of 30 documents and 3 systems; 12 documents are rated."""
    d, s = np.arange(30)[:, None], np.arange(3)
    scores = 1 + 0.8 * np.sin(1.7 * d + s) + 0.1 * s
    ratings = 3 + 0.8 * np.sin(1.7 * d + s) + 0.9 * np.cos(2.3 * d + 3 * s) + 0.2 * s
    return scores, np.where(d * 7 % 30 < 12, np.round(ratings, 3), NAN)


def found(scores: Any, human: Any, probabilities: Any = None) -> PeopleScale:
    names = NAMES[: np.shape(scores)[1]]
    return people_scale(names, np.asarray(scores), np.asarray(human), probabilities)


@pytest.fixture
def promises(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHES))
    return importlib.import_module("promises_people_scale")


# ppi-python 0.2.3, of `waves` with S systems, Y, Yhat and Yhat_unlabeled of its 12 and 18 rows:
# ppi_mean_pointestimate(Y, Yhat, Yhat_unlabeled), ppi_mean_ci(Y, Yhat, Yhat_unlabeled, alpha=0.05)
PUBLISHED = {
    1: ([2.985530876599], [2.573216227691], [3.397845525507]),
    3: (
        [2.980499984956, 3.238917156189, 3.377467372638],
        [2.568239506570, 2.822193326327, 2.944213202463],
        [3.392760463342, 3.655640986051, 3.810721542813],
    ),
}


@pytest.mark.parametrize("systems", PUBLISHED)
def test_the_published_package_gives_what_the_bench_compares_with(promises, systems):
    scores, human = waves()
    rows = promises.published(scores[:, :systems], human[:, :systems])
    for name, published in zip(("value", "low", "high"), PUBLISHED[systems], strict=True):
        assert [getattr(row, name) for row in rows] == pytest.approx(published, abs=1e-6)


def test_neither_a_judge_s_scale_nor_its_bias_for_a_system_matters():
    scores, human = waves()
    plain, other = found(scores, human), found(40 * scores + [0, 7, -300], human)
    for one, two in zip(plain.systems, other.systems, strict=True):
        assert two.corrected.value == pytest.approx(one.corrected.value)
        assert two.corrected.high == pytest.approx(one.corrected.high)
    for mine, theirs in zip(plain.differences, other.differences, strict=True):
        assert theirs.corrected.low == pytest.approx(mine.corrected.low)
    assert other.slope == pytest.approx(plain.slope / 40)  # type: ignore[operator]
    assert other.systems[1].judge == pytest.approx(40 * plain.systems[1].judge + 7)  # type: ignore[operator]


@pytest.mark.parametrize("which", ["means", "differences", "together"])
def test_variances_are_those_of_leaving_out_each_document(which):
    scores, human = waves()
    own = np.eye(3)
    pairs = np.array([[1, 1, 0], [-1, 0, 1], [0, -1, -1]], float)
    of, tuned_for = {
        "means": (own, own),
        "differences": (pairs, own - 1 / 3),
        "together": (np.full((3, 1), 1 / 3), np.full((3, 1), 1 / 3)),
    }[which]

    def corrected(kept: Any) -> Any:
        return powered(Terms(labelled(scores[kept], human[kept])), of, tuned_for).corrected

    document, whole = np.arange(30), corrected(slice(None))
    is_rated = np.isfinite(human[:, 0])
    factor = np.where(is_rated, 11 / 12, 1.0)[:, None]
    moved = np.array([corrected(document != one).values for one in document]) - whole.values
    assert np.sqrt(whole.variances) == pytest.approx(
        np.sqrt(np.sum(factor * moved**2, axis=0)), rel=0.02
    )


def test_a_judge_that_tells_nothing_leaves_the_labels_alone():
    _, human = waves()
    one = found(np.full_like(human, 0.1), human)
    assert one.slope == 0 and one.effective == 36 and one.p_random is None
    assert all(row.corrected == row.by_labels for row in one.systems)
    rated = human[np.isfinite(human[:, 0]), 0]
    reach = 2.200985 * rated.std(ddof=1) / np.sqrt(12)  # Student's t at 11 degrees of freedom
    assert one.systems[0].by_labels.value == pytest.approx(rated.mean())
    assert one.systems[0].by_labels.high == pytest.approx(rated.mean() + reach, abs=1e-6)


def test_an_exact_judge_s_scores_of_all_texts_count_as_ratings():
    # labels that leave the mean and spread of the scores as they are
    scores = np.tile([[1.0], [2.0], [3.0], [4.0]], (8, 1))
    human = np.where(np.arange(32)[:, None] < 8, 10 - 2 * scores, NAN)
    one = found(scores, human)
    assert one.slope == pytest.approx(-2)
    assert one.systems[0].corrected.value == pytest.approx(5)
    assert one.systems[0].effective == pytest.approx(32, rel=0.02)


def test_a_label_counts_for_as_many_texts_as_it_was_drawn_from():
    human = np.full((40, 1), NAN)
    human[:8, 0] = [1, 1, 1, 1, 5, 5, 5, 5]
    probabilities = np.full((40, 1), 0.5)
    probabilities[4:8] = 0.1
    one = found(np.zeros((40, 1)), human, probabilities).systems[0]
    assert one.by_labels.value == pytest.approx((4 * 2 * 1 + 4 * 10 * 5) / (4 * 2 + 4 * 10))
    probabilities[7] = NAN  # rated, but not drawn
    assert found(np.zeros((40, 1)), human, probabilities).labels == 7


def test_systems_with_too_few_labels_stay_without_a_mean():
    scores, human = waves()
    human[5:, 1] = NAN
    one = found(scores, human)
    assert one.systems[1].labels < 6 and one.systems[1].corrected.value is None
    assert one.systems[1].judge == pytest.approx(scores[:, 1].mean())
    assert [(row.system, row.other) for row in one.differences] == [("A", "C")]
    none = found(scores, np.where(np.arange(30)[:, None] < 3, human, NAN))
    assert none.slope is None and none.together.value is None and none.labels > 0


def test_few_labels_of_each_system_tell_of_all_texts_together():
    scores, human = waves()
    chosen = np.zeros_like(human, bool)
    chosen[[0, 3, 6], 0] = chosen[[3, 9, 12], 1] = chosen[[13, 20], 2] = True
    rated = np.where(chosen, scores * 2 + 1, NAN)
    one = found(scores, rated)
    assert one.labels == 8 and one.slope is None
    assert one.together_by_labels.value == pytest.approx(np.nanmean(rated))
    truth = 2 * scores.mean() + 1  # the judge is exact
    assert one.together.value is not None
    assert abs(one.together.value - truth) < 0.5 * abs(np.nanmean(rated) - truth)
    # where nobody rated a system that would have been drawn by chance, nothing is said of all
    assert found(scores, np.where([True, True, False], human, NAN)).together.value is None
    # each system's labels stand for its texts, where each has enough
    more = np.where((np.arange(30)[:, None] < 20) & np.array([True, False, False]), scores, human)
    means = [row.by_labels.value for row in found(scores, more).systems]
    assert found(scores, more).together_by_labels.value == pytest.approx(np.mean(means))  # type: ignore[arg-type]


def test_only_where_a_part_is_rated():
    scores, human = waves()
    assert people_scale(NAMES, scores, np.full_like(human, NAN)) is None
    assert people_scale(NAMES, scores, scores) is None
    everywhere = np.where([True, False, True], scores, human)  # two systems are rated throughout
    row = found(scores, everywhere).systems[0]
    assert row.corrected.value == pytest.approx(scores[:, 0].mean())


def test_ratings_that_are_all_equal_have_no_interval():
    scores, human = waves()
    row = found(scores, np.where(np.isfinite(human), 5.0, NAN)).systems[0]
    assert row.by_labels.value == 5 and row.by_labels.low is None


def test_labels_chosen_by_their_scores_are_accused_and_random_ones_are_not():
    scores, human = waves()
    assert found(scores, human).p_random > 0.1  # type: ignore[operator]
    best = np.argsort(-scores.mean(axis=1))[:12]
    human[:] = NAN
    human[best] = scores[best]
    assert found(scores, human).p_random < 0.001  # type: ignore[operator]


@pytest.mark.parametrize("seed", range(60))
def test_odd_tables_give_finite_figures_or_none(seed):
    rng = np.random.default_rng(seed)
    shape = rng.integers(1, 25), rng.integers(1, 5)
    kinds = [rng.normal(0, 1e8, shape), np.full(shape, 0.1), rng.integers(1, 3, shape) * 1.0]
    scores, human = (np.where(rng.random(shape) < 0.3, NAN, kinds[rng.integers(3)]) for _ in "ab")
    probabilities = np.where(rng.random(shape) < 0.2, NAN, rng.uniform(0.01, 1, shape))
    for drawn in (None, probabilities):
        one = people_scale([*map(str, range(shape[1]))], scores, human, drawn)
        rate = pass_rate(scores, human, drawn, threshold=1.5, good=1.5)
        json.dumps([found and asdict(found) for found in (one, rate)], allow_nan=False)


WORLDS = [
    "10 of 100 documents",
    "20 documents, strong document effects",
    "near the threshold, whole points, missing cells",
]


@pytest.mark.parametrize("name", WORLDS)
def test_intervals_hold_the_truth_as_often_as_they_promise(promises, name):
    rows = {r["promise"]: r for r in promises.of_world(promises.WORLDS[name], 80, (20,))}
    assert len(rows) == 5
    for row in rows.values():
        assert row["kept"] >= 71  # of 80: fewer happen once in 200 times at 95%
    assert rows["mean of a system"]["width"] < 0.9


def rate_of(right_good: int, wrong_good: int, right_bad: int, wrong_bad: int) -> PassRate:
    """Of 100 documents with one text, 60 pass; the first ones are rated."""
    passes = [1] * right_good + [0] * wrong_good + [0] * right_bad + [1] * wrong_bad
    ratings: list[Any] = [5] * (right_good + wrong_good) + [2] * (right_bad + wrong_bad)
    rest = 60 - sum(passes)
    passes += [1] * rest + [0] * (100 - len(passes) - rest)
    ratings += [NAN] * (100 - len(ratings))
    tables = np.array(passes, float)[:, None], np.array(ratings, float)[:, None]
    return pass_rate(*tables, threshold=0.5, good=4)


def test_the_share_of_good_texts_by_hand():
    rate = rate_of(18, 2, 8, 2)
    assert (rate.passing, rate.by_labels.value) == pytest.approx((0.6, 20 / 30))
    # the labels' rate, and by the slope of being good on passing what the other texts say
    is_good, passes = np.repeat([1, 1, 0, 0], [18, 2, 8, 2]), np.repeat([1, 0, 0, 1], [18, 2, 8, 2])
    slope = np.polyfit(passes, is_good, 1)[0]
    assert rate.corrected.value == pytest.approx(20 / 30 + slope * (0.6 - 20 / 30), abs=0.005)


def test_few_rated_documents_say_nothing():
    rate = rate_of(2, 0, 3, 0)
    assert (rate.labels, rate.by_labels, rate.corrected) == (5, NOTHING, NOTHING)
    assert rate_of(2, 0, 4, 0).corrected.value is not None
