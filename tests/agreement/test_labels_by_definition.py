"""Kappa and alpha: published and hand-worked examples, scikit-learn, and loops."""

import tracemalloc
from collections.abc import Sequence
from dataclasses import replace
from itertools import permutations
from math import isfinite, isnan, nan

import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score

from evaljudge.agreement.coefficients import BUDGET
from evaljudge.agreement.documents import percentiles
from evaljudge.agreement.labels import (
    MOST_LABELS,
    LabelAgreement,
    Metric,
    Weights,
    cohen_kappa,
    krippendorff_alpha,
)
from tests.fishers import redrawn

WEIGHTS: tuple[Weights | None, ...] = (None, "linear", "quadratic")
METRICS: tuple[Metric, ...] = ("nominal", "ordinal", "interval")
# Krippendorff's own example: four observers, twelve units.
OBSERVED = [
    [1, 2, 3, 3, 2, 1, 4, 1, 2, nan, nan, nan],
    [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, nan, 3],
    [nan, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, nan],
    [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, nan],
]


@pytest.mark.parametrize(
    ("metric", "published"), [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849)]
)
def test_krippendorffs_example(metric, published):
    units = [list(unit) for unit in zip(*OBSERVED, strict=True)]
    found = krippendorff_alpha(units, range(12), metric=metric)
    assert found.value == pytest.approx(published, abs=0.0005)
    assert (found.n, found.skipped) == (11, 1)


LABELS = [1.0, 2.0, 4.0, 7.0]  # labels are apart as their values are


def random_labels(seed: int) -> tuple[list[float], list[float], list[int]]:
    stream = np.random.default_rng(seed)
    size = int(stream.integers(6, 40))
    truth = stream.choice(LABELS, size=size)
    sides = [
        np.where(stream.random(size) < 0.6, truth, stream.choice(LABELS, size=size))
        for _ in range(2)
    ]
    for side in sides:
        side[stream.random(size) < 0.1] = nan
    return list(sides[0]), list(sides[1]), [int(code) for code in stream.integers(0, 5, size=size)]


def kappa_by_loops(a: Sequence[float], b: Sequence[float], weights: Weights | None) -> float:
    pairs = [(x, y) for x, y in zip(a, b, strict=True) if isfinite(x) and isfinite(y)]
    if min(len({x for x, _ in pairs}), len({y for _, y in pairs})) < 2:
        return nan
    power = {None: 0, "linear": 1, "quadratic": 2}[weights]

    def apart(x: float, y: float) -> float:
        return 0.0 if x == y else abs(x - y) ** power

    observed = sum(apart(x, y) for x, y in pairs) / len(pairs)
    expected = sum(apart(x, y) for x, _ in pairs for _, y in pairs) / len(pairs) ** 2
    return 1 - observed / expected if expected else nan


@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("seed", range(15))
def test_kappa(weights, seed):
    a, b, documents = random_labels(seed)
    found = cohen_kappa(a, b, documents, weights=weights, resamples=0)
    both = np.isfinite(a) & np.isfinite(b)
    expected = cohen_kappa_score(
        np.array(a)[both], np.array(b)[both], weights=weights, labels=[*range(1, 8)]
    )
    assert found.value == pytest.approx(expected)
    assert found.value == pytest.approx(kappa_by_loops(a, b, weights))
    assert (found.n, found.skipped) == (both.sum(), (~both).sum())


def alpha_by_loops(units: Sequence[Sequence[float]], metric: Metric) -> float:
    kept = [[v for v in unit if isfinite(v)] for unit in units]
    kept = [unit for unit in kept if len(unit) > 1]
    everyone = [value for unit in kept for value in unit]

    def apart(x: float, y: float) -> float:
        if metric == "nominal":
            return float(x != y)
        if metric == "interval":
            return (x - y) ** 2
        low, high = min(x, y), max(x, y)
        between = sum(low <= value <= high for value in everyone)
        return (between - (everyone.count(x) + everyone.count(y)) / 2) ** 2 if x != y else 0.0

    observed = sum(apart(*two) / (len(unit) - 1) for unit in kept for two in permutations(unit, 2))
    expected = sum(apart(*two) for two in permutations(everyone, 2))
    if expected == 0:
        return nan
    return 1 - (observed / len(everyone)) / (expected / (len(everyone) * (len(everyone) - 1)))


def random_ratings(seed: int) -> tuple[list[list[float]], list[int]]:
    stream = np.random.default_rng(seed)
    size, raters = int(stream.integers(5, 20)), int(stream.integers(2, 6))
    truth = stream.integers(0, 4, size=(size, 1)) / 3
    noise = stream.choice([-1 / 3, 0, 0, 0, 2 / 3], size=(size, raters))
    table = np.round(truth + noise, 3)
    table[stream.random(table.shape) < 0.3] = nan
    return table.tolist(), [int(code) for code in stream.integers(0, 4, size=size)]


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("seed", range(15))
def test_alpha(metric, seed):
    units, documents = random_ratings(seed)
    found = krippendorff_alpha(units, documents, metric=metric, resamples=0)
    value = nan if found.value is None else found.value
    assert value == pytest.approx(alpha_by_loops(units, metric), nan_ok=True)
    assert found.n + found.skipped == len(units)
    assert found.n == sum(sum(map(isfinite, unit)) > 1 for unit in units)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("weights", WEIGHTS)
def test_intervals_of_kappa(weights, seed):
    a, b, documents = random_labels(seed)
    found = cohen_kappa(a, b, documents, weights=weights, resamples=60, seed=4)
    kept = [isfinite(x) and isfinite(y) for x, y in zip(a, b, strict=True)]
    values = [
        kappa_by_loops([a[i] for i in rows], [b[i] for i in rows], weights)
        for rows in redrawn(documents, 60, 4, kept)
    ]
    assert (found.low, found.high) == pytest.approx(percentiles(np.array(values)))


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("metric", METRICS)
def test_intervals_of_alpha(metric, seed):
    units, documents = random_ratings(seed + 20)
    found = krippendorff_alpha(units, documents, metric=metric, resamples=60, seed=4)
    kept = [sum(map(isfinite, unit)) > 1 for unit in units]
    values = [
        alpha_by_loops([units[i] for i in rows], metric) for rows in redrawn(documents, 60, 4, kept)
    ]
    assert (found.low, found.high) == pytest.approx(percentiles(np.array(values)))


def test_measurements_are_not_labels():
    labels = np.append(np.tile(np.arange(MOST_LABELS) / 7, 2), nan)
    found = cohen_kappa(labels, labels, range(labels.size), resamples=9)
    assert (found.value, found.n, found.skipped) == (1.0, 2 * MOST_LABELS, 1)
    more = np.append(labels, 99.5)
    found = cohen_kappa(more, more, range(more.size))
    assert found == LabelAgreement(None, None, None, n=2 * MOST_LABELS + 1, skipped=1)


@pytest.mark.parametrize("weights", WEIGHTS)
def test_one_label_throughout_has_no_kappa(weights):
    nothing = LabelAgreement(None, None, None, 3, 0, 2 / 3, 2 / 3, documents=3)
    assert cohen_kappa([3, 3, 3], [3, 4, 3], range(3), weights=weights) == nothing
    other = cohen_kappa([3, 4, 3], [3, 3, 3], range(3), weights=weights)
    assert other == replace(nothing, base_rate=1.0)


def test_what_agrees_and_what_is_common_stand_beside_kappa():
    """Nearly all is labelled 5: nine in ten agree, and that is what chance gives."""
    judge, people = [5] * 18 + [4, 5], [5] * 18 + [5, 4]
    found = cohen_kappa(judge, people, range(20))
    assert found.value is not None and found.value < 0
    assert (found.agreed, found.base_rate) == (0.9, 0.95)


@pytest.mark.parametrize("metric", METRICS)
def test_what_agrees_and_what_is_common_stand_beside_alpha(metric):
    """Of three raters' pairs, and of two: each value counts once, each pair by 1 / (m - 1)."""
    units = [[1, 1, 2], [1, 1, nan], [nan, 3, nan], [2, nan, 1]]
    found = krippendorff_alpha(units, range(4), metric=metric, resamples=0)
    assert found.agreed == pytest.approx((3 * (2 / 6) + 2 * 1 + 2 * 0) / 7)
    assert found.base_rate == pytest.approx(5 / 7)


def test_a_resample_of_one_label_throughout_does_not_count():
    found = cohen_kappa([1, 2, 2, 1], [1, 2, 1, 1], [0, 0, 1, 1])
    assert (found.value, found.low, found.high) == (0.5, 0.5, 1.0)


def test_resamples_of_many_distinct_values_are_done_in_blocks():
    ratings = np.random.default_rng(0).normal(size=(200, 8))
    tracemalloc.start()
    try:
        found = krippendorff_alpha(ratings, range(200), metric="ordinal")
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert found.low is not None
    # All 1,000 resamples of 5,600 differing pairs at once would be 45 MB for each temporary.
    assert peak < 8 * 8 * BUDGET


def test_what_does_not_vary_has_no_value():
    nothing = LabelAgreement(None, None, None, 3, 0, 1.0, 1.0, documents=3)
    assert cohen_kappa([0.1] * 3, [0.1] * 3, range(3)) == nothing
    for metric in METRICS:
        assert krippendorff_alpha([[0.1] * 3] * 3, range(3), metric=metric) == nothing


def test_what_does_not_vary_or_is_not_rated_twice_has_no_value():
    for metric in METRICS:
        found = krippendorff_alpha([[1, nan], [nan, 2]], [0, 1], metric=metric)
        assert found == LabelAgreement(None, None, None, n=0, skipped=2)
    empty = cohen_kappa([nan], [1], [0])
    assert empty == LabelAgreement(None, None, None, n=0, skipped=1)
    found = cohen_kappa([1, 2, 1], [1, 2, 2], [7, 7, 7])
    assert found.value is not None and not isnan(found.value)
    assert (found.low, found.high) == (None, None)
