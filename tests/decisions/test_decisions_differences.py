"""Paired differences of scores and of agreement: against scipy, by hand, in simulated worlds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.stats import spearmanr, ttest_1samp

from evaljudge.decisions.differences import agreement_differences, paired_difference

NAN = np.nan
STREAM = np.random.default_rng(1)


def test_documents_weigh_the_same_whatever_their_number_of_texts() -> None:
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
def test_what_has_no_interval(first: Any, second: Any, spread: tuple[float | None, ...]) -> None:
    found = paired_difference(first, second)
    given = found.difference, found.low, found.high, found.p
    assert given == pytest.approx(spread, nan_ok=False) if spread[0] else given == spread


def rows(documents: int = 12, systems: int = 5) -> tuple[Any, ...]:
    codes = np.indices((documents, systems)).reshape(2, -1)
    human = STREAM.integers(1, 6, codes.shape[1]).astype(float)
    noise = STREAM.normal(size=(2, human.size))
    return *codes, human + 3 * noise[0], human + noise[1], human


def test_agreement_is_compared_on_the_texts_that_have_all_four_numbers() -> None:
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


def test_where_nothing_changed_the_interval_is_0_alone_and_without_ratings_there_is_none() -> None:
    documents, systems, first, second, human = rows()
    nobody = np.full(human.size, NAN)
    same, unrated = agreement_differences(
        documents, systems, [(first, first, human, human), (first, second, nobody, nobody)]
    )
    assert {(one.difference, one.low, one.high) for one in same} == {(0, 0, 0)}
    assert {(one.difference, one.low, one.high) for one in unrated} == {(None, None, None)}
    assert agreement_differences(documents, systems, []) == []
