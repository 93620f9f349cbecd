"""Preferences, strengths and ranks by hand, and strengths beside scipy's optimiser."""

from __future__ import annotations

import random
from itertools import combinations
from math import exp, inf, log

import numpy as np
import pytest
from scipy.optimize import minimize

from evaljudge.judges.pairs.equations import (
    PRIOR,
    SUREST,
    bradley_terry,
    doubt,
    log_odds,
    log_preference,
    preference,
    rank_score,
    ranks,
    worth_of_place,
)

Known = dict[tuple[int, int], float]


def test_both_orders_by_hand() -> None:
    """The example of the module."""
    here, there = log_odds(log(0.8), log(0.2)), log_odds(log(0.5), log(0.5))
    assert (here, there) == (pytest.approx(log(4)), 0)
    assert preference(log(2)) == pytest.approx(2 / 3)
    assert worth_of_place(here, there) == pytest.approx(log(2))


@pytest.mark.parametrize(
    ("first", "second", "tie", "odds"),
    [
        (log(0.6), log(0.2), log(0.2), log(7 / 3)),  # a tie of .2 is .1 for each
        (log(0.06), log(0.02), log(0.02), log(7 / 3)),  # whatever the answers' mass
        (-inf, -inf, 0.0, 0.0),
        (0.0, -inf, -inf, SUREST),
        (-inf, 0.0, -inf, -SUREST),
        (0.0, -1000.0, -inf, SUREST),
    ],
)
def test_log_odds(first: float, second: float, tie: float, odds: float) -> None:
    assert log_odds(first, second, tie) == pytest.approx(odds)


def test_log_preferences_of_the_surest() -> None:
    assert log_preference(-SUREST) == pytest.approx(log(1e-9), rel=1e-6)
    assert exp(log_preference(0.7)) == pytest.approx(preference(0.7))


# strengths


def optimised(n: int, known: Known) -> np.ndarray:
    """The maximum of the sum in the docstring of `bradley_terry`, by another method."""

    def loss(s: np.ndarray) -> float:
        met = sum(preference(o) * np.logaddexp(0, s[j] - s[i]) for (i, j), o in known.items())
        anchored = (np.logaddexp(0, -s) + np.logaddexp(0, s)).sum() * PRIOR / 2
        return float(met + anchored)

    found: np.ndarray = minimize(loss, np.zeros(n), method="L-BFGS-B",
                                 options={"ftol": 1e-15, "gtol": 1e-9}).x  # fmt: skip
    return found


@pytest.mark.parametrize("share", [1.0, 0.4])
@pytest.mark.parametrize("scale", [0.5, 3.0, 30.0])
def test_strengths_are_those_of_an_optimiser(share: float, scale: float) -> None:
    source, n = random.Random(1), 7
    known: Known = {}
    for i, j in combinations(range(n), 2):
        odds = max(-SUREST, min(SUREST, source.gauss(0, scale)))
        if source.random() < share:
            known |= {(i, j): odds, (j, i): -odds}
    strengths = bradley_terry(range(n), known)
    assert list(strengths.values()) == pytest.approx(list(optimised(n, known)), abs=1e-4)


def test_strengths_by_hand() -> None:
    """Of two texts s and −s: p − σ(2s) + PRIOR · (½ − σ(s)) is 0."""
    strengths = bradley_terry([4, 9], {(4, 9): log(4), (9, 4): -log(4)})
    s = strengths[4]
    assert strengths[9] == pytest.approx(-s)
    assert 0.8 - preference(2 * s) + PRIOR * (0.5 - preference(s)) == pytest.approx(0, abs=1e-12)
    assert 2 * s == pytest.approx(log(4), abs=0.1)  # the prior takes a little


# ranks


def test_ranks_by_hand() -> None:
    assert ranks([1, 2, 1]) == [1, 2.5, 4]
    assert ranks([3]) == [2]
    assert [rank_score(rank, 4) for rank in (1, 2.5, 4)] == [1, 0.5, 0]
    assert rank_score(3, 5) == 0.5


def test_doubt_by_hand() -> None:
    assert doubt([0.5, 1.0]) == 0.5
    assert doubt([0.25]) == pytest.approx(0.811, abs=5e-4)
