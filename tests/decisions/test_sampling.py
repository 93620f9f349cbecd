"""Draws have the probabilities that they state, and means are corrected for them."""

from __future__ import annotations

import numpy as np
import pytest

from evaljudge.agreement.rated import Floats
from evaljudge.analysis.labelling import (
    FLOOR,
    bands,
    doubtful,
    draw,
    inclusion,
    weighted_mean,
)

DOCUMENTS = np.repeat(np.arange(6), [1, 2, 3, 4, 5, 6])
SYSTEMS = np.concatenate([np.arange(n) for n in [1, 2, 3, 4, 5, 6]])
SCORES = np.random.default_rng(1).normal(size=DOCUMENTS.size)
STRATA = bands(SYSTEMS % 2, SCORES)
SIZES: dict[str, Floats] = {
    "random": np.ones(SCORES.size),
    "doubtful": doubtful(np.random.default_rng(2).random(SCORES.size)),
    "some certain": np.where(np.arange(SCORES.size) < 3, 40.0, 1.0),
}


@pytest.mark.parametrize("strata", [None, STRATA], ids=["spread over documents", "stratified"])
@pytest.mark.parametrize("of", SIZES)
def test_texts_are_drawn_as_often_as_stated(of, strata):
    rng, times, draws = np.random.default_rng(3), np.zeros(SCORES.size), 4000
    probabilities = inclusion(SIZES[of], 8)
    assert probabilities.sum() == pytest.approx(8)
    assert (probabilities > 0).all() and (probabilities <= 1).all()
    for _ in range(draws):
        drawn = draw(probabilities, DOCUMENTS, rng, strata)
        assert drawn.size == np.unique(drawn).size == 8
        times[drawn] += 1
    errors = np.sqrt(probabilities * (1 - probabilities) / draws)
    assert (np.abs(times / draws - probabilities) <= 4.2 * errors).all()


def test_what_is_too_large_is_certain_and_the_rest_share_what_is_left():
    assert inclusion(np.array([8.0, 1, 1, 2]), 2).tolist() == [1, 0.25, 0.25, 0.5]
    # the second becomes certain only when the first is
    assert inclusion(np.array([10.0, 4, 1, 1]), 3).tolist() == [1, 1, 0.5, 0.5]
    assert inclusion(np.array([1.0, 2]), 5).tolist() == [1, 1]


def test_a_draw_is_spread_over_documents_and_strata_get_their_share():
    documents = np.repeat(np.arange(20), 5)
    equal = inclusion(np.ones(100), 20)
    for seed in range(20):
        rng = np.random.default_rng(seed)
        assert np.unique(documents[draw(equal, documents, rng)]).size == 20
        strata = np.arange(100) % 4 // 3  # 75 and 25 texts
        assert np.bincount(strata[draw(equal, documents, rng, strata)]).tolist() == [15, 5]


def test_all_are_drawn_where_as_many_are_wanted():
    rng = np.random.default_rng(0)
    for n in (21, 99):
        drawn = draw(inclusion(SIZES["doubtful"], n), DOCUMENTS, rng)
        assert sorted(drawn) == list(range(21))
        assert drawn.tolist() != sorted(drawn), "in random order"


def test_sizes():
    nan = np.nan
    assert doubtful(np.array([0.5, 0.25, 0, nan])) == pytest.approx([1, 0.5, FLOOR, FLOOR])
    assert doubtful(np.array([0.0, nan])).tolist() == [1, 1]
    systems, scores = np.array([0, 0, 0, 0, 1, 1]), np.array([1.0, 2, 3, 4, nan, 4])
    assert bands(systems, scores).tolist() == [0, 0, 1, 2, 9, 7], "9: unscored"
    assert (bands(systems, np.full(6, nan)) == systems * 5 + 4).all()


def test_a_weighted_mean_by_hand():
    nan = np.nan
    ratings, drawn = np.array([[4.0, 2], [1, nan]]), np.array([[0.5, 0.25], [1, 0.1]])
    found = weighted_mean(ratings, drawn)
    assert found.value == pytest.approx((2 * 4 + 4 * 2 + 1) / 7)
    assert (found.n, found.documents) == (3, 2)
    assert found.effective == pytest.approx(49 / 21)
    assert weighted_mean(ratings, np.full((2, 2), nan)) is None, "rated, and not drawn"
    for documents in (5, 6):
        few = weighted_mean(
            np.arange(12.0)[: 2 * documents].reshape(-1, 2), np.full((documents, 2), 0.5)
        )
        assert few is not None and (few.low is None) == (documents == 5)


def test_with_equal_weights_and_one_text_each_it_is_students_interval():
    values = np.array([1.0, 2, 4, 5, 5, 7])
    found = weighted_mean(values[:, None], np.full((6, 1), 0.3))
    # 2.570582 is the t of five degrees of freedom
    half = 2.5705818 * values.std(ddof=1) / np.sqrt(6)
    assert (found.low, found.high) == pytest.approx((4 - half, 4 + half), rel=1e-6)
