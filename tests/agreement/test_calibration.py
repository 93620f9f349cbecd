"""Isotonic maps, folds of whole documents, errors: by hand, by definition, by scikit-learn."""

from collections.abc import Sequence
from math import isnan, nan

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.isotonic import IsotonicRegression

from evaljudge.agreement import Isotonic, agreements, calibration, cross_fitted, fit_isotonic
from evaljudge.agreement.documents import folded, percentiles
from tests.fishers import redrawn

Row = tuple[int, float, float]

few = st.integers(-4, 4).map(lambda number: number / 2)
rows = st.lists(
    st.tuples(st.integers(0, 5), few | st.just(nan), few | st.just(nan)), min_size=1, max_size=24
)


@pytest.mark.parametrize(
    ("scores", "ratings", "knots", "values"),
    [
        ([1, 2, 2, 3], [1, 4, 2, 2], (1, 2, 3), (1, 8 / 3, 8 / 3)),  # 3, weighing two, meets 2
        ([3, 1, 2], [5, 1, 2], (1, 2, 3), (1, 2, 5)),
        ([2, 2, 2], [1, 2, 6], (2,), (3,)),
        ([1, 2, 3], [3, 2, 1], (1, 3), (2, 2)),
        ([1, 2, 3, 4], [1, 1, 1, 5], (1, 3, 4), (1, 1, 5)),  # within a flat stretch: its ends
        ([1, 2, 3, 4], [4, 6, 2, 8], (1, 3, 4), (4, 4, 8)),  # 6 and 2 become 4, which is flat
        ([7], [3], (7,), (3,)),
    ],
)
def test_maps_by_hand(scores, ratings, knots, values):
    found = fit_isotonic(np.array(scores), np.array(ratings))
    assert found.scores == knots
    assert found.ratings == pytest.approx(values)


def test_between_knots_and_beyond_them():
    found = Isotonic((1.0, 2.0, 4.0), (1.0, 3.0, 4.0)).calibrated([0, 1, 1.5, 3, 9, nan, 2])
    assert found.tolist() == pytest.approx([1, 1, 2, 3.5, 4, nan, 3], nan_ok=True)


DOCUMENTS, SCORES, RATINGS = [0, 0, 1, 1], [1, 2, 1, 3], [1, 3, 2, 4]


def test_two_documents_calibrate_each_other():
    found = calibration(DOCUMENTS, SCORES, RATINGS)
    fitted = found.fitted
    assert fitted.values.tolist() == [2, 3, 1, 3]
    assert fitted.means.tolist() == [3, 3, 2, 2]
    assert fitted.whole == Isotonic((1, 2, 3), (1.5, 3, 4))
    assert (len(fitted.maps), fitted.documents, fitted.pairs) == (2, 2, 4)
    assert found.error_before.value == pytest.approx(3 / 4)
    assert found.error_of_mean.value == pytest.approx(4 / 4)
    assert found.error_after.value == pytest.approx(3 / 4)
    assert found.less.value == pytest.approx(1 / 4)
    assert (found.spearman_before.value, found.spearman_after.value) == (1, 1)
    # A resample is of the first document, of the second, or both: errors 2, 2 and 2 of 2 pairs.
    assert (found.error_of_mean.low, found.error_of_mean.high) == (1, 1)
    assert (found.error_after.low, found.error_after.high) == pytest.approx((1 / 2, 1))


def test_a_document_without_a_pair_takes_the_map_of_all():
    """The first document's third row is unrated: it takes the map of the document's fold."""
    documents, scores = [*DOCUMENTS, 0, 2, 2], [*SCORES, 3, 1, nan]
    found = cross_fitted(documents, scores, [*RATINGS, nan, nan, 5])
    assert found.values.tolist() == pytest.approx([2, 3, 1, 3, 4, 1.5, nan], nan_ok=True)
    assert found.means.tolist() == [3, 3, 2, 2, 3, 2.5, 2.5]
    assert found.fold[:, -2:].tolist() == [[-1, -1]]
    assert (found.documents, found.pairs) == (2, 4)
    assert found.calibrated([1, 3], ()).tolist() == found.whole.calibrated([1, 3]).tolist()
    maps = [found.maps[at].calibrated([1, 3]) for at in (0, 1, 1)]
    assert found.calibrated([1, 3], [0, 1, 1]).tolist() == (sum(maps) / 3).tolist()


@pytest.mark.parametrize("ratings", [[1, 2, nan], [nan, nan, nan], [nan, nan, 2]])
def test_one_document_alone_cannot_be_calibrated(ratings):
    assert cross_fitted([0, 0, 1], [1, 2, 3], ratings) is None
    assert calibration([0, 0, 1], [1, 2, 3], ratings) is None


@given(rows, st.integers(2, 6), st.integers(0, 3))
def test_folds_are_of_whole_documents_and_even(rows, folds, seed):
    found = folded(*zip(*rows, strict=True), folds, seed)
    with_pair = {document for document, *two in rows if not any(map(isnan, two))}
    if len(with_pair) < 2:
        assert found is None
        return
    assert (found.documents, found.folds) == (len(with_pair), min(folds, len(with_pair)))
    fold_of = {(row[0], int(fold)) for row, fold in zip(rows, found.fold[0], strict=True)}
    assert len(fold_of) == len({row[0] for row in rows})
    assert {document for document, fold in fold_of if fold >= 0} == with_pair
    sizes = [sum(f == fold for _, f in fold_of) for fold in range(found.folds)]
    assert max(sizes) - min(sizes) <= 1


shuffled = rows.flatmap(lambda rows: st.tuples(st.just(rows), st.permutations(range(len(rows)))))


@given(shuffled)
def test_folds_depend_on_the_documents_names_alone(given):
    """Neither on the order of the rows nor on scores and ratings."""
    rows, order = given
    documents, scores, ratings = zip(*rows, strict=True)
    found = folded(documents, scores, ratings, 3, 0, 4)
    again = [(d, s, 1 - 2 * r) for d, s, r in (rows[place] for place in order)]
    other = folded(*zip(*again, strict=True), 3, 0, 4)
    assert (found is None) == (other is None)
    if found is not None and other is not None:
        assert found.fold[:, order].tolist() == other.fold.tolist()


@settings(max_examples=30)
@given(shuffled)
def test_the_order_of_rows_changes_not_one_bit(given):
    rows, order = given
    names = [(f"d{document}", score / 3, rating / 7) for document, score, rating in rows]
    again = [names[place] for place in order]
    one, other = (
        calibration(*zip(*some, strict=True), folds=3, resamples=10) for some in (names, again)
    )
    assert (one is None) == (other is None)
    if one is not None and other is not None:
        before, after = one.fitted, other.fitted
        assert before.maps == after.maps
        assert np.array_equal(before.values[order], after.values, equal_nan=True)
        assert np.array_equal(before.means[order], after.means)
        assert (one.error_after, one.less) == (other.error_after, other.less)
        assert one.spearman_after == other.spearman_after


def test_a_fold_each_is_one_division():
    fitted = cross_fitted(DOCUMENTS, SCORES, RATINGS)
    assert (fitted.divisions, fitted.folds) == (1, 2)


def invented(seed: int) -> tuple[list[int], list[float], list[float]]:
    stream = np.random.default_rng(seed)
    documents = np.repeat(stream.permutation(13), 5)
    truth = stream.integers(1, 6, size=documents.size).astype(float)
    scores = np.round(truth**2 + stream.normal(size=truth.size, scale=4), 0)
    scores[stream.random(truth.size) < 0.1] = nan
    truth[stream.random(truth.size) < 0.1] = nan
    return documents.tolist(), scores.tolist(), truth.tolist()


@pytest.mark.parametrize("seed", range(2))
def test_cross_fitting_by_loops_with_scikit_learn(seed):
    documents, scores, ratings = invented(seed)
    found = cross_fitted(documents, scores, ratings, folds=4, seed=seed)
    assert found is not None and found.divisions == 10
    for row, score in enumerate(scores):
        values, means = [], []
        for division in found.fold:
            learned = [
                (s, r)
                for s, r, f in zip(scores, ratings, division, strict=True)
                if f != division[row] and not isnan(s) and not isnan(r)
            ]
            means.append(np.mean([r for _, r in learned]))
            if not isnan(score):
                other = IsotonicRegression(out_of_bounds="clip").fit(*zip(*learned, strict=True))
                values.append(other.predict([score])[0])
        assert found.values[row] == pytest.approx(np.mean(values) if values else nan, nan_ok=True)
        assert found.means[row] == pytest.approx(np.mean(means))


@pytest.mark.parametrize("seed", range(3))
def test_errors_and_their_intervals_by_loops(seed):
    documents, scores, ratings = invented(seed)
    found = calibration(documents, scores, ratings, resamples=50, seed=seed)
    fitted = found.fitted

    def error(values: Sequence[float], among: Sequence[int]) -> float:
        both = [i for i in among if not isnan(scores[i]) and not isnan(ratings[i])]
        return float(np.mean([abs(values[i] - ratings[i]) for i in both]))

    def statistics(among: Sequence[int]) -> list[float]:
        three = [error(v, among) for v in (scores, fitted.means.tolist(), fitted.values.tolist())]
        return [*three, 1 - three[2] / three[1]]

    measured = found.error_before, found.error_of_mean, found.error_after, found.less
    whole = statistics(range(len(documents)))
    assert [one.value for one in measured] == pytest.approx(whole)
    resampled = np.array([statistics(among) for among in redrawn(documents, 50, seed)])
    for one, values in zip(measured, resampled.T, strict=True):
        assert (one.low, one.high) == pytest.approx(percentiles(values))
        assert one.n == fitted.pairs


@pytest.mark.parametrize("seed", range(3))
def test_spearman_is_that_of_the_sample_level(seed):
    documents, scores, ratings = invented(seed)
    found = calibration(documents, scores, ratings, seed=seed)
    for measured, values in (
        (found.spearman_before, scores),
        (found.spearman_after, found.fitted.values),
    ):
        agreement, *_ = agreements(
            documents, range(len(documents)), values, ratings, coefficients=["spearman"]
        )
        assert (measured.value, measured.n) == (pytest.approx(agreement.value), agreement.n)
        assert (measured.low, measured.high) == pytest.approx((agreement.low, agreement.high))


def test_what_has_no_ranks_and_no_intervals():
    falling = calibration([0, 0, 1, 1, 2, 2], [1, 2, 1, 2, 1, 2], [2, 1, 2, 1, 2, 1])
    assert set(falling.fitted.values) == {1.5}
    assert (falling.spearman_before.value, falling.spearman_before.n) == (-1, 3)
    assert (falling.spearman_after.value, falling.spearman_after.n) == (None, 0)
    assert falling.less.value == 0
    found = calibration(DOCUMENTS, SCORES, RATINGS, resamples=0)
    assert (found.error_after.low, found.error_after.high) == (None, None)
