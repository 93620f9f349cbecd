"""What must hold of any ratings and any scores."""

from collections.abc import Sequence
from dataclasses import replace
from math import inf, isfinite, nan

from hypothesis import given
from hypothesis import strategies as st

from evaljudge.agreement import Agreement, agreements

Row = tuple[int, int, float, float]

documents, systems = st.integers(0, 4), st.integers(0, 3)
numbers = st.integers(-3, 3).map(float) | st.just(nan)
rows = st.lists(st.tuples(documents, systems, numbers, numbers), max_size=24)
wild_rows = st.lists(st.tuples(documents, systems, st.floats(), st.floats()), max_size=12)


def found(rows: Sequence[Row]) -> list[Agreement]:
    return agreements(*([row[column] for row in rows] for column in range(4)))


@given(rows.flatmap(lambda rows: st.tuples(st.just(rows), st.permutations(rows))))
def test_the_order_of_rows_changes_not_one_bit(orders):
    assert found(orders[0]) == found(orders[1])


@given(rows)
def test_rows_without_a_pair_change_only_what_is_skipped(rows):
    pairs = [row for row in rows if isfinite(row[2]) and isfinite(row[3])]
    kept = [replace(one, skipped=0) for one in found(pairs)]
    assert [replace(one, skipped=0) for one in found([*rows, (99, 99, nan, 1.0)])] == kept


@given(rows)
def test_everything_is_behind_a_value_or_skipped(rows):
    counts = {(one.level, one.n + one.skipped) for one in found(rows)}
    rated = sum(isfinite(row[3]) for row in rows)
    documents, systems = ({row[column] for row in rows} for column in (0, 1))
    assert counts == {("sample", len(documents)), ("system", len(systems)), ("summary", rated)}


@given(wild_rows)
def test_any_numbers_give_correlations_or_none(rows):
    for one in found(rows):
        least = 0 if one.coefficient == "accuracy" else -1
        assert one.value is None or least <= one.value <= 1
        if one.value is not None and one.low is not None and one.high is not None:
            assert least <= one.low <= one.value <= one.high <= 1


def test_infinite_scores_are_unscored():
    scores, human = [1.0, 2.0, inf, -inf], [1.0, 2.0, 3.0, 4.0]
    pooled = agreements([0, 0, 1, 1], [0, 1, 0, 1], scores, human)[-3]
    assert (pooled.value, pooled.n, pooled.skipped) == (1.0, 2, 2)
