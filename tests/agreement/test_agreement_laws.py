"""What must hold of any ratings and any scores."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from math import inf, isfinite, nan

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evaljudge.agreement import Agreement, agreements

Row = tuple[int, int, float, float]

documents, systems = st.integers(0, 4), st.integers(0, 3)
whole = st.integers(-3, 3).map(float)
complete_rows = st.lists(st.tuples(documents, systems, whole, whole), max_size=24)
rows = st.lists(
    st.tuples(documents, systems, whole | st.just(nan), whole | st.just(nan)), max_size=24
)
wild_rows = st.lists(st.tuples(documents, systems, st.floats(), st.floats()), max_size=12)


def found(rows: Sequence[Row], *without: str) -> list[Agreement]:
    columns = [[row[column] for row in rows] for column in range(4)]
    return [one for one in agreements(*columns) if one.coefficient not in without]


def same(first: Sequence[Agreement], second: Sequence[Agreement]) -> None:
    for one, other in zip(first, second, strict=True):
        assert numbers(one) == pytest.approx(numbers(other), abs=1e-9)
        assert (one.n, one.skipped) == (other.n, other.skipped)


def numbers(one: Agreement) -> tuple[float | None, float | None, float | None]:
    return one.value, one.low, one.high


@given(rows)
def test_a_monotone_transform_changes_no_rank_correlation_of_candidates(rows: list[Row]) -> None:
    moved = [(*row[:2], row[2] ** 3 + 5, row[3]) for row in rows]
    by_value = "pearson", "accuracy"
    pairs = zip(found(rows, *by_value), found(moved, *by_value), strict=True)
    kept = [pair for pair in pairs if pair[0].level != "system"]
    assert len(kept) == 6
    same([one for one, _ in kept], [other for _, other in kept])


@given(rows)
def test_the_opposite_score_has_the_opposite_agreement(rows: list[Row]) -> None:
    opposite = found([(*row[:2], -row[2], row[3]) for row in rows], "accuracy")
    same(found(rows, "accuracy"), [turned(one) for one in opposite])


def turned(one: Agreement) -> Agreement:
    value, low, high = (None if number is None else -number for number in numbers(one))
    return replace(one, value=value, low=high, high=low)


@given(rows.flatmap(lambda rows: st.tuples(st.just(rows), st.permutations(rows))))
def test_the_order_of_rows_changes_not_one_bit(orders: tuple[list[Row], list[Row]]) -> None:
    assert found(orders[0]) == found(orders[1])


@given(rows)
def test_scores_that_are_the_ratings_agree_wholly(rows: list[Row]) -> None:
    alike = [(*row[:2], row[3], row[3]) for row in rows]
    # Tau-c falls short of 1 where values are not equally frequent.
    for one in found(alike, "kendall_c"):
        for number in numbers(one):
            assert number is None or number == pytest.approx(1.0)


@given(complete_rows)
def test_no_fixed_epsilon_is_more_accurate(rows: list[Row]) -> None:
    pooled = found(rows)[-1]
    for epsilon in range(7):
        agreed = [
            (0 if abs(a[2] - b[2]) <= epsilon else (a[2] > b[2]) - (a[2] < b[2]))
            == (a[3] > b[3]) - (a[3] < b[3])
            for a, b in combinations(rows, 2)
        ]
        if pooled.value is None:
            assert not agreed
        else:
            assert sum(agreed) / len(agreed) <= pooled.value + 1e-12
            assert epsilon != pooled.epsilon or sum(agreed) / len(agreed) == pooled.value


@given(rows)
def test_rows_without_a_pair_change_only_what_is_skipped(rows: list[Row]) -> None:
    pairs = [row for row in rows if isfinite(row[2]) and isfinite(row[3])]
    kept = [replace(one, skipped=0) for one in found(pairs)]
    assert [replace(one, skipped=0) for one in found([*rows, (99, 99, nan, 1.0)])] == kept


@given(rows)
def test_everything_is_behind_a_value_or_skipped(rows: list[Row]) -> None:
    counts = {(one.level, one.n + one.skipped) for one in found(rows)}
    rated = sum(isfinite(row[3]) for row in rows)
    documents, systems = ({row[column] for row in rows} for column in (0, 1))
    assert counts == {("sample", len(documents)), ("system", len(systems)), ("summary", rated)}


@given(wild_rows)
@settings(max_examples=300)
def test_any_numbers_give_correlations_or_none(rows: list[Row]) -> None:
    for one in found(rows):
        least = 0 if one.coefficient == "accuracy" else -1
        assert one.value is None or least <= one.value <= 1
        if one.value is not None and one.low is not None and one.high is not None:
            assert least <= one.low <= one.value <= one.high <= 1


def test_infinite_scores_are_unscored() -> None:
    scores, human = [1.0, 2.0, inf, -inf], [1.0, 2.0, 3.0, 4.0]
    pooled = agreements([0, 0, 1, 1], [0, 1, 0, 1], scores, human)[-3]
    assert (pooled.value, pooled.n, pooled.skipped) == (1.0, 2, 2)
