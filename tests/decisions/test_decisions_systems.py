"""Systems compared: scipy's numbers, every choice of signs by itself, and worlds where it is known
what is true."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from evaljudge.agreement.pairs import Floats
from evaljudge.agreement.significance import holm
from evaljudge.decisions import systems
from evaljudge.decisions.systems import SystemPair, SystemRanking, letters, rank_systems

NAMES = tuple("ABCDEF")


def made(documents: int, count: int = 4, seed: int = 0, spread: float = 0.3) -> Floats:
    """Scores with strong document effects; each system is a little better than the one before."""
    stream = np.random.default_rng(seed)
    own = stream.normal(size=(documents, count)) + spread * np.arange(count)
    return own + 2 * stream.normal(size=(documents, 1))


def test_of_many_systems_those_with_the_most_documents_are_compared(monkeypatch):
    monkeypatch.setattr(systems, "MOST_SYSTEMS", 2)
    table = made(6)
    table[4:, [1, 3]] = np.nan
    found = ranked(table)
    assert {one.system for one in found.systems} == {"A", "C"}
    assert (len(found.pairs), found.left_out) == (1, 2)


def ranked(table: object, seed: int = 0) -> SystemRanking:
    values = np.asarray(table, dtype=np.float64)
    (found,) = rank_systems(NAMES[: values.shape[1]], [values], seed)
    return found


def columns(table: Floats, pair: SystemPair) -> tuple[Floats, Floats]:
    """Of the documents that have both."""
    both = table[:, [NAMES.index(pair.first), NAMES.index(pair.second)]]
    both = both[np.isfinite(both).all(axis=1)]
    return both[:, 0], both[:, 1]


def test_means_and_differences_have_scipys_t_intervals():
    table = made(13)
    table[[0, 3, 5], [1, 1, 2]] = np.nan
    found = ranked(table)
    for one in found.systems:
        column = table[:, NAMES.index(one.system)]
        column = column[np.isfinite(column)]
        interval = stats.ttest_1samp(column, 0.0).confidence_interval(0.95)
        assert (one.mean, one.low, one.high) == pytest.approx((column.mean(), *interval))
        assert one.n == column.size
    for pair in found.pairs:
        interval = stats.ttest_rel(*columns(table, pair)).confidence_interval(0.95)
        first, second = columns(table, pair)
        assert (pair.low, pair.high) == pytest.approx(tuple(interval))
        assert pair.difference == pytest.approx(np.mean(first - second))
        assert pair.n == first.size


@pytest.mark.parametrize("documents", [2, 5, 9])
@pytest.mark.parametrize("is_ordinal", [False, True])
def test_few_documents_have_scipys_exact_p(documents, is_ordinal):
    table = made(documents, seed=documents)
    table = np.rint(table) if is_ordinal else table
    found = ranked(table)
    assert found.test == "exact"
    for pair in found.pairs:
        expected = stats.permutation_test(
            columns(table, pair), lambda x, y, axis: np.mean(x - y, axis=axis),
            permutation_type="samples", vectorized=True, n_resamples=np.inf,
        ).pvalue  # fmt: skip
        assert pair.p == pytest.approx(expected)


def test_missing_scores_leave_the_test_of_the_documents_that_have_both():
    table = made(9)
    table[:4, 1] = np.nan
    table[4:6, 2] = np.nan
    for pair in ranked(table).pairs:
        (alone,) = ranked(np.stack(columns(table, pair), axis=1)).pairs
        assert pair.p == pytest.approx(alone.p)


def test_many_documents_have_nearly_the_p_of_all_choices():
    """Sixteen, whose choices can still be tried; a drawn p errs by at most 0.0035 in one of 1."""
    table = made(16)
    signs = np.array(list(product([-1, 1], repeat=16)))
    found = ranked(table)
    assert found.test == "permutation"
    for pair in found.pairs:
        first, second = columns(table, pair)
        sums = np.abs(signs @ (first - second))
        p = float(np.mean(sums >= abs(np.sum(first - second)) - 1e-9))
        assert pair.p == pytest.approx(
            p, abs=4 * np.sqrt(p * (1 - p) / systems.PERMUTATIONS) + 1e-4
        )


def test_a_drawn_p_is_never_nothing():
    table = made(40, 2)
    table[:, 1] = table[:, 0] - 1
    (pair,) = ranked(table).pairs
    assert pair.p == 1 / (1 + systems.PERMUTATIONS)


def test_equal_sums_count_as_equal_though_they_are_rounded():
    """Tenths have no exact binary form, and their sums differ by rounding; tens have one."""
    table = np.random.default_rng(3).integers(1, 6, (10, 4)).astype(float)
    ps = [[pair.p for pair in ranked(table * scale).pairs] for scale in (10, 0.1, 1e-7 / 3)]
    assert ps[0] == ps[1] == ps[2]
    more = np.random.default_rng(3).integers(1, 6, (40, 4)).astype(float)
    drawn = [[pair.p for pair in ranked(more * scale).pairs] for scale in (10, 0.1)]
    assert drawn[0] == drawn[1]


def test_many_documents_times_pairs_have_the_t_test(monkeypatch):
    table = made(300)
    by_signs = ranked(table)
    monkeypatch.setattr(systems, "MOST_FLIPPED", 1000)
    found = ranked(table)
    assert (by_signs.test, found.test) == ("permutation", "t")
    for pair, other in zip(found.pairs, by_signs.pairs, strict=True):
        assert pair.p == pytest.approx(stats.ttest_rel(*columns(table, pair)).pvalue)
        assert pair.p == pytest.approx(other.p, abs=0.012)


def test_alike_to_the_digit_is_p_1_in_every_test():
    for documents in (5, 30, 20_000):
        table = np.repeat(made(documents, 1), 3, axis=1)
        found = ranked(table)
        assert [pair.p for pair in found.pairs] == [1.0] * 3
        assert {one.letters for one in found.systems} == {"a"}
        assert found.pairs[0].documents_needed is None
        assert (found.detectable, found.detectable_among_all) == (None, None)
    assert found.test == "t"


def test_every_p_is_adjusted_for_all_pairs_of_its_table():
    found = ranked(made(20))
    ps = [pair.p for pair in found.pairs if pair.p is not None]
    assert [pair.p_holm for pair in found.pairs] == pytest.approx(holm(ps))
    assert found.told_apart == sum(pair.told_apart for pair in found.pairs)


def test_letters_follow_the_adjusted_p():
    found = ranked(made(40, 6, spread=0.25))
    letters = {one.system: set(one.letters) for one in found.systems}
    assert 0 < found.told_apart < len(found.pairs)
    for pair in found.pairs:
        assert pair.told_apart == (not letters[pair.first] & letters[pair.second])


def test_a_table_has_the_same_p_alone_and_beside_others():
    tables = [made(20, seed=seed) for seed in range(3)]
    found = rank_systems(NAMES[:4], tables)
    assert found == [ranked(table) for table in tables]


def test_the_smallest_difference_is_that_of_the_typical_pair():
    table = made(60)
    found = ranked(table)
    spreads = [np.std(np.subtract(*columns(table, pair)), ddof=1) for pair in found.pairs]
    assert found.spread == pytest.approx(np.median(spreads))
    # statsmodels 0.14.6: TTestPower().solve_power(nobs=60, alpha=0.05, power=0.8), alpha=0.05 / 6
    assert found.detectable == pytest.approx(0.36770432 * np.median(spreads), rel=1e-5)
    assert found.detectable_among_all == pytest.approx(0.46297726 * np.median(spreads), rel=1e-5)


def test_too_few_documents_tell_no_two_apart():
    """Seven signs are all alike by chance once in 64 times, eight once in 128; 6 pairs need 120."""
    assert ranked(made(7, spread=9.0)).told_apart == 0
    assert ranked(made(8, spread=9.0)).told_apart == 6


def test_too_few_documents_say_nothing_of_what_they_can_show():
    """Eight choices of signs among 2 ** 8 are under 5%, and among 2 ** 10 under 5% / 6."""
    assert [ranked(made(n)).detectable is None for n in (8, 9)] == [True, False]
    assert [ranked(made(n)).detectable_among_all is None for n in (10, 11)] == [True, False]
    pair = ranked(made(8, spread=9.0)).pairs[0]
    assert (pair.documents_needed, pair.documents_needed_among_all) == (9, 11)


def test_equal_scores_have_no_interval():
    """Of 0.1 as of 5: their mean is rounded."""
    table = np.stack([np.full(7, 5.0), np.full(7, 0.1), np.arange(7.0)], axis=1)
    found = {one.system: one for one in ranked(table).systems}
    assert (found["A"].low, found["B"].low, found["B"].high) == (None, None, None)
    assert found["C"].low is not None
    pair = next(pair for pair in ranked(table).pairs if {pair.first, pair.second} == {"A", "B"})
    assert (pair.low, pair.high, pair.p) == (None, None, 2 / 2**7)
    alike = np.array([[0.1, 0.1], [0.1, np.nan], [0.1, 0.1]])  # of a pair, two documents alone
    assert systems._t_ps(alike).tolist() == [2 / 2**3, 2 / 2**2]


def test_what_is_not_there_is_none():
    table = np.full((4, 4), np.nan)
    assert rank_systems(NAMES[:4], [table]) == [None]
    table[0, 1] = 3.0
    found = ranked(table)
    assert [(one.system, one.low, one.n) for one in found.systems] == [("B", None, 1)]
    assert (found.pairs, found.documents, found.detectable) == ((), 0, None)
    table[1:, 0] = [1.0, 2.0, 3.0]
    table[0, 3] = 1.0
    pairs = {(pair.first, pair.second): pair for pair in ranked(table).pairs}
    assert pairs["B", "D"].difference == 2.0
    assert (pairs["B", "D"].p, pairs["B", "D"].low, pairs["B", "D"].n) == (None, None, 1)
    assert (pairs["B", "A"].difference, pairs["B", "A"].n) == (None, 0)
    assert all(one.letters == "a" for one in ranked(table).systems)


@st.composite
def graphs(draw: st.DrawFn) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
    size = draw(st.integers(0, 8))  # at most 18 letters
    apart = np.zeros((size, size), dtype=bool)
    for one in range(size):
        for other in range(one):
            apart[one, other] = apart[other, one] = draw(st.booleans())
    return apart


@given(graphs())
def test_two_share_a_letter_exactly_where_they_are_not_told_apart(apart):
    found = letters(apart)
    assert len(found) == len(apart) and all(found)
    for one in range(len(apart)):
        for other in range(one):
            assert bool(set(found[one]) & set(found[other])) != apart[one, other]


@pytest.mark.parametrize(
    ("least", "expected"),
    [
        (1, ["a", "b", "c", "d", "e"]),
        (2, ["a", "ab", "bc", "cd", "d"]),
        (3, ["a", "ab", "abc", "bc", "c"]),
        (5, ["a", "a", "a", "a", "a"]),
    ],
)
def test_neighbours_in_a_row_share_as_few_letters_as_can_be(least, expected):
    """Told apart where they are at least so many places from each other."""
    places = np.arange(5)
    assert letters(np.abs(places[:, None] - places) >= least) == expected


def test_after_z_comes_a2():
    found = letters(np.ones((28, 28)))
    assert found[24:] == ["y", "z", "a2", "b2"]
