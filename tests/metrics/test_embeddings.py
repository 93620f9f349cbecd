"""BERTScore and the mover's score: by hand on vectors of two numbers, by definition in loops."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import dist, sqrt
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from scipy.optimize import linprog

from evaljudge.metrics.bertscore import Statistic, matched
from evaljudge.metrics.encoder import Embedded
from evaljudge.metrics.mover import grams, moved

# POT's docstrings hold escapes that Python warns of when it first compiles them.
pytestmark = pytest.mark.filterwarnings("ignore:invalid escape sequence")

PARTS: list[Statistic] = ["precision", "recall", "f1"]
EAST, NORTH, WEST, BETWEEN = (1.0, 0.0), (0.0, 1.0), (-1.0, 0.0), (0.6, 0.8)
Vector = tuple[float, ...]


def embedded(*tokens: Sequence[float], marks: Sequence[Sequence[float]] = ()) -> Embedded:
    """Marks stand before the text's own tokens, as [CLS] does."""
    vectors = np.array([*marks, *tokens], np.float32)
    own = np.array([False] * len(marks) + [True] * len(tokens))
    return Embedded(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), own)


@st.composite
def texts(draw: Any, most: int = 5, marks: bool = False) -> Embedded:
    """Tokens from few directions, so that equal cosines are usual."""
    count = draw(st.integers(1, most))
    coordinates = st.sampled_from([-2.0, -1.0, 1.0, 2.0])
    vectors = draw(arrays.arrays(np.float32, (count + marks, 3), elements=coordinates))
    return embedded(*vectors[marks:], marks=vectors[:marks])


def shuffled(text: Embedded, seed: int) -> Embedded:
    order = np.random.default_rng(seed).permutation(len(text.own))
    return Embedded(text.vectors[order], text.own[order])


# BERTScore


def test_bertscore_by_hand() -> None:
    text, other = embedded(EAST, NORTH), embedded(BETWEEN)
    assert matched("precision", text, other) == pytest.approx((0.6 + 0.8) / 2)
    assert matched("recall", text, other) == pytest.approx(0.8)
    assert matched("f1", text, other) == pytest.approx(2 * 0.7 * 0.8 / 1.5)


def test_a_mark_may_be_the_nearest_but_has_no_weight() -> None:
    text, other = embedded(EAST), embedded(NORTH, marks=[EAST])
    assert matched("precision", text, other) == pytest.approx(1)
    assert matched("recall", text, other) == pytest.approx(0)


def test_opposites_have_no_harmonic_mean() -> None:
    assert matched("precision", embedded(EAST), embedded(WEST)) == pytest.approx(-1)
    assert matched("f1", embedded(EAST), embedded(WEST)) == 0


def bertscore_by_definition(part: Statistic, text: Embedded, other: Embedded) -> float:
    if part == "f1":
        p, r = (bertscore_by_definition(part, text, other) for part in PARTS[:2])
        return 0 if min(p, r) <= 0 else 2 / (1 / p + 1 / r)
    mine, theirs = (text, other) if part == "precision" else (other, text)
    total, count = 0.0, 0
    for token, own in zip(mine.vectors.tolist(), mine.own, strict=True):
        if own:
            count += 1
            total += max(
                sum(a * b for a, b in zip(token, candidate, strict=True))
                for candidate in theirs.vectors.tolist()
            )
    return total / count


@given(texts(marks=True), texts(marks=True), st.sampled_from(PARTS))
def test_bertscore_by_definition(text: Embedded, other: Embedded, part: Statistic) -> None:
    wanted = bertscore_by_definition(part, text, other)
    # Near zero a rounded cosine decides whether there is a harmonic mean; it is tiny either way.
    assert matched(part, text, other) == pytest.approx(wanted, abs=1e-5)


@given(texts(marks=True), texts(marks=True), st.integers(0, 99))
def test_laws_of_bertscore(text: Embedded, other: Embedded, seed: int) -> None:
    assert matched("precision", text, other) == pytest.approx(matched("recall", other, text))
    assert matched("f1", text, text) == pytest.approx(1)
    for part in PARTS:
        value = matched(part, text, other)
        assert -1 - 1e-6 <= value <= 1 + 1e-6
        again = matched(part, shuffled(text, seed), shuffled(other, seed + 1))
        assert value == pytest.approx(again, abs=1e-6)


# The mover's score


def test_mover_by_hand() -> None:
    root = sqrt(2)
    assert moved(1, embedded(EAST), embedded(WEST)) == pytest.approx(-1)
    assert moved(1, embedded(EAST), embedded(NORTH)) == pytest.approx(1 - root)
    # Half of the text stays, the other half moves a quarter turn.
    assert moved(1, embedded(EAST, NORTH), embedded(EAST)) == pytest.approx(1 - root / 2)
    # Marks neither move nor are moved to.
    marked = embedded(EAST, marks=[WEST, NORTH])
    assert moved(1, marked, embedded(EAST, marks=[NORTH])) == 1
    assert moved(2, embedded(EAST, NORTH), embedded((1, 1))) == pytest.approx(1)


def test_bigrams_are_unit_means_of_neighbours() -> None:
    half = 1 / sqrt(2)
    found = grams(embedded(EAST, NORTH, WEST).words, 2)
    assert found.tolist() == pytest.approx(np.array([[half, half], [-half, half]]))
    assert grams(embedded(NORTH).words, 2).tolist() == [[0, 1]]


def mover_by_definition(n: int, text: Embedded, other: Embedded) -> float:
    """Flows f_ij >= 0 of least cost: each row gives its share, each column takes its own."""
    mine, theirs = (_grams(t.words.astype(float).tolist(), n) for t in (text, other))
    costs = [dist(a, b) for a in mine for b in theirs]
    cells = [(i, j) for i in range(len(mine)) for j in range(len(theirs))]
    gives = [[float(i == row) for i, _ in cells] for row in range(len(mine))]
    takes = [[float(j == column) for _, j in cells] for column in range(len(theirs))]
    shares = [1 / len(mine)] * len(mine) + [1 / len(theirs)] * len(theirs)
    return 1 - float(linprog(costs, A_eq=gives + takes, b_eq=shares).fun)


def _grams(words: list[list[float]], n: int) -> list[list[float]]:
    if n == 1 or len(words) == 1:
        return words
    sums = [[a + b for a, b in zip(*pair, strict=True)] for pair in pairwise(words)]
    return [[a / dist(s, [0] * len(s)) for a in s] for s in sums]


@given(texts(), texts())
def test_mover_by_definition(text: Embedded, other: Embedded) -> None:
    assert moved(1, text, other) == pytest.approx(mover_by_definition(1, text, other), abs=1e-6)


@pytest.mark.parametrize("seed", range(20))
def test_mover_of_bigrams_by_definition(seed: int) -> None:
    random = np.random.default_rng(seed)
    text, other = (
        embedded(*random.standard_normal((size, 4))) for size in random.integers(1, 9, 2)
    )
    assert moved(2, text, other) == pytest.approx(mover_by_definition(2, text, other), abs=1e-6)


@given(texts(), texts(), texts(), st.integers(0, 99))
def test_laws_of_the_mover(a: Embedded, b: Embedded, c: Embedded, seed: int) -> None:
    value = moved(1, a, b)
    assert -1 - 1e-6 <= value <= 1
    assert moved(1, a, a) == pytest.approx(1)
    assert moved(1, b, a) == pytest.approx(value, abs=1e-6)
    assert moved(1, shuffled(a, seed), shuffled(b, seed)) == pytest.approx(value, abs=1e-6)
    # A distance: no way round is shorter.
    assert 1 - value <= (1 - moved(1, a, c)) + (1 - moved(1, c, b)) + 1e-6
