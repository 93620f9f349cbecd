"""Six candidates of two documents, worked by hand."""

from math import nan, sqrt

import numpy as np
import pytest
from scipy import stats

from evaljudge.agreement import (
    COEFFICIENTS,
    LEVELS,
    MAX_COMPARED,
    MAX_POOLED,
    Agreement,
    Coefficient,
    agreements,
    among,
    summary,
)
from evaljudge.agreement.coefficients import CORRELATIONS, WIDE, row_correlations
from evaljudge.agreement.levels import sample_level, system_level
from evaljudge.agreement.pairs import Floats, table_of
from evaljudge.agreement.summary import sampled_documents, summary_level

DOCUMENTS = [0, 0, 0, 1, 1, 1]
SYSTEMS = [0, 1, 2, 0, 1, 2]
SCORES = [1, 2, 3, 1, 3, 2]
HUMAN = [1, 2, 3, 1, 2, 3]
AXES = {"a": SCORES, "b": HUMAN, "c": [3, 2, 1, 3, 1, 2], "d": [1] * 6}


def named(found: list[Agreement]) -> dict[tuple[str, str], Agreement]:
    return {(one.level, one.coefficient): one for one in found}


def test_levels_and_coefficients_come_in_one_order():
    found = agreements(DOCUMENTS, SYSTEMS, SCORES, HUMAN)
    expected = [(level, coefficient) for level in LEVELS for coefficient in COEFFICIENTS]
    assert [(one.level, one.coefficient) for one in found] == expected


@pytest.mark.parametrize(
    ("level", "coefficient", "value", "n"),
    [
        ("sample", "spearman", (1 + 1 / 2) / 2, 2),  # the second: 1 - 6 * 2 / (3 * 8)
        ("sample", "kendall", (1 + 1 / 3) / 2, 2),  # the second: two pairs agree, one does not
        ("sample", "pearson", (1 + 1 / 2) / 2, 2),
        ("system", "spearman", sqrt(3) / 2, 3),  # ranks 1, 2.5, 2.5 with 1, 2, 3
        ("system", "kendall", 2 / sqrt(2 * 3), 3),  # one tie
        ("system", "pearson", 1.5 / sqrt(1.5 * 2), 3),  # means 1, 2.5, 2.5 with 1, 2, 3
        ("summary", "spearman", 3 / 4, 6),  # ranks 1.5, 3.5, 5.5: linear in the values
        ("summary", "kendall", 8 / 12, 6),  # 15 pairs, 3 tied on either side, 9 less 1
        ("summary", "pearson", 3 / 4, 6),
        ("sample", "kendall_c", (1 + 1 / 3) / 2, 2),  # 2 * 1 / (3^2 * 2 / 3), as nothing is tied
        ("system", "kendall_c", 2 * 2 / (3**2 / 2), 3),  # two pairs agree; two distinct means
        ("summary", "kendall_c", 2 * 8 / (6**2 * 2 / 3), 6),
        ("sample", "accuracy", (1 + 2 / 3) / 2, 2),
        ("system", "accuracy", 2 / 3, 3),  # the third pair is tied for the scorer alone
        ("summary", "accuracy", 10 / 15, 6),  # 9 agree in order, 1 in being tied: 1-1
    ],
)
def test_values(level, coefficient, value, n):
    one = named(agreements(DOCUMENTS, SYSTEMS, SCORES, HUMAN))[level, coefficient]
    assert one.value == pytest.approx(value, abs=1e-12)
    assert (one.n, one.skipped, one.sampled) == (n, 0, False)


def test_what_is_left_out_is_counted():
    documents = [0, 0, 0, 1, 1, 2, 2, 3]
    systems = [0, 1, 2, 0, 1, 0, 1, 3]
    scores = [1, 2, 3, 4, 4, 5, nan, nan]  # document 1 constant, 2 has one pair, 3 none
    human = [1, 2, 3, 1, 2, 3, 4, nan]
    found = named(agreements(documents, systems, scores, human))
    assert (found["sample", "kendall"].n, found["sample", "kendall"].skipped) == (1, 3)
    assert (found["system", "kendall"].n, found["system", "kendall"].skipped) == (3, 1)
    assert (found["summary", "kendall"].n, found["summary", "kendall"].skipped) == (6, 1)


def test_vectors_that_do_not_vary_have_no_value():
    for one in agreements(DOCUMENTS, SYSTEMS, [0.1] * 6, HUMAN):
        if one.coefficient != "accuracy":
            assert (one.value, one.low, one.high) == (None, None, None)
    scores = [0.1, 0.3, 0.2, 0.2, 0.3, 0.1]  # 0.1 + 0.2 + 0.3 in two orders
    assert sum(scores[::2]) != sum(scores[1::2])
    found = named(agreements([0, 0, 1, 1, 2, 2], [0, 1] * 3, scores, [1, 2] * 3))
    assert found["system", "pearson"].value is None
    assert found["summary", "pearson"].value is not None
    scores = [0.1, -0.3, 0.2, 0.2, -0.3, 0.1]
    assert sum(scores[::2]) != sum(scores[1::2])
    found = named(agreements([0, 0, 1, 1, 2, 2], [0, 1] * 3, scores, [1, 2] * 3))
    assert found["system", "pearson"].value is None


def test_only_an_accuracy_says_from_which_difference_on_scores_are_tied():
    found = agreements(DOCUMENTS, SYSTEMS, SCORES, HUMAN)
    assert all((one.epsilon is not None) == (one.coefficient == "accuracy") for one in found)
    alone = agreements([0], [0], [1.0], [1.0])
    assert {(one.value, one.epsilon) for one in alone} == {(None, None)}


def test_a_short_list_among_long_ones_is_as_by_itself():
    columns = np.random.default_rng(0).normal(size=(2, 2, WIDE))
    columns[:, 1, 5:] = np.nan
    alone = row_correlations(*columns[:, 1:, :5])
    assert row_correlations(*columns)[:, 1] == pytest.approx(alone[:, 0])


def test_too_little_is_nothing_found_or_refused():
    found = named(agreements([5] * 6, [*range(6)], SCORES, HUMAN))
    assert found["summary", "pearson"].value == pytest.approx(0.75)
    assert {(one.low, one.high) for one in found.values()} == {(None, None)}
    for one in [*agreements([], [], [], []), *agreements([0, 1], [0, 1], [1, 2], [nan, nan])]:
        assert (one.value, one.low, one.high, one.n) == (None, None, None, 0)
    with pytest.raises(ValueError, match="one length"):
        agreements([0, 0], [0, 1], [1.0], [1.0, 2.0])


def long_form(documents: int, systems: int) -> tuple[Floats, ...]:
    """Documents that differ in level, so that candidates of one are not independent."""
    stream = np.random.default_rng(1)
    level = np.repeat(stream.normal(size=documents), systems)
    human = np.round(level + stream.normal(size=level.size), 1)
    scores = human + stream.normal(size=level.size)
    document = np.repeat(np.arange(documents), systems)
    return document, np.tile(np.arange(systems), documents), scores, human


def test_above_the_limit_whole_documents_are_sampled():
    pairs = table_of(*long_form(MAX_POOLED // 8, 8))
    assert sampled_documents(pairs, seed=0).size == pairs.document_count
    chosen = sampled_documents(table_of(*long_form(600, 8)), seed=0)
    assert chosen.size == MAX_POOLED // 8
    assert len(set(chosen)) == chosen.size


@pytest.mark.long
def test_a_sampled_interval_estimates_that_of_all_documents(monkeypatch):
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


def test_values_of_very_many_candidates_stay_exact():
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


def test_accuracy_of_very_many_candidates_is_that_of_a_sample():
    columns = long_form(900, 8)
    pooled = agreements(*columns)[-1]
    chosen = np.isin(columns[0], sampled_documents(table_of(*columns), seed=0))
    alone = agreements(*(column[chosen] for column in columns))[-1]
    assert (pooled.value, pooled.epsilon, pooled.n) == (alone.value, alone.epsilon, MAX_POOLED)
    assert pooled.low is not None and pooled.high is not None
    assert pooled.low < pooled.value < pooled.high


def test_documents_too_large_have_no_interval_or_no_accuracy():
    for one in agreements(*long_form(3, MAX_POOLED)):
        if one.coefficient != "accuracy":
            assert one.value is not None
            assert (one.low is None) == (one.level == "summary")
    found = [
        one for one in agreements(*long_form(3, MAX_COMPARED + 1)) if one.coefficient == "accuracy"
    ]
    assert [one.value is None for one in found] == [True, True, False]
    assert (found[0].n, found[0].skipped) == (0, 3)


def test_every_pair_comes_once():
    found = among(DOCUMENTS, SYSTEMS, AXES)
    pairs = dict.fromkeys((one.axis, one.other) for one in found)
    assert list(pairs) == [*(("a", x) for x in "bcd"), ("b", "c"), ("b", "d"), ("c", "d")]
    assert len(found) == len(pairs) * len(LEVELS) * len(CORRELATIONS)


def test_numbers_are_those_of_agreement():
    found = among(DOCUMENTS, SYSTEMS, {"a": SCORES, "b": HUMAN}, seed=2)
    expected = agreements(DOCUMENTS, SYSTEMS, SCORES, HUMAN, seed=2)
    numbers = [(e.level, e.coefficient, e.value, e.low, e.high, e.n) for e in expected]
    kept = [row for row in numbers if row[1] in CORRELATIONS]
    assert [(f.level, f.coefficient, f.value, f.low, f.high, f.n) for f in found] == kept
    assert found[0].value == 0.75


def test_what_is_not_asked_for_changes_nothing_and_is_not_computed():
    columns = DOCUMENTS, SYSTEMS, SCORES, HUMAN
    every = agreements(*columns)
    some: list[tuple[Coefficient, ...]] = [CORRELATIONS, ("kendall_c", "accuracy"), ()]
    for asked in some:
        found = agreements(*columns, coefficients=asked)
        assert found == [one for one in every if one.coefficient in asked]
    pairs = table_of(DOCUMENTS, SYSTEMS, SCORES, HUMAN)
    wanted: tuple[Coefficient, ...] = ("spearman",)
    summary = summary_level(pairs, 0, wanted)
    for estimate in (sample_level(pairs, 0, wanted), system_level(pairs, 0, wanted), summary):
        assert np.isnan([estimate.epsilons[0], estimate.values[0, -1]]).all()
    assert np.isnan(summary.values[0]).tolist() == [False, True, False, True, True]
