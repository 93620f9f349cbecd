"""Against loops written from the definitions, which build every resampled list."""

from collections.abc import Callable, Sequence
from fractions import Fraction
from math import isfinite, nan, sqrt

import numpy as np
import pytest

from evaljudge.agreement import COEFFICIENTS, LEVELS, agreements
from evaljudge.agreement.bootstrap import interval, multiplicities
from evaljudge.agreement.pairs import paired
from evaljudge.agreement.sample import sample_level
from evaljudge.agreement.summary import summary_level
from evaljudge.agreement.system import system_level

Number = float | Fraction
Row = tuple[int, int, float, float]  # document, system, score, human


def pearson(x: Sequence[Number], y: Sequence[Number]) -> float:
    if len(set(x)) < 2 or len(set(y)) < 2:
        return nan
    dx = [float(value) - float(sum(x)) / len(x) for value in x]
    dy = [float(value) - float(sum(y)) / len(y) for value in y]
    products = sum(a * b for a, b in zip(dx, dy, strict=True))
    return products / sqrt(sum(a * a for a in dx)) / sqrt(sum(b * b for b in dy))


def spearman(x: Sequence[Number], y: Sequence[Number]) -> float:
    return pearson(mid_ranks(x), mid_ranks(y))


def mid_ranks(x: Sequence[Number]) -> list[float]:
    return [sum(b < a for b in x) + (sum(b == a for b in x) + 1) / 2 for a in x]


def kendall(x: Sequence[Number], y: Sequence[Number]) -> float:
    balance = untied_x = untied_y = 0
    for i in range(len(x)):
        for j in range(i):
            sign_x = (x[i] > x[j]) - (x[i] < x[j])
            sign_y = (y[i] > y[j]) - (y[i] < y[j])
            balance += sign_x * sign_y
            untied_x += sign_x != 0
            untied_y += sign_y != 0
    return balance / sqrt(untied_x * untied_y) if untied_x and untied_y else nan


CORRELATE: dict[str, Callable[[Sequence[Number], Sequence[Number]], float]] = {
    "spearman": spearman,
    "kendall": kendall,
    "pearson": pearson,
}


def statistic(level: str, coefficient: str, rows: Sequence[Row]) -> float:
    """Of rows that are all pairs; a document drawn twice comes as two documents."""
    correlate = CORRELATE[coefficient]
    if level == "summary":
        return correlate([row[2] for row in rows], [row[3] for row in rows])
    if level == "system":
        systems = sorted({row[1] for row in rows})
        sides = [[exact_mean(rows, system, side) for system in systems] for side in (2, 3)]
        return correlate(*sides)
    found = []
    for document in sorted({row[0] for row in rows}):
        own = [row for row in rows if row[0] == document]
        found.append(correlate([row[2] for row in own], [row[3] for row in own]))
    defined = [value for value in found if isfinite(value)]
    return sum(defined) / len(defined) if defined else nan


def exact_mean(rows: Sequence[Row], system: int, side: int) -> Fraction:
    """Of the decimals as printed, so that ties of means are what a reader would call ties."""
    values = [Fraction(str(row[side])) for row in rows if row[1] == system]
    return sum(values, Fraction(0)) / len(values)


def resampled(rows: Sequence[Row], multiplicity: Sequence[float]) -> list[Row]:
    documents = sorted({row[0] for row in rows})
    drawn: list[Row] = []
    copy = 0
    for document, times in zip(documents, multiplicity, strict=True):
        for _ in range(int(times)):
            drawn += [(copy, *row[1:]) for row in rows if row[0] == document]
            copy += 1
    return drawn


def ragged_rows(seed: int) -> list[Row]:
    """Ties, missing scores and ratings, and one to six candidates a document."""
    stream = np.random.default_rng(seed)
    rows: list[Row] = []
    for document in range(int(stream.integers(2, 10))):
        for system in stream.permutation(6)[: stream.integers(1, 7)]:
            human = float(stream.choice([1.0, 2.0, 2.3333, 3.6667, 4.0]))
            score = round(human / 10 + float(stream.choice([-0.1, 0.0, 0.1, 0.4])), 4)
            lost = stream.random(2) < 0.1
            cells = (nan if lost[0] else score, nan if lost[1] else human)
            rows.append((document * 7, int(system) + 3, *cells))
    return [rows[index] for index in stream.permutation(len(rows))]


def pairs_of(rows: Sequence[Row]) -> list[Row]:
    return [row for row in rows if isfinite(row[2]) and isfinite(row[3])]


@pytest.mark.parametrize("seed", range(40))
def test_values(seed: int) -> None:
    rows = ragged_rows(seed)
    for one in agreements(*zip(*rows, strict=True), resamples=0):
        expected = statistic(one.level, one.coefficient, pairs_of(rows))
        assert (nan if one.value is None else one.value) == pytest.approx(
            expected, abs=1e-9, nan_ok=True
        ), one


@pytest.mark.parametrize("seed", range(12))
def test_every_resample(seed: int) -> None:
    rows = ragged_rows(seed)
    pairs = paired(*zip(*rows, strict=True))
    (weights,) = multiplicities(pairs.document_count, resamples=30, seed=seed, block=30)
    drawn = [resampled(pairs_of(rows), multiplicity) for multiplicity in weights]
    for estimate in (sample_level(pairs), system_level(pairs), summary_level(pairs, seed)):
        for coefficient, found in zip(COEFFICIENTS, estimate.replicate(weights), strict=True):
            expected = [statistic(estimate.level, coefficient, one) for one in drawn]
            np.testing.assert_allclose(found, expected, atol=1e-9)


@pytest.mark.parametrize("seed", range(6))
def test_intervals_end_to_end(seed: int) -> None:
    rows = ragged_rows(seed)
    count = len({row[0] for row in pairs_of(rows)})
    (weights,) = multiplicities(count, resamples=50, seed=seed, block=50)
    drawn = [resampled(pairs_of(rows), multiplicity) for multiplicity in weights]
    for one in agreements(*zip(*rows, strict=True), resamples=50, seed=seed):
        values = np.array([statistic(one.level, one.coefficient, rows) for rows in drawn])
        expected = (None, None) if one.value is None else interval(values)
        assert (one.low, one.high) == pytest.approx(expected, abs=1e-9)


def test_many_candidates_of_a_document_and_many_systems() -> None:
    stream = np.random.default_rng(4)
    sizes = [300, 280, 2, 300]
    rows = [
        (document, int(system), float(stream.integers(30)), float(stream.integers(5)))
        for document, size in enumerate(sizes)
        for system in stream.permutation(400)[:size]
    ]
    pairs = paired(*zip(*rows, strict=True))
    (weights,) = multiplicities(pairs.document_count, resamples=2, seed=0, block=2)
    drawn = [resampled(rows, multiplicity) for multiplicity in weights]
    assert len({row[1] for row in drawn[0]}) >= 256
    for estimate in (sample_level(pairs), system_level(pairs)):
        for coefficient, found in zip(COEFFICIENTS, estimate.replicate(weights), strict=True):
            expected = [statistic(estimate.level, coefficient, one) for one in drawn]
            np.testing.assert_allclose(found, expected, atol=1e-9)


def test_levels_are_those_of_the_package() -> None:
    pairs = paired([0], [0], [1.0], [1.0])
    levels = sample_level(pairs).level, system_level(pairs).level, summary_level(pairs, 0).level
    assert levels == LEVELS
