"""Holm's adjustment, and which scorers cannot be told from the best."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from math import atanh, nan

import numpy as np
import pytest
from scipy import stats

from evaljudge.agreement import LEVELS, MAX_POOLED, Agreement, Level, agreements
from evaljudge.agreement.rated import Rated
from evaljudge.agreement.significance import Standing, against_best, holm
from tests.frames import frame, rows

DOCUMENTS, SYSTEMS = np.repeat(np.arange(20), 4), np.tile(np.arange(4), 20)
Scores = Mapping[str, Sequence[float] | np.ndarray]


@pytest.mark.parametrize(
    ("ps", "expected"),
    [
        ([0.01, 0.04, 0.03, 0.005], [0.03, 0.06, 0.06, 0.02]),  # 3 x .01, .06 before .04, 2 x .03
        ([0.5, 0.9], [1.0, 1.0]),
        ([0.2], [0.2]),
        ([], []),
    ],
)
def test_holm(ps, expected):
    assert holm(ps) == pytest.approx(expected)


def scorers(seed: int) -> tuple[dict[str, np.ndarray], np.ndarray]:
    stream = np.random.default_rng(seed)
    human = stream.normal(size=80)
    noise = stream.normal(size=(4, 80))
    columns = {"good": human + noise[0], "blind": noise[1], "best": human + 0.8 * noise[2],
               "fair": human + 2 * noise[3]}  # fmt: skip
    return columns, human


def standing(
    scores: Scores, human: Sequence[float] | np.ndarray, level: Level = "summary"
) -> Standing:
    size = len(human)
    return against_best(DOCUMENTS[:size], SYSTEMS[:size], scores, human, level=level)


def p_of(level: Level, x: np.ndarray, y: np.ndarray, human: np.ndarray) -> float:
    """Of two scorers, on the texts that both scored, from those that are left without some."""
    both = np.isfinite(x) & np.isfinite(y)

    def gap(kept: np.ndarray) -> float:
        lists = [column[kept] for column in (x, y, human)]
        if level == "system":
            lists = [np.array([column[kept & (s == SYSTEMS)].mean() for s in range(4)])
                     for column in (x, y, human)]  # fmt: skip
        first, second = (stats.spearmanr(side, lists[2]).statistic for side in lists[:2])
        return float(first - second)

    documents = np.unique(DOCUMENTS[both])
    if level == "sample":
        return float(stats.ttest_1samp([gap(both & (d == DOCUMENTS)) for d in documents], 0).pvalue)
    hands = 10 if level == "system" else documents.size
    hand = np.searchsorted(documents, DOCUMENTS) % hands
    without = [gap(both & (hand != one)) for one in range(hands)]
    error = np.sqrt((hands - 1) * np.var(without))
    return float(2 * stats.t.sf(abs(gap(both)) / error, hands - 1))


def agreed(level: Level, scores: np.ndarray, human: np.ndarray) -> Agreement:
    found = agreements(DOCUMENTS, SYSTEMS, scores, human, coefficients=["spearman"])
    return found[LEVELS.index(level)]


@pytest.mark.parametrize("level", LEVELS)
def test_every_two_are_tested_on_what_both_scored(level):
    columns, human = scorers(3)
    columns["good"][:9] = nan  # two documents and a text
    columns["fair"][70:] = nan
    found = standing(columns, human, level)
    whole = {name: agreed(level, column, human).value or -1 for name, column in columns.items()}
    best = max(whole, key=lambda name: whole[name])
    assert (found.best, found.value) == (best, whole[best])
    assert [rival.scorer for rival in found.rivals] == [name for name in columns if name != best]
    pairs = [frozenset(two) for two in combinations(columns, 2)]
    ps = [p_of(level, *(columns[name] for name in two), human) for two in pairs]
    for rival in found.rivals:
        at = pairs.index(frozenset((best, rival.scorer)))
        assert (rival.p, rival.p_holm) == pytest.approx((ps[at], holm(ps)[at]), rel=1e-6)
        gap = columns[rival.scorer] - columns[best]
        own, leader = (agreed(level, np.where(np.isnan(gap), nan, columns[name]), human)
                       for name in (rival.scorer, best))  # fmt: skip
        assert (rival.value, rival.best_value, rival.n) == (own.value, leader.value, own.n)


@pytest.mark.parametrize("level", ["sample", "summary"])
def test_the_interval_of_the_best_is_widened_for_the_choice(level):
    """From 1 - .05 to 1 - .05 / 4."""
    columns, human = scorers(3)
    found = standing(columns, human, level)
    own = agreed(level, columns[found.best], human)
    assert (found.chosen, found.value) == (4, own.value)
    assert found.low is not None and own.low is not None
    wider = stats.t.ppf(1 - 0.05 / 4 / 2, 19) / stats.t.ppf(1 - 0.05 / 2, 19)
    middle = atanh(found.value)
    assert middle - atanh(found.low) == pytest.approx(wider * (middle - atanh(own.low)))


def test_who_is_told_from_the_best():
    columns, human = scorers(0)
    columns |= {"backwards": -human}
    found = standing(columns | {"constant": np.ones(80)}, human)
    assert found == replace(standing(columns, human), undefined=("constant",))
    assert found.best == "best"
    assert [rival.scorer for rival in found.rivals] == ["good", "blind", "fair", "backwards"]
    assert found.indistinguishable == ("good",)
    assert found.chosen == 5


def test_scorers_that_differ_alike_everywhere_are_tested_by_signs_and_equal_ones_are_equal():
    human = np.tile([1.0, 2.0, 3.0, 4.0], 20)
    columns = {"best": human, "scaled": 8 * human, "swapped": np.tile([1.0, 2.0, 4.0, 3.0], 20)}
    scaled, swapped = standing(columns, human, "sample").rivals
    assert (scaled.p, swapped.p) == (1.0, 2 / 2**20)
    assert swapped.p_holm == 3 * 2 / 2**20  # of three pairs


def test_one_scorer_is_the_best_of_one_and_nobody_where_nothing_varies():
    found = standing({"only": [1.0, 2.0, 3.0, 4.0]}, [1.0, 2.0, 4.0, 3.0])
    assert (found.best, found.value, found.chosen) == ("only", pytest.approx(0.8), 1)
    assert (*found.rivals, *found.indistinguishable, *found.undefined) == ()
    assert (found.low, found.high) == (None, None)  # of one document
    human = [1.0, 2.0, 4.0, 3.0]
    assert against_best([0] * 4, range(4), {"flat": [1.0] * 4}, human, level="summary") is None


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("elsewhere", [nan, 1.0])
def test_scorers_that_share_no_text_or_none_that_varies_are_untested(level, elsewhere):
    columns, human = scorers(1)
    early, late = DOCUMENTS < 10, DOCUMENTS >= 10
    apart = {"first": np.where(early, human, nan),
             "second": np.where(late, columns["good"], elsewhere)}  # fmt: skip
    (second,) = standing(apart, human, level).rivals
    assert (second.value, second.best_value, second.p, second.p_holm) == (None,) * 4
    flat = {"best": np.where(early, 1.0, human), "early": np.where(early, columns["good"], nan)}
    (rival,) = standing(flat, human, level).rivals
    assert (rival.value, rival.best_value, rival.p, rival.p_holm) == (None,) * 4
    found = standing(apart | {"third": columns["fair"]}, human, level)
    third = found.rivals[-1]
    assert third.p is not None and third.p_holm is not None and third.p_holm <= 2 * third.p
    assert "second" not in found.indistinguishable


def test_very_many_candidates_have_values_of_all_and_p_of_a_sample():
    stream = np.random.default_rng(0)
    size = MAX_POOLED + 80
    human = stream.normal(size=size)
    scores = {"one": human + stream.normal(size=size), "two": human + 2 * stream.normal(size=size)}
    documents, systems = np.arange(size) // 8, np.arange(size) % 8
    found = against_best(documents, systems, scores, human, level="summary")
    assert found is not None and (found.best, found.rivals[0].sampled) == ("one", True)
    (two,) = found.rivals
    expected = [stats.spearmanr(scores[name], human)[0] for name in ("two", "one")]
    assert (two.value, two.best_value) == pytest.approx(tuple(expected))
    assert (two.n, two.p is not None and two.p < 1e-6) == (size, True)


def test_what_is_calibrated_to_the_ratings_is_not_compared():
    """It is a scorer's own order, with ties where ratings tie."""
    columns, human = scorers(1)
    named = {"good": columns["good"], "fair": columns["fair"], "good.calibrated": np.rint(human)}
    scores = {(name, "x"): column for name, column in named.items()}
    of = Rated(DOCUMENTS, SYSTEMS, scores, {"x": human}, {})
    found = rows("significance", frame(of))
    assert len(found) == len(LEVELS)
    assert {row.best for row in found} | {r.scorer for row in found for r in row.rivals} == {
        "good",
        "fair",
    }
