"""Preferences, strengths and ranks by hand and by an optimiser; the searches that ask for them."""

import random
from collections.abc import Callable, Sequence
from functools import partial
from itertools import chain, combinations
from math import ceil, exp, inf, log, log2

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from evaljudge.judges.pairs.contest import ReadPair
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
)
from evaljudge.judges.pairs.sorting import (
    Beam,
    LogOdds,
    Search,
    by_merge_sort,
    by_round_robin,
    merge_sort,
)

KnownOdds = dict[tuple[int, int], float]


def test_both_orders_and_the_surest_by_hand():
    """The example of the module."""
    here, there = log_odds(log(0.8), log(0.2)), log_odds(log(0.5), log(0.5))
    assert (here, there) == (pytest.approx(log(4)), 0)
    assert preference(log(2)) == pytest.approx(2 / 3)
    assert ReadPair("B", 0.0, here, there).worth_of_place == pytest.approx(log(2))
    assert log_preference(-SUREST) == pytest.approx(log(1e-9), rel=1e-6)
    assert exp(log_preference(0.7)) == pytest.approx(preference(0.7))


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
def test_log_odds(first, second, tie, odds):
    assert log_odds(first, second, tie) == pytest.approx(odds)


# strengths


def optimised(n: int, known: KnownOdds) -> np.ndarray:
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
def test_strengths_are_those_of_an_optimiser(share, scale):
    source, n = random.Random(1), 7
    known: KnownOdds = {}
    for i, j in combinations(range(n), 2):
        odds = max(-SUREST, min(SUREST, source.gauss(0, scale)))
        if source.random() < share:
            known |= {(i, j): odds, (j, i): -odds}
    strengths = bradley_terry(range(n), known)
    assert list(strengths.values()) == pytest.approx(list(optimised(n, known)), abs=1e-4)


def test_strengths_ranks_and_doubt_by_hand():
    """Of two texts s and −s: p − σ(2s) + PRIOR · (½ − σ(s)) is 0."""
    strengths = bradley_terry([4, 9], {(4, 9): log(4), (9, 4): -log(4)})
    s = strengths[4]
    assert strengths[9] == pytest.approx(-s)
    assert 0.8 - preference(2 * s) + PRIOR * (0.5 - preference(s)) == pytest.approx(0, abs=1e-12)
    assert 2 * s == pytest.approx(log(4), abs=0.1)  # the prior takes a little
    assert ranks([1, 2, 1]) == [1, 2.5, 4]
    assert ranks([3]) == [2]
    assert [rank_score(rank, 4) for rank in (1, 2.5, 4)] == [1, 0.5, 0]
    assert rank_score(3, 5) == 0.5
    assert doubt([0.5, 1.0]) == 0.5
    assert doubt([0.25]) == pytest.approx(0.811, abs=5e-4)


# ranks


Odds = Callable[[int, int], float]
Known = dict[tuple[int, int], float]
Ranking = Callable[[Sequence[int], LogOdds], Search[list[list[int]]]]
SOME = st.integers(1, 16).flatmap(lambda n: st.permutations(range(n)))
BEAMS = st.builds(Beam, st.integers(1, 12), st.floats(0, 0.49), st.sampled_from(["asked", "path"]))


def ranked(texts: Sequence[int], odds: Odds, ranking: Ranking) -> tuple[list[int], Known, int]:
    """The order, all that was learnt, and in how many rounds."""
    known: Known = {}
    search, rounds = ranking(texts, known), 0
    while True:
        try:
            wanted = next(search)
        except StopIteration as end:
            return list(chain.from_iterable(end.value)), known, rounds
        rounds += 1
        assert wanted
        for i, j in wanted:
            assert (i, j) not in known
            known |= {(i, j): odds(i, j), (j, i): -odds(i, j)}


def by_beam(width: int, threshold: float = 0.1) -> Ranking:
    return partial(by_merge_sort, beam=Beam(width, threshold))


def sure(i: int, j: int) -> float:
    return SUREST if i > j else -SUREST


@given(SOME, BEAMS)
def test_a_model_that_is_sure_has_every_list_sorted(texts, beam):
    order, known, rounds = ranked(texts, sure, partial(by_merge_sort, beam=beam))
    assert order == sorted(texts, reverse=True)
    n = len(texts)
    assert len(known) / 2 <= n * ceil(log2(n))
    assert rounds <= max(0, 2 * n - 2)


def test_the_rounds_of_the_docstring():
    known: Known = {}
    search = merge_sort([0, 1, 2, 3], known, Beam(1))
    better = [3, 0, 2, 1]
    rounds = []
    for wanted in search:
        rounds.append(wanted)
        for i, j in wanted:
            odds = SUREST if better.index(i) < better.index(j) else -SUREST
            known |= {(i, j): odds, (j, i): -odds}
    assert rounds == [[(0, 1), (2, 3)], [(0, 3)], [(0, 2)], [(1, 2)]]
    assert ranked([0, 1, 2, 3], lambda i, j: known[i, j], by_beam(1))[0] == better


def test_a_round_robin_asks_all_at_once():
    order, known, rounds = ranked([2, 0, 3, 1], sure, by_round_robin)
    assert (order, len(known) / 2, rounds) == ([3, 2, 1, 0], 6, 1)
    assert ranked([7], sure, by_round_robin) == ([7], {}, 0)


# one merge by hand: of lists (0, 1) and (2, 3), where only 0 against 2 is in doubt

BY_HAND = {(0, 1): SUREST, (2, 3): SUREST, (0, 2): 0.2, (0, 3): -SUREST, (1, 2): -SUREST,
           (1, 3): -SUREST}  # fmt: skip


def by_hand(i: int, j: int) -> float:
    return BY_HAND[i, j] if (i, j) in BY_HAND else -BY_HAND[j, i]


@pytest.mark.parametrize(
    ("beam", "order", "comparisons"),
    [
        # 0 is taken first, as ln σ(.2) is the greater half; then 2 and 3 beat 1
        (Beam(1), [0, 2, 3, 1], 5),
        # both are followed: 0 first has ln σ(.2) = −.60 and against it, once 0 was compared with
        # 3, ln 10⁻⁹ = −20.7; 2 first has ln σ(−.2) = −.80 and then 3 before 0 for certain
        (Beam(2), [2, 3, 0, 1], 6),
        # on their own ways: 0 first −.60 / 3 comparisons = −.20, 2 first −.80 / 2 = −.40
        (Beam(2, likelihood="path"), [0, 2, 3, 1], 6),
        # .2 is a preference of .55, which is further from one half than .04
        (Beam(2, threshold=0.04), [0, 2, 3, 1], 5),
    ],
)
def test_a_merge_by_hand(beam, order, comparisons):
    found, known, _ = ranked([0, 1, 2, 3], by_hand, partial(by_merge_sort, beam=beam))
    assert (found, len(known) / 2) == (order, comparisons)


def test_texts_of_the_same_strength_share_a_place():
    """In a circle, each beats the next; and 3 loses against all."""
    known: Known = {}
    search = by_round_robin([0, 1, 2, 3], known)
    next(search)
    for i, j in ((0, 1), (1, 2), (2, 0), (0, 3), (1, 3), (2, 3)):
        known |= {(i, j): 1.0, (j, i): -1.0}
    with pytest.raises(StopIteration) as end:
        next(search)
    assert end.value.value == [[0, 1, 2], [3]]
