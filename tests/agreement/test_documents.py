"""Parts of documents and draws of them, their intervals and p, by hand and by scipy."""

from itertools import combinations, product
from math import nan

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from evaljudge.agreement import Agreement, soft_accuracies
from evaljudge.agreement.documents import (
    interval,
    jackknife_error,
    jackknifed,
    mean_parts,
    means,
    multiplicities,
    p_value,
    percentiles,
    spread,
)
from evaljudge.agreement.soft import MOST_SYSTEMS, PERMUTATIONS, p_values

GAPS = np.array([0.3, -0.1, nan, 0.2, 0.05, 0.4])
KNOWN = GAPS[np.isfinite(GAPS)]


@pytest.mark.parametrize(
    ("without", "parts"),
    [
        ([0.6, 0.5, 0.4, 0.5], [0.2, 0.5, 0.8, 0.5]),  # .5 + 3 (.5 - .6)
        ([0.6, nan, 0.4, 0.5], [0.3, nan, 0.7, 0.5]),  # the second has no part in it
        ([0.6, nan, nan, 0.4], [0.4, nan, nan, 0.6]),
        ([0.6, nan, nan, nan, 0.4], [nan] * 5),  # more than half are undefined
        ([0.6, nan], [nan] * 2),
    ],
)
def test_parts_by_hand(without, parts):
    found = jackknifed(np.array(0.5), np.array(without))
    np.testing.assert_allclose(found, parts)


def test_parts_of_means():
    """In the second, a document weighs as much as 3/2 would of three."""
    found = mean_parts(np.array([[1, 2, 3, nan], [5, nan, 7, nan]]))
    np.testing.assert_allclose(found, [(1 + 4.5) / 2, (2 + 6) / 2, (3 + 7.5) / 2, nan])
    assert means(found) == 4
    without = (KNOWN.sum() - KNOWN) / (KNOWN.size - 1)
    assert jackknife_error(without, KNOWN.mean()) == pytest.approx(stats.sem(KNOWN))


@pytest.mark.parametrize("choices", [1, 7])
def test_interval_of_systems_is_students(choices):
    mean, error = KNOWN.mean(), stats.sem(KNOWN)
    expected = stats.t.interval(1 - 0.05 / choices, KNOWN.size - 1, mean, error)
    found = interval(float(mean), GAPS, "system", choices=choices)
    assert found == pytest.approx((max(-1, expected[0]), min(1, expected[1])))
    low, high = interval(0.9, GAPS, "system", least=0.85)
    assert (low, high) == (0.85, 1.0)
    two = stats.t.interval(1 - 0.05 / choices, 1, 0.5, 0.001)
    assert interval(0.5, np.array([0.499, 0.501]), "system", choices=choices) == pytest.approx(two)


@pytest.mark.parametrize("level", ["sample", "summary"])
def test_other_intervals_are_students_on_fishers_scale(level):
    """An accuracy p goes there by way of 2p - 1. Parts that are alike have no spread: of documents,
    others may differ that a sample of so many misses; of the jackknife, nothing is known."""
    t = stats.t.ppf(0.975, KNOWN.size - 1)
    reach = t * stats.sem(KNOWN) / (1 - 0.8**2)
    expected = np.tanh([np.arctanh(0.8) - reach, np.arctanh(0.8) + reach])
    assert interval(0.8, GAPS, level) == pytest.approx(tuple(expected))
    accuracy = interval(0.9, GAPS / 2, level, least=0.0)
    assert accuracy == pytest.approx(tuple((1 + expected) / 2))
    share = stats.binomtest(0, 3).proportion_ci().high
    alike = interval(0.5, np.full(3, 0.5), level, least=0.0)
    assert alike == pytest.approx(
        ((1 - share) / 2, (1 + share) / 2) if level == "sample" else (None, None)
    )
    assert interval(0.5, np.array([0.5, nan]), level) == interval(nan, GAPS, level) == (None, None)


def test_p_is_students_and_of_signs_where_nothing_spreads():
    assert p_value(float(KNOWN.mean()), GAPS) == pytest.approx(stats.ttest_1samp(KNOWN, 0).pvalue)
    for noise in (1e-13, 1e-11):
        alike = np.array([nan, 0.2, 0.2 + noise, 0.2, 0.2])
        assert p_value(0.2, alike) == 2 / 2**4  # all four up, or all four down
    assert p_value(1e-12, np.array([1e-12] * 5)) == 1.0
    assert p_value(0.2, np.array([0.2, nan])) is None


def test_draws_are_as_many_and_do_not_depend_on_the_block():
    (weights,) = multiplicities(7, resamples=50, seed=0, block=50)
    assert weights.shape == (50, 7)
    assert set(weights.sum(axis=1)) == {7.0}
    (whole,) = multiplicities(9, resamples=20, seed=5, block=20)
    parts = list(multiplicities(9, resamples=20, seed=5, block=6))
    assert [len(part) for part in parts] == [6, 6, 6, 2]
    np.testing.assert_array_equal(np.concatenate(parts), whole)


def test_two_documents_have_an_interval_and_one_has_none():
    def means_of(draws: NDArray[np.float64]) -> NDArray[np.float64]:
        return draws @ np.arange(1.0, draws.shape[1] + 1) / draws.shape[1]

    assert spread(means_of, 2, 400, seed=0) == (1.5, 1.0, 2.0)
    assert spread(means_of, 1, 400, seed=0) == (1.0, None, None)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (np.linspace(0.0, 1.0, 41), (0.025, 0.975)),
        ([np.nan, 0.5], (0.5, 0.5)),
        ([np.nan, np.nan, 0.5], (None, None)),
        ([np.nan], (None, None)),
    ],
)
def test_percentiles(values, expected):
    assert percentiles(np.array(values)) == pytest.approx(expected)


DOCUMENTS, SYSTEMS = range(40), range(5)
AUTHORS_SEED = 4
HUMAN = np.array(
    [[((d * d * 7 + s * 29 + d * s * 11) % 13 + s) // 3 for s in SYSTEMS] for d in DOCUMENTS], float
)
SCORES = np.array(
    [[(d * d * 5 + s * 17 + d * s * 19) % 97 + 6 * s for s in SYSTEMS] for d in DOCUMENTS], float
)
# pce.py of google-research/mt-metrics-eval at commit 68a481aea1a787392d55af8f76ac8ef40c5f4664:
# compute_pairwise_p_values of the two tables transposed, and compute_one_minus_pce of these.
AUTHORS_HUMAN = [1.0, 0.968, 1.0, 1.0, 0.06, 1.0, 0.989, 1.0, 1.0, 0.145]
AUTHORS_SCORES = [0.374, 0.994, 1.0, 1.0, 0.998, 1.0, 1.0, 0.876, 1.0, 0.979]
AUTHORS_VALUE = 0.7441
Floats = NDArray[np.float64]


def soft(scores: Floats, human: Floats, seed: int = AUTHORS_SEED) -> Agreement:
    documents, systems = np.indices(human.shape)
    (found,) = soft_accuracies(
        documents.ravel(), systems.ravel(), [scores.ravel(), human.ravel()], [(0, 1)],
        seed=seed,
    )  # fmt: skip
    return found


def test_is_that_of_its_authors():
    found = p_values(np.stack([HUMAN, SCORES]), PERMUTATIONS, AUTHORS_SEED)
    assert found.tolist() == [AUTHORS_HUMAN, AUTHORS_SCORES]
    assert soft(SCORES, HUMAN).value == pytest.approx(AUTHORS_VALUE, abs=1e-12)


def test_p_values_are_those_of_every_permutation():
    table = np.array([[5, 3, 1], [2, 4, 2], [4, 4, 1], [3, 1, 2], [5, 2, np.nan], [1, 0, 3]])
    exact = []
    for one, other in combinations(range(3), 2):
        apart = [a - b for a, b in table[:, [one, other]] if not np.isnan(a - b)]
        nulls = [np.dot(signs, apart) for signs in product((-1, 1), repeat=len(apart))]
        exact.append(np.mean([null >= sum(apart) for null in nulls]))
    (found,) = p_values(table[None], 40_000, 0)
    assert found.tolist() == pytest.approx(exact, abs=0.01)  # four standard errors


def test_neither_the_order_of_rows_nor_other_columns_change_it():
    documents, systems = (axis.ravel() for axis in np.indices(HUMAN.shape))
    columns = [SCORES.ravel(), HUMAN.ravel(), np.where(systems == 1, np.nan, SCORES.ravel())]
    order = np.random.default_rng(0).permutation(documents.size)
    found = soft_accuracies(
        documents[order], systems[order], [c[order] for c in columns], [(0, 1), (2, 1)],
        seed=AUTHORS_SEED,
    )  # fmt: skip
    assert found[0] == soft(SCORES, HUMAN)
    assert (found[1].n, found[1].skipped) == (4, 1)
    kept = [0, 2, 3, 4]
    assert found[1].value == soft(SCORES[:, kept], HUMAN[:, kept]).value


def test_equal_sums_one_system_and_too_many():
    """0.1 + 0.2 - 0.3 is not 0, and neither are other orders of it."""
    table = np.zeros((3, 2))
    table[:, 0] = [0.1, 0.2, -0.3]
    nulls = [np.dot(signs, [1, 2, -3]) >= 0 for signs in product((-1, 1), repeat=3)]
    assert p_values(table[None], 20_000, 0)[0, 0] == pytest.approx(np.mean(nulls), abs=0.02)
    assert soft(HUMAN[:, :1], HUMAN[:, :1]).value is None
    many = np.zeros((2, MOST_SYSTEMS + 1))
    assert soft(many, many).value is None
