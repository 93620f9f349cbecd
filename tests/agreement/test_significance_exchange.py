"""Permutations and Williams' test, against loops that build every exchanged list."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from math import atan, isfinite, nan, pi, sqrt

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from evaljudge.agreement import MAX_POOLED, agreements
from evaljudge.agreement.bootstrap import LEVELS, Level
from evaljudge.agreement.coefficients import CORRELATIONS, WIDE, Correlation
from evaljudge.agreement.compare import both_scored, compare, williams
from evaljudge.agreement.exchange import Exchange, exchanged, random_swaps

Row = tuple[int, int, float, float, float]  # document, system, first, second, human
COLUMNS = ("documents", "systems", "first", "second", "human")


def columns(rows: Sequence[Row]) -> dict[str, list[float]]:
    return {name: [row[place] for row in rows] for place, name in enumerate(COLUMNS)}


def rows_of(seed: int, documents: int = 5, systems: int = 6, missing: float = 0.1) -> list[Row]:
    """Ties within and between scorers, candidates that one of them did not score, in any order."""
    stream = np.random.default_rng(seed)
    rows: list[Row] = []
    for document, system in product(range(documents), range(systems)):
        human = float(stream.integers(1, 6))
        first = round(human / 10 + float(stream.choice([-0.1, 0.0, 0.2])), 4)
        second = 50 + 3 * human + float(stream.choice([-9.0, 0.0, 6.0]))
        lost = stream.random(3) < missing
        cells = [nan if gone else x for gone, x in zip(lost, (first, second, human), strict=True)]
        rows.append((document, system, cells[0], cells[1], cells[2]))
    return [rows[place] for place in stream.permutation(len(rows))]


def correlated(coefficient: Correlation, x: Sequence[float], y: Sequence[float]) -> float:
    x, y = [round(v, 9) for v in x], [round(v, 9) for v in y]
    if len(set(x)) < 2 or len(set(y)) < 2:
        return nan
    test = {"spearman": stats.spearmanr, "kendall": stats.kendalltau, "pearson": stats.pearsonr}
    return float(test[coefficient](x, y)[0])


def difference(level: Level, coefficient: Correlation, rows: Sequence[Row]) -> float:
    if level == "sample":
        groups = [[row for row in rows if row[0] == d] for d in sorted({row[0] for row in rows})]
    elif level == "system":
        names = sorted({row[1] for row in rows})
        of = [[row for row in rows if row[1] == name] for name in names]
        groups = [[(0, 0, *np.mean([r[2:] for r in own], axis=0)) for own in of]]
    else:
        groups = [list(rows)]
    gaps = []
    for group in groups:
        first, second, human = ([row[place] for row in group] for place in (2, 3, 4))
        gaps.append(correlated(coefficient, first, human) - correlated(coefficient, second, human))
    defined = [gap for gap in gaps if isfinite(gap)]
    return sum(defined) / len(defined) if defined else nan


def shared_rows(rows: Sequence[Row]) -> list[Row]:
    """What both scored and people rated, as standard scores, sorted."""
    kept = sorted(row for row in rows if all(map(isfinite, row)))
    scores = np.array([row[2:4] for row in kept])
    scores = (scores - scores.mean(axis=0)) / scores.std(axis=0)
    return [(r[0], r[1], *s, r[4]) for r, s in zip(kept, scores.tolist(), strict=True)]


def after(rows: Sequence[Row], swapped: NDArray[np.bool_]) -> list[Row]:
    return [
        (d, s, second, first, human) if swap else (d, s, first, second, human)
        for (d, s, first, second, human), swap in zip(rows, swapped, strict=True)
    ]


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("coefficient", CORRELATIONS)
@pytest.mark.parametrize("seed", range(4))
def test_every_exchange(level: Level, coefficient: Correlation, seed: int) -> None:
    rows = rows_of(seed)
    one, other = both_scored(**columns(rows))
    swaps = np.concatenate(list(random_swaps(one, "both", 25, seed)))
    found = exchanged(one, other, level, coefficient, iter([swaps]))
    shared = shared_rows(rows)
    expected = [difference(level, coefficient, after(shared, swap)) for swap in swaps]
    np.testing.assert_allclose(found, expected, atol=1e-9)


def test_wide_lists_exchange_as_narrow_ones_do() -> None:
    shared = shared_rows(rows_of(9, documents=70))
    assert len(shared) >= WIDE
    one, other = both_scored(**columns(shared))
    (swaps,) = random_swaps(one, "both", 3, 0)
    for coefficient in CORRELATIONS:
        found = exchanged(one, other, "summary", coefficient, iter([swaps]))
        expected = [difference("summary", coefficient, after(shared, swap)) for swap in swaps]
        np.testing.assert_allclose(found, expected, atol=1e-9)


@pytest.mark.parametrize("level", ["sample", "summary"])
@pytest.mark.parametrize("decimals", [1, 8])
def test_ranks_in_several_blocks_with_and_without_ties(level: Level, decimals: int) -> None:
    """In single precision, and where ties make sums too large for it, in double."""
    stream = np.random.default_rng(decimals)
    sizes = [1, 2, 90, 90, 17, 16] if decimals == 8 else [3, 1200, 40]
    rows: list[Row] = []
    for document, size in enumerate(sizes):
        for system in range(size):
            human = float(stream.integers(1, 9))
            scores = [round(human / 9 + float(x), decimals) for x in stream.normal(size=2)]
            rows.append((document, system, scores[0], scores[1], human))
    one, other = both_scored(**columns(rows))
    swaps = np.concatenate(list(random_swaps(one, "both", 9, seed=0)))
    found = exchanged(one, other, level, "spearman", iter([swaps]))
    shared = shared_rows(rows)
    expected = [difference(level, "spearman", after(shared, swap)) for swap in swaps]
    np.testing.assert_allclose(found, expected, atol=1e-9)


def test_wide_documents_exchange_beside_narrow_ones() -> None:
    wide = [(9, system, *rest) for system, (_, _, *rest) in enumerate(rows_of(8, documents=70))]
    shared = shared_rows([*rows_of(7, missing=0.3), *wide])
    one, other = both_scored(**columns(shared))
    (swaps,) = random_swaps(one, "both", 3, 0)
    found = exchanged(one, other, "sample", "kendall", iter([swaps]))
    expected = [difference("sample", "kendall", after(shared, swap)) for swap in swaps]
    np.testing.assert_allclose(found, expected, atol=1e-9)


@pytest.mark.parametrize("level", LEVELS)
def test_p_is_that_of_all_exchanges(level: Level) -> None:
    rows = rows_of(3, documents=2, systems=4, missing=0)
    shared = shared_rows(rows)
    seen = abs(difference(level, "pearson", shared))
    swaps = np.array(list(product([False, True], repeat=8)))
    chances = [abs(difference(level, "pearson", after(shared, swap))) for swap in swaps]
    exact = np.mean([chance > seen - 1e-9 for chance in chances])
    found = compare(**columns(rows), level=level, coefficient="pearson", permutations=4000)
    assert 0 < exact < 1
    assert found.p_permutation == pytest.approx(exact, abs=0.03)


@pytest.mark.parametrize(("exchange", "groups"), [("both", 30), ("systems", 6), ("documents", 5)])
def test_what_is_exchanged_together(exchange: Exchange, groups: int) -> None:
    one, _ = both_scored(**columns(rows_of(0, missing=0)))
    swaps = np.concatenate(list(random_swaps(one, exchange, 60, seed=1)))
    assert swaps.shape == (60, 30)
    assert np.unique(swaps, axis=1).shape[1] == groups
    assert swaps.mean() == pytest.approx(0.5, abs=0.1)
    unit = {"both": np.arange(30), "systems": one.systems, "documents": one.documents}[exchange]
    for code in range(groups):
        assert np.unique(swaps[:, unit == code], axis=1).shape[1] == 1


def test_exchanges_do_not_depend_on_the_block() -> None:
    one, _ = both_scored(**columns(rows_of(0, missing=0)))
    parts = list(random_swaps(one, "both", 10_000, seed=1))
    assert len(parts) > 1
    whole = np.random.default_rng(1).random((10_000, 30), np.float32) < 0.5
    np.testing.assert_array_equal(np.concatenate(parts), whole)


@pytest.mark.parametrize("seed", range(3))
def test_values_are_those_of_agreement_on_what_both_scored(seed: int) -> None:
    rows = [row for row in rows_of(seed) if all(map(isfinite, row))]
    of = columns(rows)
    for name in ("first", "second"):
        for expected in agreements(of["documents"], of["systems"], of[name], of["human"]):
            if expected.coefficient not in CORRELATIONS:
                continue
            found = compare(
                **columns(rows_of(seed)),
                level=expected.level,
                coefficient=expected.coefficient,
                permutations=1,
            )
            assert getattr(found, name) == pytest.approx(expected.value, abs=1e-9)
            assert found.n == expected.n
            assert found.first is not None and found.second is not None
            assert found.difference == found.first - found.second


def test_a_document_where_one_is_undefined_is_left_out_for_both() -> None:
    found = compare(
        [0, 0, 0, 1, 1, 1],
        [0, 1, 2, 0, 1, 2],
        first=[1, 2, 3, 5, 5, 5],
        second=[1, 3, 2, 3, 2, 1],
        human=[1, 2, 3, 1, 2, 3],
        level="sample",
    )
    assert (found.first, found.second, found.n) == (1.0, 0.5, 1)


def test_the_other_way_round_is_the_same_test() -> None:
    of = columns(rows_of(1))
    turned = of | {"first": of["second"], "second": of["first"]}
    for level, coefficient in product(LEVELS, CORRELATIONS):
        one = compare(**of, level=level, coefficient=coefficient)
        other = compare(**turned, level=level, coefficient=coefficient)
        assert one.difference == pytest.approx(-other.difference, abs=1e-12)
        assert one.p_permutation == other.p_permutation
        assert one.p_williams == pytest.approx(other.p_williams)


def test_rows_in_another_order_and_scores_on_another_scale() -> None:
    rows = rows_of(2)
    rescaled = [(d, s, 40 * first - 7, second / 8, human) for d, s, first, second, human in rows]
    for level in LEVELS:
        one = compare(**columns(rows), level=level)
        assert compare(**columns(rows[::-1]), level=level) == one
        other = compare(**columns(rescaled), level=level)
        assert other.difference == pytest.approx(one.difference)
        assert other.p_permutation == one.p_permutation


def test_a_scorer_does_not_differ_from_itself() -> None:
    of = columns(rows_of(4))
    scaled = [4 * value for value in of["first"]]
    for level in LEVELS:
        found = compare(**(of | {"second": scaled}), level=level)
        assert found.difference == pytest.approx(0, abs=1e-12)
        assert found.p_permutation == 1.0


def test_a_scorer_that_knows_differs_from_one_that_does_not() -> None:
    rows = rows_of(5, documents=40, missing=0)
    noise = np.random.default_rng(0).normal(size=len(rows))
    of = columns(rows) | {"second": list(noise)}
    levels: tuple[Level, ...] = ("sample", "summary")  # no system is better than another
    for level in levels:
        found = compare(**of, level=level)
        assert found.difference is not None and found.difference > 0.4
        assert found.p_permutation is not None
        assert found.p_permutation < 0.05


def test_false_alarms_are_as_rare_as_they_should_be() -> None:
    stream = np.random.default_rng(0)
    documents, systems = np.repeat(np.arange(10), 6), np.tile(np.arange(6), 10)
    alarms = 0
    for seed in range(200):
        human, first, second = stream.normal(size=(3, 60))
        found = compare(
            documents, systems, human + first, human + second, human, level="sample",
            permutations=99, seed=seed,
        )  # fmt: skip
        alarms += found.p_permutation is not None and found.p_permutation <= 0.1
    assert 8 <= alarms <= 34  # 20 expected, give or take 3.3 standard deviations


@pytest.mark.parametrize("level", LEVELS)
def test_without_permutations_there_is_no_p(level: Level) -> None:
    tested = compare(**columns(rows_of(1)), level=level)
    untested = compare(**columns(rows_of(1)), level=level, permutations=0)
    assert tested.p_permutation is not None
    assert untested == replace(tested, p_permutation=None)


def test_nothing_in_common_or_nothing_that_varies_has_no_p() -> None:
    apart = compare([0, 0], [0, 1], [1, nan], [nan, 1], [1, 2], level="summary")
    assert (apart.first, apart.difference, apart.p_permutation, apart.n) == (None, None, None, 0)
    same = compare([0, 0, 0], [0, 1, 2], [1, 2, 3], [0.1] * 3, [1, 2, 3], level="system")
    assert (same.first, same.second, same.p_permutation, same.p_williams) == (None,) * 4


def test_very_many_candidates_are_sampled_for_p_alone() -> None:
    stream = np.random.default_rng(0)
    size = MAX_POOLED + 80
    human = stream.normal(size=size)
    scores = human + stream.normal(size=size), human + 2 * stream.normal(size=size)
    documents, systems = np.arange(size) // 8, np.arange(size) % 8
    found = compare(documents, systems, *scores, human, level="summary", permutations=20)
    expected = [stats.spearmanr(side, human)[0] for side in scores]
    assert (found.sampled, found.n) == (True, size)
    assert (found.first, found.second) == pytest.approx(tuple(expected))
    assert found.p_permutation == 1 / 21
    assert not compare(documents, systems, *scores, human, level="sample", permutations=2).sampled


def test_a_candidate_comes_once() -> None:
    with pytest.raises(ValueError, match="same document and system"):
        compare([0, 0], [1, 1], [1, 2], [1, 2], [1, 2], level="summary")
    with pytest.raises(ValueError, match="one length"):
        compare([0, 0], [0, 1], [1, 2], [1], [1, 2], level="summary")


@pytest.mark.parametrize(
    ("first", "second", "between", "n", "expected"),
    [
        # Steiger (1980): r12 = .4, r13 = .5, r23 = .1 of 103: t(100) = -0.89
        (0.4, 0.5, 0.1, 103, 2 * stats.t.cdf(-0.8912799, 100)),
        # r12 = 1/2, r13 = 0, r23 = 0 of 7: |R| = 3/4, t = 1/2 sqrt(6 / (2 * 6/4 * 3/4 + 1/16))
        (0.5, 0.0, 0.0, 7, 2 * stats.t.sf(0.5 * np.sqrt(6 / (2.25 + 0.0625)), 4)),
        (0.3, 0.3, 0.5, 20, 1.0),
    ],
)
def test_williams(first: float, second: float, between: float, n: int, expected: float) -> None:
    assert williams(first, second, between, n) == pytest.approx(expected, rel=1e-6)
    assert williams(second, first, between, n) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize(
    ("first", "second", "between", "n"),
    [(0.4, 0.5, 0.1, 3), (0.4, nan, 0.1, 20), (0.6, 0.6, 1.0, 20)],
)
def test_williams_is_not_always_defined(
    first: float, second: float, between: float, n: int
) -> None:
    assert williams(first, second, between, n) is None


def test_williams_of_four() -> None:
    """With one degree of freedom Student's t is Cauchy's distribution, whose tail is an arctan."""
    determinant = 1 - 0.4**2 - 0.5**2 - 0.1**2 + 2 * 0.4 * 0.5 * 0.1
    t = 0.1 * sqrt(3 * 1.1 / (6 * determinant + 0.45**2 * 0.9**3))
    assert williams(0.4, 0.5, 0.1, 4) == pytest.approx(1 - 2 / pi * atan(t), abs=1e-12)


def test_williams_as_r_gives_it() -> None:
    """psych::r.test of the magnitudes of three correlations of random numbers (seed 12)."""
    stream = np.random.RandomState(12)
    x, y, z = (stream.random_sample((9, 5)).ravel() for _ in range(3))
    first, second, between = (
        abs(stats.pearsonr(*two).statistic) for two in ((x, z), (y, z), (x, y))
    )
    assert williams(first, second, between, 45) == pytest.approx(0.5433956, abs=1e-6)


def test_williams_where_it_is_defined() -> None:
    for level, coefficient in product(LEVELS, CORRELATIONS):
        found = compare(**columns(rows_of(6)), level=level, coefficient=coefficient)
        assert (found.p_williams is None) == (level == "sample" or coefficient == "kendall")
