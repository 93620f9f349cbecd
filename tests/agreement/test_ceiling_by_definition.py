"""One rater against the mean of the others: by hand, and by loops."""

from collections.abc import Sequence
from itertools import product
from math import isfinite, nan

import numpy as np
import pytest

from evaljudge.agreement import LEVELS, agreements
from evaljudge.agreement.agree import Ceiling, ceiling
from evaljudge.agreement.bootstrap import interval, multiplicities
from evaljudge.agreement.coefficients import CORRELATIONS

Row = tuple[int, int, list[float]]  # document, system, a rating or NaN per rater
Key = tuple[str, str]  # level, coefficient


def measured(rows: Sequence[Row], **how: int) -> dict[Key, Ceiling]:
    found = ceiling(*([row[place] for row in rows] for place in range(3)), **how)
    return {(one.level, one.coefficient): one for one in found}


def test_by_hand() -> None:
    rows = [(0, 0, [1, 1, 3]), (0, 1, [2, 2, 2]), (0, 2, [3, 3, 1])]
    found = measured(rows)["summary", "spearman"]
    # The first and second against means of 2 throughout: undefined; the third against 1 2 3: -1.
    assert (found.value, found.n, found.raters) == (-1.0, 3, 1)
    assert (found.low, found.high) == (None, None)


def test_levels_and_coefficients_come_in_one_order() -> None:
    assert list(measured([(0, 0, [1, 2])])) == list(product(LEVELS, CORRELATIONS))


def rows_of(seed: int) -> list[Row]:
    stream = np.random.default_rng(seed)
    rows: list[Row] = []
    for document, system in product(range(6), range(4)):
        quality = system + stream.normal()
        given = np.round(quality + stream.normal(size=3))
        # The last rater saw only some documents.
        lost = stream.random(3) < [0.1, 0.1, 0.3 + (document < 2)]
        rows.append((document * 5, system, np.where(lost, nan, given).tolist()))
    return [rows[place] for place in stream.permutation(len(rows))]


def by_loops(rows: Sequence[Row]) -> dict[Key, float]:
    """Means over the raters of what `agreements` says of each and the mean of the others."""
    values: dict[Key, list[float]] = {key: [] for key in product(LEVELS, CORRELATIONS)}
    for rater in range(3):
        kept = []
        for document, system, given in rows:
            others = [v for place, v in enumerate(given) if place != rater and isfinite(v)]
            if isfinite(given[rater]) and others:
                kept.append((document, system, given[rater], sum(others) / len(others)))
        if kept:
            for one in agreements(*zip(*kept, strict=True), resamples=0):
                if one.value is not None and (one.level, one.coefficient) in values:
                    values[one.level, one.coefficient].append(one.value)
    return {key: sum(found) / len(found) if found else nan for key, found in values.items()}


@pytest.mark.parametrize("seed", range(6))
def test_values(seed: int) -> None:
    rows = rows_of(seed)
    expected = by_loops(rows)
    for key, one in measured(rows, resamples=0).items():
        assert one.value == pytest.approx(expected[key], abs=1e-9)
        assert one.skipped == sum(sum(map(isfinite, given)) == 1 for _, _, given in rows)
        assert one.raters == 3


@pytest.mark.parametrize("seed", range(2))
def test_intervals(seed: int) -> None:
    rows = rows_of(seed)
    known = sorted({d for d, _, given in rows if sum(map(isfinite, given)) > 1})
    (drawn,) = multiplicities(len(known), 40, seed=3, block=40)
    resampled = [by_loops(redrawn(rows, known, weights)) for weights in drawn]
    for key, one in measured(rows, resamples=40, seed=3).items():
        values = np.array([found[key] for found in resampled])
        assert (one.low, one.high) == pytest.approx(interval(values), abs=1e-9)


def redrawn(rows: Sequence[Row], known: Sequence[int], weights: Sequence[float]) -> list[Row]:
    copies = [
        (d, copy) for d, times in zip(known, weights, strict=True) for copy in range(int(times))
    ]
    return [
        (place, system, given)
        for place, (document, _) in enumerate(copies)
        for own, system, given in rows
        if own == document
    ]


def test_raters_that_agree_wholly() -> None:
    rows = [(d, s, [float(d + s)] * 3) for d, s in product(range(3), range(4))]
    for one in measured(rows, resamples=50).values():
        assert (one.value, one.low, one.high) == pytest.approx((1.0, 1.0, 1.0))


def test_columns_may_be_other_people_in_every_document() -> None:
    """Two documents, two raters each, in one pair of columns or in two: rho of 1 and of 1/2."""
    first, second = [[1, 1], [2, 2], [3, 3]], [[1, 1], [2, 3], [3, 2]]
    systems, absent = [0, 1, 2] * 2, [nan, nan]
    apart = [*([*pair, *absent] for pair in first), *([*absent, *pair] for pair in second)]
    found = ceiling([0] * 3 + [1] * 3, systems, apart)[0]
    assert (found.value, found.n, found.raters) == (0.75, 1, 4)
    found = ceiling([0] * 3 + [1] * 3, systems, first + second)[0]
    assert (found.value, found.n, found.raters) == (0.75, 2, 2)
    assert (found.low, found.high) == (0.5, 1.0)


def test_fewer_than_two_ratings_are_nothing() -> None:
    for one in [*ceiling([0], [0], [[1, nan]]), *ceiling([], [], np.empty((0, 2)))]:
        assert (one.value, one.low, one.high, one.n, one.raters) == (None, None, None, 0, 0)
    assert ceiling([0, 0], [0, 1], [[1, nan], [nan, nan]])[0].skipped == 1
