"""Placing a candidate by graded references: by hand, by other computations, and by laws."""

from __future__ import annotations

from collections.abc import Callable
from math import log, log2

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import log_expit

from evaljudge.judges.synthetic import equations
from evaljudge.judges.synthetic.equations import (
    GRID,
    PRIOR,
    SLOPE,
    STRENGTH,
    TIE,
    UNDECIDED,
    ComparedTexts,
    Floats,
    answer_chances,
)
from tests.judges.synthetic import builders
from tests.judges.synthetic.builders import (
    BETTER,
    SIMILAR,
    WORSE,
    Answers,
    Comparisons,
    answers,
    stacked,
)


def of_one(placing: Callable[[ComparedTexts], Floats]) -> Callable[[Comparisons], float]:
    return lambda levels: float(placing(stacked([levels]))[0])


ordinal_level = of_one(equations.ordinal_level)
bradley_terry_position = of_one(equations.bradley_terry_position)


def scale_coverage(levels: Comparisons) -> str:
    return ("within", "above", "below")[equations.scale_coverage(stacked([levels]).p)[0]]


def entropy(p: Answers) -> float:
    return float(equations.entropies(np.array([list(p.values())], float))[0])


RATINGS = [1.0, 2.0, 3.0, 4.0, 5.0]
SAMPLE = list(builders.SAMPLE.items())


def against_all(p: Answers) -> list[tuple[float, Answers]]:
    return [(rating, p) for rating in RATINGS]


# answers by distance: odds are 9^distance, edge is 3


@pytest.mark.parametrize(
    ("distance", "better", "worse", "similar"),
    [
        (0.0, 1 / 4, 1 / 4, 1 / 2),
        (0.5, 1 / 2, 1 / 10, 2 / 5),
        (1.0, 3 / 4, 1 / 28, 3 / 14),
        (-1.0, 1 / 28, 3 / 4, 3 / 14),
        (2.0, 27 / 28, 1 / 244, 27 / 854),
    ],
)
def test_answers_by_hand(distance, better, worse, similar):
    assert answer_chances(distance) == pytest.approx((better, worse, similar))


# Bradley and Terry: a win against a reference d below has odds 6^d


@pytest.mark.parametrize(
    ("levels", "position"),
    [
        # one at the middle: the chance of a win must be (wins + .05) / 1.1
        ([(3.0, BETTER)], 3 + log(21) / log(6)),
        ([(3.0, WORSE)], 3 - log(21) / log(6)),
        ([(3.0, answers(0.5, 0.2, 0.3))], 3 + log(7 / 4) / log(6)),
        # at 4 one expects 36/37 and 1/2 wins, and the prior takes .1·(6/7 − 1/2) = 1/28
        ([(2.0, BETTER), (4.0, answers(1 / 2 + 9 / 1036, 1 / 2 - 9 / 1036, 0))], 4),
        # Σ 6^(x−r) + .1·6^(x−3) less the small powers = .05, solved as a series in 6^x
        (against_all(WORSE), -0.7548),
        (against_all(BETTER), 6.7548),
        (SAMPLE, 3.605),
    ],
)
def test_positions_by_hand(levels, position):
    assert bradley_terry_position(levels) == pytest.approx(position, abs=5e-4)


# coverage


@pytest.mark.parametrize(
    ("levels", "coverage"),
    [
        (against_all(WORSE), "below"),
        (against_all(BETTER), "above"),
        (against_all(SIMILAR), "within"),
        (against_all(UNDECIDED), "within"),
        (SAMPLE, "within"),
        (SAMPLE[:3], "above"),
        (SAMPLE[3:], "below"),
        ([(1.0, answers(0.1, 0.2, 0.7))], "below"),
        ([(5.0, answers(0.2, 0.1, 0.7))], "above"),
        ([(1.0, WORSE), (5.0, SIMILAR)], "within"),
        ([(1.0, SIMILAR), (5.0, BETTER)], "within"),
        ([(1.0, WORSE), (5.0, BETTER)], "within"),
    ],
)
def test_coverage(levels, coverage):
    assert scale_coverage(levels) == coverage


# entropy


@pytest.mark.parametrize(
    ("p", "bits"),
    [
        (BETTER, 0.0),
        (answers(0.5, 0.5, 0), 1.0),
        (answers(0.25, 0.25, 0.5), 1.5),
        (UNDECIDED, log(3) / log(2)),
        (SAMPLE[0][1], 0.541188),
        (answers(1, 5e-324, 0), 0.0),
    ],
)
def test_entropy(p, bits):
    assert entropy(p) == pytest.approx(bits)
    assert str(entropy(p))[0] != "-"


# laws, and a second computation of each number


def _shares(weights: tuple[int, int, int]) -> Answers:
    return answers(*(weight / sum(weights) for weight in weights))


whole = st.integers(0, 20)
shares = st.tuples(whole, whole, whole).filter(any).map(_shares)
comparisons = st.lists(st.tuples(st.floats(1, 5), shares), min_size=1, max_size=9)


def log_likelihood(level: float, levels: Comparisons) -> float:
    total = 0.0
    for rating, p in levels:
        x = SLOPE * (level - rating)
        similar = np.log(1 - np.exp(log_expit(x - TIE)) - np.exp(log_expit(-x - TIE)))
        total += p["Better"] * log_expit(x - TIE) + p["Worse"] * log_expit(-x - TIE)
        total += p["Similar"] * similar
    return float(total)


@given(comparisons)
def test_the_ordinal_level_on_the_grid_again(levels):
    likelihoods = np.exp([log_likelihood(level, levels) for level in GRID])
    assert ordinal_level(levels) == pytest.approx(np.average(GRID, weights=likelihoods))
    assert 1 < ordinal_level(levels) < 5


@pytest.mark.parametrize("ratings", [(1.0, 5.0), (1.0, 3.0, 5.0), tuple(RATINGS)])
@pytest.mark.parametrize("spread", [0.01, 0.1, 1.0, 10.0])
def test_every_position_expects_the_wins_that_there_are(ratings, spread):
    p = np.random.default_rng(0).dirichlet([spread] * 3, (2000, len(ratings)))
    found = equations.bradley_terry_position(equations.ComparedTexts(ratings, p))
    anchors, weights = np.array([3.0, *ratings]), np.array([PRIOR, *(1.0 for _ in ratings)])
    expected = (weights / (1 + np.exp(-STRENGTH * (found[:, None] - anchors)))).sum(axis=1)
    wins = (p[:, :, 0] + p[:, :, 2] / 2).sum(axis=1) + PRIOR / 2
    assert np.abs(expected - wins).max() < 1e-12


def test_doubt_is_the_mean_entropy_as_a_share_of_the_greatest():
    doubt = of_one(equations.doubt)
    assert doubt([(r, UNDECIDED) for r in RATINGS]) == pytest.approx(1.0)
    assert doubt([(r, SIMILAR) for r in RATINGS]) == 0.0
    assert doubt([(1.0, BETTER), (5.0, UNDECIDED)]) == pytest.approx(0.5)
    bits = [entropy(p) for _, p in SAMPLE]
    assert doubt(SAMPLE) == pytest.approx(sum(bits) / len(bits) / log2(3))
