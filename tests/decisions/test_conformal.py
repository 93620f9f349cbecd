"""Intervals for single texts: by their definition, and how often they hold the rating."""

from __future__ import annotations

import sys
from collections.abc import Callable
from itertools import islice
from math import nan
from pathlib import Path

import numpy as np
import pytest
from sklearn.isotonic import IsotonicRegression

from evaljudge.agreement.documents import folded
from evaljudge.decisions.conformal import ENOUGH, Conformal, conformal

sys.path.insert(0, str(Path(__file__).parents[2] / "benches"))
from promises_intervals import World, rows

Columns = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


def drawn(documents: int, seed: int = 0, candidates: int = 3, step: float = 1.0) -> Columns:
    scores, ratings = World("", documents - 1, candidates, step=step).drawn((seed,))
    names = np.array([f"d{n:03}" for n in range(documents)], dtype=object)
    systems = np.array([f"s{n}" for n in range(candidates)] * documents, dtype=object)
    return np.repeat(names, candidates), systems, scores.ravel(), ratings.ravel()


def found(columns: Columns, confidence: float = 0.95) -> Conformal:
    return conformal(*columns, confidence=confidence)


def by_definition(
    columns: Columns, at: float, without: int | None, scale: np.ndarray, alpha: float
) -> tuple[float, float]:
    """The ends of CV+ on the scale, where each document has weight 1."""
    documents, _, scores, ratings = columns
    rows = folded(documents, scores, ratings, 5, 0)
    fold = rows.fold[0]
    kept = [one for one in range(5) if one != without]

    def fitted(learned: np.ndarray) -> Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]:
        """The mean rating at each score, and how far ratings are from it in bins of 20 texts."""
        model = IsotonicRegression(out_of_bounds="clip").fit(scores[learned], ratings[learned])
        known = np.sort(scores[learned])
        bins = known.size // 20
        edges = np.quantile(known, np.arange(1, bins) / bins)
        off = np.abs(ratings[learned] - model.predict(scores[learned]))
        inside = [np.sum(scores[learned][:, None] >= edges, axis=1) == one for one in range(bins)]
        middles = [scores[learned][some].mean() for some in inside]
        spreads = [(off[some].sum() + 2 * off.mean()) / (some.sum() + 2) for some in inside]
        return lambda at: (model.predict(at), np.interp(at, middles, spreads))

    number = len({documents[i] for i in range(len(fold)) if fold[i] in kept})
    lower, upper = np.full((2, scale.size), 1 / (number + 1))
    for one in kept:
        learned = np.array([f not in (one, without) for f in fold])
        (here, *means), (spread, *spreads) = fitted(learned)(np.append(at, scores[fold == one]))
        for i, mean, own in zip(np.flatnonzero(fold == one), means, spreads, strict=True):
            residual = abs(ratings[i] - mean) / own * spread
            weight = 1 / ((number + 1) * np.sum(documents == documents[i]))
            lower += weight * (here - residual <= scale + 1e-9)
            upper += weight * (here + residual >= scale - 1e-9)
    inside = scale[(lower > alpha) & (upper > alpha)]
    return inside[0], inside[-1]


@pytest.mark.parametrize("alpha", [0.1, 0.3])
def test_ends_of_whole_ratings_by_definition(alpha):
    columns = drawn(30)
    made = found(columns, 1 - alpha)
    assert made.scale.tolist() == [1, 2, 3, 4, 5]
    for at in (-1.0, 0.1, 1.3):
        low, high = made.intervals(["new"], ["s0"], [at])
        assert (low[0], high[0]) == by_definition(columns, at, None, made.scale, alpha)


def test_a_rated_document_has_its_intervals_from_the_others():
    columns = drawn(30)
    made = found(columns, 0.7)
    low, high = made.intervals(columns[0].tolist(), columns[1].tolist(), columns[2])
    for row in (0, 40, 89):
        fold = made.fold_of[columns[0][row]]
        expected = by_definition(columns, columns[2][row], fold, made.scale, 0.3)
        assert (low[row], high[row]) == expected
    held = (low <= columns[3]) & (columns[3] <= high)
    (covered,) = made.covered
    assert (covered.system, covered.documents) == ("", 30)
    assert covered.coverage == pytest.approx(held.mean())
    assert covered.width == pytest.approx((high - low).mean())


def test_other_ratings_end_at_hundredths_of_their_range_outwards():
    columns = drawn(30, step=0.0)
    made = found(columns, 0.8)
    ends = made.scale
    assert (ends[0], ends[-1]) == (columns[3].min(), columns[3].max())
    inner = by_definition(columns, 0.2, None, ends, 0.2)
    low, high = made.intervals(["new"], ["s0"], [0.2])
    assert low[0] == ends[np.searchsorted(ends, inner[0]) - 1]
    assert high[0] == ends[np.searchsorted(ends, inner[1]) + 1]


@pytest.mark.parametrize(
    ("alpha", "theirs"),
    [
        (0.1, [(-3.026, 2.487333), (-1.166, 3.7052), (-0.01175, 5.0935), (1.96125, 7.0665)]),
        (0.2, [(-2.323667, 2.169), (-1.029533, 3.334), (0.222171, 4.559867), (2.271, 6.701667)]),
    ],
)
def test_one_text_each_has_the_ends_of_mapie(alpha, theirs):
    """Of so few texts one spread is fitted, so that it divides nothing here.

    MAPIE 0.9.2: MapieRegressor(IsotonicRegression(out_of_bounds="clip"), method="plus",
    cv=PredefinedSplit(our folds)). Ours are clipped to the ratings, then rounded outwards.
    """
    number = np.arange(40)
    scores = (number * 7 % 40) / 4.0
    ratings = np.round(scores / 2 + 2 * np.sin(number * 1.7), 3)
    documents = np.array([f"d{one}" for one in number], dtype=object)
    made = found((documents, np.full(40, "s", dtype=object), scores, ratings), 1 - alpha)
    ends = made.intervals(["new"] * 4, ["s"] * 4, [0.3, 2.6, 5.1, 8.8])
    step = made.scale[1] - made.scale[0]
    for low, high, (least, most) in zip(*ends, theirs, strict=True):
        assert 0 <= max(least, made.scale[0]) - low <= step
        assert 0 <= high - min(most, made.scale[-1]) <= step


def test_too_few_documents_say_nothing():
    low, high = found(drawn(18)).intervals(["new"] * 2, ["s0"] * 2, [0.0, nan])
    assert (low[0], high[0]) == (1, 5)
    assert np.isnan(low[1]) and np.isnan(high[1])
    assert conformal(*drawn(2)) is None


def test_a_system_with_enough_documents_has_intervals_of_its_own():
    """Of three systems the last is 3 better than its scores say."""
    few, many = drawn(ENOUGH - 1), drawn(ENOUGH)
    for columns, own in ((few, set()), (many, {"s0", "s1", "s2"})):
        columns[3][2::3] = 5
        columns[3][columns[1] != "s2"] = 1
        made = found(columns)
        assert made.own == own
        assert [one.system for one in made.covered] == ["", *sorted(own)]
        low, high = made.intervals(["new"] * 2, ["s0", "s2"], [0.0, 0.0])
        assert ((low[0], high[0]) == (low[1], high[1])) == (not own)


def test_the_order_of_rows_changes_nothing():
    columns = drawn(30)
    order = np.random.default_rng(1).permutation(90)
    documents, systems, scores, ratings = columns
    other = found((documents[order], systems[order], scores[order], ratings[order]))
    points = ["new"] * 20, ["s0"] * 20, np.linspace(-2, 2, 20)
    for one, same in zip(found(columns).intervals(*points), other.intervals(*points), strict=True):
        assert one.tolist() == same.tolist()


@pytest.mark.long
def test_intervals_hold_the_rating_of_a_random_text_of_a_new_document():
    """Of 40 at 95%, 6 or more miss it by chance once in 50 times."""
    for row in islice(rows(40, seed=2), 2):
        assert 35 <= row["kept"] <= 40  # type: ignore[operator]
        assert row["width"] < 3.5  # type: ignore[operator]
        assert row["cross_validated"] == pytest.approx(0.96, abs=0.02)
