"""Draws, intervals, and the sample that stands in for very many candidates."""

import numpy as np
import pytest
from scipy import stats

from evaljudge.agreement import MAX_POOLED, agreements
from evaljudge.agreement.bootstrap import interval, multiplicities
from evaljudge.agreement.pairs import Floats, paired
from evaljudge.agreement.pooled import pool, pooled_correlations
from evaljudge.agreement.summary import sampled_documents


def long_form(documents: int, systems: int) -> tuple[Floats, ...]:
    """Documents that differ in level, so that candidates of one are not independent."""
    stream = np.random.default_rng(1)
    level = np.repeat(stream.normal(size=documents), systems)
    human = np.round(level + stream.normal(size=level.size), 1)
    scores = human + stream.normal(size=level.size)
    document = np.repeat(np.arange(documents), systems)
    return document, np.tile(np.arange(systems), documents), scores, human


def test_a_resample_draws_as_many_documents_as_there_are() -> None:
    (weights,) = multiplicities(7, resamples=50, seed=0, block=50)
    assert weights.shape == (50, 7)
    assert set(weights.sum(axis=1)) == {7.0}


def test_a_resample_of_equal_scores_is_undefined_though_their_mean_rounds() -> None:
    scores, human = [0.1, 0.1, 0.1, 0.5], [1.0, 2.0, 3.0, 3.0]
    pairs = paired([0, 0, 0, 1], [0, 1, 2, 0], scores, human)
    only_the_first = np.array([[float(times), 0.0] for times in range(1, 20)])
    replicate = pooled_correlations(pool(pairs, np.arange(2)), only_the_first)
    assert np.isnan(replicate).all()


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
    pairs = paired(*long_form(MAX_POOLED // 8, 8))
    assert sampled_documents(pairs, seed=0).size == pairs.document_count


def test_above_the_limit_whole_documents_are_sampled() -> None:
    chosen = sampled_documents(paired(*long_form(600, 8)), seed=0)
    assert chosen.size == MAX_POOLED // 8
    assert len(set(chosen)) == chosen.size


def test_a_sampled_interval_estimates_that_of_all_documents() -> None:
    columns = long_form(900, 8)
    found = [one for one in agreements(*columns) if one.level == "summary"]
    pairs = paired(*columns)
    (weights,) = multiplicities(900, resamples=1000, seed=0, block=1000)
    complete = pooled_correlations(pool(pairs, np.arange(900)), weights)
    for one, values in zip(found, complete, strict=True):
        low, high = np.percentile(values, [2.5, 97.5])
        assert one.sampled
        assert one.low is not None and one.high is not None
        assert one.high - one.low == pytest.approx(high - low, rel=0.2)
        assert one.low == pytest.approx(low, abs=0.2 * (high - low))


def test_values_of_very_many_candidates_stay_exact() -> None:
    columns = long_form(900, 8)
    scores, human = columns[2:]
    values = [one.value for one in agreements(*columns, resamples=0) if one.level == "summary"]
    expected = [test(scores, human)[0] for test in (stats.spearmanr, stats.kendalltau)]
    assert values == pytest.approx([*expected, np.corrcoef(scores, human)[0, 1]], abs=1e-12)


def test_only_pooled_statistics_are_sampled() -> None:
    found = agreements(*long_form(900, 8), resamples=10)
    assert {one.level for one in found if one.sampled} == {"summary"}


def test_documents_too_large_to_sample_leave_no_interval() -> None:
    for one in agreements(*long_form(3, MAX_POOLED), resamples=20):
        assert one.value is not None
        assert (one.low is None) == (one.level == "summary")
