"""Draws, intervals, and the sample that stands in for very many candidates."""

from math import sqrt
from typing import get_args

import numpy as np
import pytest
from scipy import stats

from evaljudge.agreement import MAX_COMPARED, MAX_POOLED, Resampled, agreements
from evaljudge.agreement.bootstrap import Draws, drawn, interval, multiplicities
from evaljudge.agreement.pairs import Floats, table_of
from evaljudge.agreement.summary import pool, pooled_coefficients, sampled_documents


def long_form(documents: int, systems: int, apart: float = 0.0) -> tuple[Floats, ...]:
    """Documents that differ in level, so that candidates of one are not independent."""
    stream = np.random.default_rng(1)
    level = np.repeat(stream.normal(size=documents), systems)
    human = np.round(level + stream.normal(size=level.size), 1)
    scores = human + stream.normal(size=level.size)
    scores += apart * np.tile(np.arange(systems) % 3, documents)
    document = np.repeat(np.arange(documents), systems)
    return document, np.tile(np.arange(systems), documents), scores, human


def test_a_resample_draws_as_many_documents_as_there_are() -> None:
    (weights,) = multiplicities(7, resamples=50, seed=0, block=50)
    assert weights.shape == (50, 7)
    assert set(weights.sum(axis=1)) == {7.0}


def test_a_resample_of_equal_scores_is_undefined_though_their_mean_rounds() -> None:
    scores, human = [0.1, 0.1, 0.1, 0.5], [1.0, 2.0, 3.0, 3.0]
    pairs = table_of([0, 0, 0, 1], [0, 1, 2, 0], scores, human)
    only_the_first = np.array([[float(times), 0.0] for times in range(1, 20)])
    draws = Draws(only_the_first, np.ones((19, 3)))
    replicate = pooled_coefficients(pool(pairs, np.arange(2)), draws)[0]
    assert np.isnan(replicate[:-1]).all()


def test_draws_do_not_depend_on_the_block() -> None:
    (whole,) = multiplicities(9, resamples=20, seed=5, block=20)
    parts = list(multiplicities(9, resamples=20, seed=5, block=6))
    assert [len(part) for part in parts] == [6, 6, 6, 2]
    np.testing.assert_array_equal(np.concatenate(parts), whole)


def test_a_seed_repeats_and_another_differs() -> None:
    columns = long_form(20, 4)
    assert agreements(*columns, seed=1) == agreements(*columns, seed=1)
    assert agreements(*columns, seed=1) != agreements(*columns, seed=2)


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


def test_at_the_limit_nothing_is_sampled() -> None:
    pairs = table_of(*long_form(MAX_POOLED // 8, 8))
    assert sampled_documents(pairs, seed=0).size == pairs.document_count


def test_above_the_limit_whole_documents_are_sampled() -> None:
    chosen = sampled_documents(table_of(*long_form(600, 8)), seed=0)
    assert chosen.size == MAX_POOLED // 8
    assert len(set(chosen)) == chosen.size


@pytest.mark.parametrize("resample", get_args(Resampled))
def test_a_sampled_interval_estimates_that_of_all_documents(resample: Resampled) -> None:
    columns = long_form(540, 8, apart=2.0)
    found = agreements(*columns, resample=resample, resamples=150)[-5:]
    pairs = table_of(*columns)
    (draws,) = drawn((540, 8), resample, resamples=150, seed=0, block=150)
    complete = pooled_coefficients(pool(pairs, np.arange(540), resample), draws)[0]
    for one, values in zip(found, complete, strict=True):
        low, high = np.percentile(values, [2.5, 97.5])
        # Accuracy is known no better than from the sample's documents.
        widening = sqrt(540 * 8 / MAX_POOLED) if one.coefficient == "accuracy" else 1.0
        assert one.sampled
        assert one.low is not None and one.high is not None
        if resample == "documents" or one.coefficient != "accuracy":
            assert one.high - one.low == pytest.approx(widening * (high - low), rel=0.2)
        assert one.low == pytest.approx(low, abs=0.6 * widening * (high - low))


def test_values_of_very_many_candidates_stay_exact() -> None:
    columns = long_form(900, 8)
    scores, human = columns[2:]
    found = [one for one in agreements(*columns, resamples=0) if one.level == "summary"]
    expected = [
        stats.spearmanr(scores, human).statistic,
        stats.kendalltau(scores, human).statistic,
        np.corrcoef(scores, human)[0, 1],
        stats.kendalltau(scores, human, variant="c").statistic,
    ]
    assert [one.value for one in found[:-1]] == pytest.approx(expected, abs=1e-12)
    assert {one.n for one in found[:-1]} == {7200}


def test_accuracy_of_very_many_candidates_is_that_of_a_sample() -> None:
    columns = long_form(900, 8)
    pooled = agreements(*columns, resamples=100)[-1]
    chosen = np.isin(columns[0], sampled_documents(table_of(*columns), seed=0))
    alone = agreements(*(column[chosen] for column in columns), resamples=100)[-1]
    assert (pooled.value, pooled.epsilon, pooled.n) == (alone.value, alone.epsilon, MAX_POOLED)
    assert pooled.low is not None and pooled.high is not None
    assert pooled.low < pooled.value < pooled.high


def test_only_pooled_statistics_are_sampled() -> None:
    found = agreements(*long_form(900, 8), resamples=10)
    assert {one.level for one in found if one.sampled} == {"summary"}


def test_documents_too_large_to_sample_leave_no_interval() -> None:
    for one in agreements(*long_form(3, MAX_POOLED), resamples=20):
        if one.coefficient != "accuracy":
            assert one.value is not None
            assert (one.low is None) == (one.level == "summary")


def test_documents_too_large_to_compare_have_no_accuracy() -> None:
    found = [
        one
        for one in agreements(*long_form(3, MAX_COMPARED + 1), resamples=5)
        if one.coefficient == "accuracy"
    ]
    assert [one.value is None for one in found] == [True, True, False]
    assert (found[0].n, found[0].skipped) == (0, 3)


def test_documents_too_large_to_compare_leave_no_interval_over_systems() -> None:
    found = agreements(*long_form(2, MAX_COMPARED + 1), resample="systems", resamples=2)
    for one in found:
        if one.coefficient != "accuracy":
            assert (one.low is None) == (one.level == "sample")


def test_one_system_leaves_no_interval_over_systems() -> None:
    columns = [0, 0, 1, 1], [5, 5, 5, 5], [1, 2, 2, 1], [1, 2, 1, 2]
    for resample in get_args(Resampled):
        found = agreements(*columns, resample=resample)
        assert {one.value is None for one in found if one.level != "system"} == {False}
        assert any(one.low is not None for one in found) == (resample == "documents")


def test_one_document_has_an_interval_over_systems() -> None:
    columns = [0] * 6, [*range(6)], [1, 2, 3, 4, 5, 6], [1, 3, 2, 4, 6, 5]
    assert all(one.low is not None for one in agreements(*columns, resample="systems"))
    assert all(one.low is None for one in agreements(*columns, resample="both"))


def test_documents_and_systems_are_drawn_apart() -> None:
    (both,) = drawn((9, 9), "both", resamples=50, seed=3, block=50)
    (documents,) = drawn((9, 9), "documents", resamples=50, seed=3, block=50)
    (systems,) = drawn((9, 9), "systems", resamples=50, seed=3, block=50)
    np.testing.assert_array_equal(both.documents, documents.documents)
    np.testing.assert_array_equal(both.systems, systems.systems)
    assert (both.documents != both.systems).any()
    assert set(documents.systems.flat) == set(systems.documents.flat) == {1.0}
