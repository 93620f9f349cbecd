"""Soft pairwise accuracy: its authors' numbers, its definition, and what it must not depend on."""

from itertools import combinations, product

import numpy as np
import pytest
from numpy.typing import NDArray

from evaljudge.agreement import Agreement, soft_accuracies
from evaljudge.agreement.soft import MOST_SYSTEMS, p_values, soft_accuracy

DOCUMENTS, SYSTEMS = range(40), range(5)
AUTHORS_SEED, AUTHORS_PERMUTATIONS = 4, 1000
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
        permutations=AUTHORS_PERMUTATIONS, seed=seed,
    )  # fmt: skip
    return found


def test_is_that_of_its_authors() -> None:
    found = p_values(np.stack([HUMAN, SCORES]), AUTHORS_PERMUTATIONS, AUTHORS_SEED)
    assert found.tolist() == [AUTHORS_HUMAN, AUTHORS_SCORES]
    assert soft(SCORES, HUMAN).value == pytest.approx(AUTHORS_VALUE, abs=1e-12)


def test_from_p_values_by_hand() -> None:
    p, other = np.array([0.01, 0.3, 0.2, np.nan]), np.array([0.02, 0.6, 0.2, 0.5])
    assert soft_accuracy(p, other) == pytest.approx(1 - (0.01 + 0.3) / 3)


def test_p_values_are_those_of_every_permutation() -> None:
    table = np.array([[5, 3, 1], [2, 4, 2], [4, 4, 1], [3, 1, 2], [5, 2, np.nan], [1, 0, 3]])
    exact = []
    for one, other in combinations(range(3), 2):
        apart = [a - b for a, b in table[:, [one, other]] if not np.isnan(a - b)]
        nulls = [np.dot(signs, apart) for signs in product((-1, 1), repeat=len(apart))]
        exact.append(np.mean([null >= sum(apart) for null in nulls]))
    (found,) = p_values(table[None], 40_000, 0)
    assert found.tolist() == pytest.approx(exact, abs=0.01)  # four standard errors


def test_agrees_wholly_with_itself_and_with_what_orders_every_text_alike() -> None:
    assert soft(HUMAN, HUMAN).value == 1
    assert soft(100 * HUMAN - 7, HUMAN).value == 1


def test_an_opposite_scorer_agrees_where_nobody_is_sure() -> None:
    rng = np.random.default_rng(1)
    apart = np.arange(4) + rng.normal(0, 0.01, (30, 4))
    alike = rng.normal(0, 1, (30, 1)) + np.zeros((30, 4))
    assert soft(-apart, apart).value == 0
    assert soft(alike, alike).value == 1


def test_neither_the_order_of_rows_nor_other_columns_change_it() -> None:
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


def test_sums_that_differ_by_rounding_are_equal() -> None:
    """0.1 + 0.2 - 0.3 is not 0, and neither are other orders of it."""
    table = np.zeros((3, 2))
    table[:, 0] = [0.1, 0.2, -0.3]
    nulls = [np.dot(signs, [1, 2, -3]) >= 0 for signs in product((-1, 1), repeat=3)]
    assert p_values(table[None], 20_000, 0)[0, 0] == pytest.approx(np.mean(nulls), abs=0.02)


def test_one_system_and_too_many_have_none() -> None:
    assert soft(HUMAN[:, :1], HUMAN[:, :1]).value is None
    many = np.zeros((2, MOST_SYSTEMS + 1))
    assert soft(many, many).value is None
