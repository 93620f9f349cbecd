"""The sample of documents that stands in for very many candidates, and what is too large."""

import numpy as np
import pytest
from scipy import stats

from evaljudge.agreement import MAX_COMPARED, MAX_POOLED, agreements, summary
from evaljudge.agreement.pairs import Floats, table_of
from evaljudge.agreement.summary import sampled_documents


def long_form(documents: int, systems: int) -> tuple[Floats, ...]:
    """Documents that differ in level, so that candidates of one are not independent."""
    stream = np.random.default_rng(1)
    level = np.repeat(stream.normal(size=documents), systems)
    human = np.round(level + stream.normal(size=level.size), 1)
    scores = human + stream.normal(size=level.size)
    document = np.repeat(np.arange(documents), systems)
    return document, np.tile(np.arange(systems), documents), scores, human


def test_at_the_limit_nothing_is_sampled() -> None:
    pairs = table_of(*long_form(MAX_POOLED // 8, 8))
    assert sampled_documents(pairs, seed=0).size == pairs.document_count


def test_above_the_limit_whole_documents_are_sampled() -> None:
    chosen = sampled_documents(table_of(*long_form(600, 8)), seed=0)
    assert chosen.size == MAX_POOLED // 8
    assert len(set(chosen)) == chosen.size


def test_a_sampled_interval_estimates_that_of_all_documents(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    columns = long_form(900, 8)
    found = agreements(*columns)[-5:]
    monkeypatch.setattr(summary, "MAX_POOLED", 900 * 8)
    for one, whole in zip(found, agreements(*columns)[-5:], strict=True):
        assert (one.sampled, whole.sampled) == (True, False)
        assert None not in (one.low, one.high, whole.low, whole.high)
        # Accuracy is known no better than from the sample's documents.
        widening = (900 * 8 / MAX_POOLED) ** 0.5 if one.coefficient == "accuracy" else 1.0
        assert one.high - one.low == pytest.approx(widening * (whole.high - whole.low), rel=0.15)
        if one.coefficient != "accuracy":
            assert one.value == pytest.approx(whole.value)
            assert one.low < one.value < one.high


def test_values_of_very_many_candidates_stay_exact() -> None:
    columns = long_form(900, 8)
    scores, human = columns[2:]
    found = [one for one in agreements(*columns) if one.level == "summary"]
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
    pooled = agreements(*columns)[-1]
    chosen = np.isin(columns[0], sampled_documents(table_of(*columns), seed=0))
    alone = agreements(*(column[chosen] for column in columns))[-1]
    assert (pooled.value, pooled.epsilon, pooled.n) == (alone.value, alone.epsilon, MAX_POOLED)
    assert pooled.low is not None and pooled.high is not None
    assert pooled.low < pooled.value < pooled.high


def test_only_pooled_statistics_are_sampled() -> None:
    found = agreements(*long_form(900, 8))
    assert {one.level for one in found if one.sampled} == {"summary"}


def test_documents_too_large_to_sample_leave_no_interval() -> None:
    for one in agreements(*long_form(3, MAX_POOLED)):
        if one.coefficient != "accuracy":
            assert one.value is not None
            assert (one.low is None) == (one.level == "summary")


def test_documents_too_large_to_compare_have_no_accuracy() -> None:
    found = [
        one for one in agreements(*long_form(3, MAX_COMPARED + 1)) if one.coefficient == "accuracy"
    ]
    assert [one.value is None for one in found] == [True, True, False]
    assert (found[0].n, found[0].skipped) == (0, 3)
