"""The searches: every list is sorted with few comparisons, and a wider beam ranks better."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from functools import partial
from itertools import chain
from math import ceil, log2

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import spearmanr

from evaljudge.judges.pairs.equations import SUREST, bradley_terry
from evaljudge.judges.pairs.sorting import (
    Beam,
    LogOdds,
    Search,
    by_merge_sort,
    by_round_robin,
    merge_sort,
)

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
def test_a_model_that_is_sure_has_every_list_sorted(texts: list[int], beam: Beam) -> None:
    order, known, rounds = ranked(texts, sure, partial(by_merge_sort, beam=beam))
    assert order == sorted(texts, reverse=True)
    n = len(texts)
    assert len(known) / 2 <= n * ceil(log2(n))
    assert rounds <= max(0, 2 * n - 2)


def test_the_rounds_of_the_docstring() -> None:
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


def test_a_round_robin_asks_all_at_once() -> None:
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
def test_a_merge_by_hand(beam: Beam, order: list[int], comparisons: int) -> None:
    found, known, _ = ranked([0, 1, 2, 3], by_hand, partial(by_merge_sort, beam=beam))
    assert (found, len(known) / 2) == (order, comparisons)


def test_texts_of_the_same_strength_share_a_place() -> None:
    """In a circle, each beats the next; and 3 loses against all."""
    known: Known = {}
    search = by_round_robin([0, 1, 2, 3], known)
    next(search)
    for i, j in ((0, 1), (1, 2), (2, 0), (0, 3), (1, 3), (2, 3)):
        known |= {(i, j): 1.0, (j, i): -1.0}
    with pytest.raises(StopIteration) as end:
        next(search)
    assert end.value.value == [[0, 1, 2], [3]]


def test_a_model_that_cannot_decide_keeps_the_order() -> None:
    order, known, _ = ranked([4, 1, 3, 2], lambda i, j: 0.0, by_beam(1))
    assert order == [4, 1, 3, 2]
    assert len(known) / 2 == 4


# noise


def noisy(seed: int, n: int) -> tuple[list[float], Odds]:
    """True qualities, and a judge whose log-odds are their difference and as much noise."""
    source = random.Random(seed)
    quality = [source.gauss(0, 1) for _ in range(n)]
    noise = {(i, j): source.gauss(0, 1) for i in range(n) for j in range(i)}

    def odds(i: int, j: int) -> float:
        return quality[i] - quality[j] + (noise[i, j] if i > j else -noise[j, i])

    return quality, odds


def agreement(ranking: Ranking, lists: int = 60, n: int = 16) -> tuple[float, float, float]:
    """Spearman's correlation with the true order: of the ranking, and of the strengths by the same
    comparisons; and how many these were. Means over lists."""
    sums = [0.0, 0.0, 0.0]
    for seed in range(lists):
        quality, odds = noisy(seed, n)
        order, known, _ = ranked(range(n), odds, ranking)
        strengths = bradley_terry(range(n), known)
        places = {text: -place for place, text in enumerate(order)}
        sums[0] += float(spearmanr(quality, [places[text] for text in range(n)])[0])
        sums[1] += float(spearmanr(quality, [strengths[text] for text in range(n)])[0])
        sums[2] += len(known) / 2
    return sums[0] / lists, sums[1] / lists, sums[2] / lists


@pytest.mark.parametrize("threshold", [0.1, 0.2])
def test_with_noise_a_wider_beam_ranks_better(threshold: float) -> None:
    """Up to a width of four; twice that changes hardly anything."""
    found = [agreement(by_beam(width, threshold)) for width in (1, 2, 4, 8)]
    by_rank, by_strength, comparisons = zip(*found, strict=True)
    assert by_rank[:3] == tuple(sorted(by_rank[:3]))
    assert by_rank[3] > by_rank[2] - 0.005
    assert by_strength[:3] == tuple(sorted(by_strength[:3]))
    assert comparisons == tuple(sorted(comparisons))
    assert by_rank[-1] - by_rank[0] > 0.04
    robin, _, every = agreement(by_round_robin)
    assert (robin > by_rank[-1], every) == (True, 120)


def test_by_the_mean_of_a_way_a_wider_beam_ranks_no_better() -> None:
    """As in the README: its own comparisons cannot show that a way began wrongly."""
    narrow, wide = (
        agreement(partial(by_merge_sort, beam=Beam(width, 0.2, "path")))[0] for width in (1, 8)
    )
    assert wide < narrow + 0.01
