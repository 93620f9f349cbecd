"""Paired differences: against scipy, by hand, in simulated worlds; and what few documents show."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats
from scipy.stats import spearmanr, ttest_1samp

from evaljudge.decisions.differences import agreement_differences, paired_difference
from evaljudge.decisions.power import detectable, documents_needed

NAN = np.nan
STREAM = np.random.default_rng(1)


def test_documents_weigh_the_same_whatever_their_number_of_texts():
    found = paired_difference([[4, 3], [5, NAN], [NAN, 1]], [[4, 4], [3, 2], [1, NAN]])
    assert (found.first, found.second, found.difference) == (4.25, 3.5, -0.75)
    assert (found.n, found.texts, found.changed) == (2, 3, 2)
    test = ttest_1samp([0.5, -2.0], 0)
    interval = test.confidence_interval()
    assert (found.low, found.high) == pytest.approx((interval.low, interval.high))
    assert found.p == pytest.approx(test.pvalue)


@pytest.mark.parametrize(
    ("first", "second", "spread"),
    [
        ([[1.0], [2.0]], [[1.0], [2.0]], (0.0, 0.0, 0.0, 1.0)),
        ([[1.1], [2.3], [0.7]], [[2.1], [3.3], [1.7]], (1.0, None, None, 2 / 2**3)),
        ([[1.0]], [[2.0]], (1.0, None, None, None)),
        ([[1.0]], [[NAN]], (None, None, None, None)),
        (np.empty((0, 0)), np.empty((0, 0)), (None, None, None, None)),
    ],
)  # fmt: skip
def test_what_has_no_interval(first, second, spread):
    found = paired_difference(first, second)
    given = found.difference, found.low, found.high, found.p
    assert given == pytest.approx(spread, nan_ok=False) if spread[0] else given == spread


def rows(documents: int = 12, systems: int = 5) -> tuple[Any, ...]:
    codes = np.indices((documents, systems)).reshape(2, -1)
    human = STREAM.integers(1, 6, codes.shape[1]).astype(float)
    noise = STREAM.normal(size=(2, human.size))
    return *codes, human + 3 * noise[0], human + noise[1], human


def test_agreement_is_compared_on_the_texts_that_have_all_four_numbers():
    documents, systems, first, second, human = rows()
    other_human = human.copy()
    first[3], second[4], human[5], other_human[6] = NAN, NAN, NAN, NAN
    second[documents == 2] = 1.0  # its correlation is undefined: for both it is left out
    sample, system, summary = agreement_differences(
        documents, systems, [(first, second, human, other_human)]
    )[0]
    kept = np.isfinite(first + second + human + other_human)
    by_document = np.array([
        [spearmanr(side[of], human[of]).statistic for side in (first, second)]
        for document in range(12) if document != 2
        for of in [kept & (documents == document)]
    ])  # fmt: skip
    assert (sample.first, sample.second) == pytest.approx(by_document.mean(axis=0))
    assert (sample.low, sample.n) == pytest.approx((
        ttest_1samp(by_document[:, 1] - by_document[:, 0], 0).confidence_interval().low, 11
    ))  # fmt: skip
    pooled = [spearmanr(side[kept], human[kept]).statistic for side in (first, second)]
    assert (summary.first, summary.second, summary.n) == pytest.approx((*pooled, 56))
    means = [
        [side[kept & (systems == s)].mean() for s in range(5)] for side in (first, second, human)
    ]
    by_system = [spearmanr(means[side], means[2]).statistic for side in (0, 1)]
    assert (system.first, system.second, system.n) == pytest.approx((*by_system, 5))
    for one in (sample, system, summary):
        assert one.difference == pytest.approx((one.second or 0) - (one.first or 0))


def test_where_nothing_changed_the_interval_is_0_alone_and_without_ratings_there_is_none():
    documents, systems, first, second, human = rows()
    nobody = np.full(human.size, NAN)
    same, unrated = agreement_differences(
        documents, systems, [(first, first, human, human), (first, second, nobody, nobody)]
    )
    assert {(one.difference, one.low, one.high) for one in same} == {(0, 0, 0)}
    assert {(one.difference, one.low, one.high) for one in unrated} == {(None, None, None)}
    assert agreement_differences(documents, systems, []) == []


# what so many documents can show


# statsmodels 0.14.6: TTestPower().solve_power(nobs=n, alpha=alpha, power=0.8)
SHOWN = {
    (5, 0.05): 1.6819970833232674,
    (10, 0.05): 0.9960019107624178,
    (20, 0.05): 0.6604416544380312,
    (100, 0.05): 0.2829117119690806,
    (10, 0.05 / 120): 2.0958150190570954,
    (20, 0.05 / 120): 1.169629579081022,
    (100, 0.05 / 120): 0.45131552124649804,
}
# TTestPower().solve_power(effect_size=difference, alpha=alpha, power=0.8)
NEEDED = {
    (1.0, 0.05): 9.93785094105438,
    (0.5, 0.05): 33.36713118431779,
    (0.3, 0.05): 89.14936472045834,
    (0.2, 0.05): 198.150820955562,
    (0.1, 0.05): 786.808940181792,
    (0.05, 0.05): 3141.4654741036425,
    (1.0, 0.05 / 120): 25.19490013151999,
    (0.5, 0.05 / 120): 82.61765702199597,
    (0.2, 0.05 / 120): 483.84651806652414,
    (0.1, 0.05 / 120): 1916.718703257191,
}


@pytest.mark.parametrize(("documents", "alpha"), SHOWN)
def test_the_smallest_difference_is_that_of_statsmodels(documents, alpha):
    found = detectable(3.0, documents, alpha)
    assert found == pytest.approx(3.0 * SHOWN[documents, alpha], rel=1e-5)


@pytest.mark.parametrize(("difference", "alpha"), NEEDED)
def test_the_documents_needed_are_those_of_statsmodels(difference, alpha):
    assert documents_needed(-2 * difference, 2.0, alpha) == np.ceil(NEEDED[difference, alpha])


def test_needed_and_detectable_undo_each_other():
    n = np.arange(3, 3000)
    shown = detectable(0.7, n)
    assert np.all(np.abs(documents_needed(shown * (1 + 1e-9), 0.7) - n) <= (n > 1000))


def test_no_difference_needs_more_than_any_number():
    assert documents_needed(0.0, 1.0) == np.inf
    assert documents_needed(1.0, 0.0) == 2
    assert np.isnan(documents_needed(0.0, 0.0))
    assert np.isnan(documents_needed(np.nan, 1.0))
    assert np.isnan(detectable(1.0, 1))


def test_the_documentation_has_these_numbers():
    page = (Path(__file__).parents[2] / "docs" / "decisions.md").read_text()
    wanted = np.array([1, 0.5, 0.3, 0.2, 0.1])
    for what, alpha in (("for one pair", 0.05), ("among 120 pairs", 0.05 / 120)):
        shown = " | ".join(f"{n:,.0f}" for n in documents_needed(wanted, 1.0, alpha))
        assert f"| documents, {what} | {shown} |" in page


def test_two_documents_among_very_many_pairs_do_not_take_minutes():
    alpha = 0.05 / 44_850  # 300 systems: of two documents, scipy's noncentral t hangs there
    critical = 2 / (np.pi * alpha)  # t with one degree of freedom is Cauchy's distribution
    shown = critical * stats.norm.ppf(0.9) / np.sqrt(2)
    assert detectable(1.0, 2, alpha) == pytest.approx(shown, rel=1e-6)
