"""One rater against the mean of the others: by hand, and by loops."""

from collections.abc import Sequence
from itertools import product
from math import isfinite, nan, sqrt

import numpy as np
import pytest

from evaljudge.agreement import CORRELATIONS, agreements
from evaljudge.agreement.agree import Ceiling, ceiling
from tests.fishers import bounds

Row = tuple[int, int, list[float]]  # document, system, a rating or NaN per rater
Key = tuple[str, str]  # level, coefficient


def measured(rows: Sequence[Row]) -> dict[Key, Ceiling]:
    found = ceiling(*([row[place] for row in rows] for place in range(3)))
    return {(one.level, one.coefficient): one for one in found}


def test_by_hand():
    rows = [(0, 0, [1, 1, 3]), (0, 1, [2, 2, 2]), (0, 2, [3, 3, 1])]
    found = measured(rows)["summary", "spearman"]
    # The first and second against means of 2 throughout: undefined; the third against 1 2 3: -1.
    assert (found.value, found.n, found.raters) == (-1.0, 3, 1)
    assert (found.low, found.high) == (None, None)


def rows_of(seed: int, few: int = 0) -> list[Row]:
    """The first `few` documents were not given to the first rater."""
    stream = np.random.default_rng(seed)
    rows: list[Row] = []
    for document, system in product(range(6), range(4)):
        quality = system + stream.normal()
        given = np.round(quality + stream.normal(size=3))
        # The last rater saw only some documents.
        lost = stream.random(3) < [0.1, 0.1, 0.3 + (document < 2)]
        lost[0] |= document < few
        rows.append((document * 5, system, np.where(lost, nan, given).tolist()))
    return [rows[place] for place in stream.permutation(len(rows))]


def raters_of(rows: Sequence[Row]) -> list[list[tuple[int, int, float, float]]]:
    """Of each rater: the texts, with the rating and the mean of the others'."""
    found: list[list[tuple[int, int, float, float]]] = [[], [], []]
    for document, system, given in rows:
        for rater, own in enumerate(given):
            others = [v for place, v in enumerate(given) if place != rater and isfinite(v)]
            if isfinite(own) and others:
                found[rater].append((document, system, own, sum(others) / len(others)))
    return [kept for kept in found if kept]


def value_of(key: Key, rows: Sequence[tuple[int, int, float, float]]) -> float:
    found = agreements(*zip(*rows, strict=True))
    (value,) = (one.value for one in found if (one.level, one.coefficient) == key)
    return nan if value is None else value


@pytest.mark.parametrize("seed", range(6))
def test_values(seed):
    """Means over the raters of what `agreements` says of each and the mean of the others."""
    rows = rows_of(seed)
    for key, one in measured(rows).items():
        values = [value_of(key, kept) for kept in raters_of(rows)]
        assert one.value == pytest.approx(float(np.nanmean(values)), abs=1e-9)
        assert one.skipped == sum(sum(map(isfinite, given)) == 1 for _, _, given in rows)
        assert one.raters == 3


@pytest.mark.parametrize("seed", range(3))
def test_named_raters_stand_alone(seed):
    """Each has what `agreements` says of it and the mean of the others, in value, n and interval;
    one who rates at random has the lowest."""
    stream = np.random.default_rng(seed + 100)
    rows = [(d, s, [*given, float(stream.integers(1, 6))]) for d, s, given in rows_of(seed, few=1)]
    documents, systems, table = ([row[place] for row in rows] for place in range(3))
    names = ["anna", "ben", "cy", "dee"]
    found = ceiling(documents, systems, table, names=names)
    assert found[: len(found) // 5] == ceiling(documents, systems, table)
    own = {(r.rater, r.level, r.coefficient): r for r in found if r.rater}
    for place, name in enumerate(names):
        others = np.delete(np.array(table), place, axis=1)
        both = np.isfinite(table)[:, place] & np.isfinite(others).any(axis=1)
        kept = np.flatnonzero(both).tolist()
        columns = ([column[n] for n in kept] for column in (documents, systems))
        mine = [table[n][place] for n in kept]
        of_others = [float(np.nanmean(others[n])) for n in kept]
        for one in agreements(*columns, mine, of_others, coefficients=CORRELATIONS):
            row = own[name, one.level, one.coefficient]
            assert (row.value, row.n, row.raters) == (pytest.approx(one.value), one.n, 1)
            assert (row.low, row.high) == pytest.approx((one.low, one.high))
    for level in ("sample", "summary"):
        assert min(names, key=lambda name: own[name, level, "spearman"].value) == "dee"
    two = ceiling(documents, systems, [given[:2] for given in table], names=names[:2])
    assert not any(row.rater for row in two)  # both would have the same


@pytest.mark.parametrize("seed", range(1, 2))
def test_intervals_where_raters_saw_different_documents(seed):
    """By what each document pulls the mean of the raters: all pulls are of mean 0."""
    rows = rows_of(seed, few=seed)
    places = sorted({d for d, _, given in rows if sum(map(isfinite, given)) > 1})
    for key, one in measured(rows).items():
        pulls = np.zeros(len(places))
        pulling = np.zeros(len(places), bool)
        kept_raters = [kept for kept in raters_of(rows) if isfinite(value_of(key, kept))]
        for kept in kept_raters:
            own = {d: value_of(key, [row for row in kept if (row[0] == d) is (key[0] == "sample")])
                   for d in sorted({row[0] for row in kept})}  # fmt: skip
            known = {d: value for d, value in own.items() if isfinite(value)}
            mean, n = sum(known.values()) / len(known), len(known)
            for d, value in known.items():
                # Without a document the mean would move by this.
                pull = (value - mean) / n if key[0] == "sample" else (mean - value) * (n - 1) / n
                pulls[places.index(d)] += pull / len(kept_raters)
                pulling[places.index(d)] = True
        n = int(pulling.sum())
        error = sqrt(n / (n - 1) * float((pulls**2).sum()))
        assert (one.low, one.high) == pytest.approx(bounds(key[0], one.value, error, n), abs=1e-9)


def test_columns_may_be_other_people_in_every_document():
    """Two documents, two raters each, in one pair of columns or in two: rho of 1 and of 1/2."""
    first, second = [[1, 1], [2, 2], [3, 3]], [[1, 1], [2, 3], [3, 2]]
    systems, absent = [0, 1, 2] * 2, [nan, nan]
    apart = [*([*pair, *absent] for pair in first), *([*absent, *pair] for pair in second)]
    found = ceiling([0] * 3 + [1] * 3, systems, apart)[0]
    assert (found.value, found.n, found.raters) == (0.75, 1, 4)
    found = ceiling([0] * 3 + [1] * 3, systems, first + second)[0]
    assert (found.value, found.n, found.raters) == (0.75, 2, 2)
    expected = bounds("sample", 0.75, 0.25, 2)  # of two documents
    assert (found.low, found.high) == pytest.approx(expected)


def test_fewer_than_two_ratings_are_nothing():
    for one in [*ceiling([0], [0], [[1, nan]]), *ceiling([], [], np.empty((0, 2)))]:
        assert (one.value, one.low, one.high, one.n, one.raters) == (None, None, None, 0, 0)
    assert ceiling([0, 0], [0, 1], [[1, nan], [nan, nan]])[0].skipped == 1
