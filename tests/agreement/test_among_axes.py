"""Axes among themselves: every pair once, with the numbers of `agreements`."""

import numpy as np

from evaljudge.agreement import LEVELS, Coefficient, agreements
from evaljudge.agreement.agree import among
from evaljudge.agreement.coefficients import CORRELATIONS
from evaljudge.agreement.levels import sample_level, system_level
from evaljudge.agreement.pairs import table_of
from evaljudge.agreement.summary import summary_level

DOCUMENTS, SYSTEMS = [0, 0, 0, 1, 1, 1], [0, 1, 2, 0, 1, 2]
AXES = {"a": [1, 2, 3, 1, 3, 2], "b": [1, 2, 3, 1, 2, 3], "c": [3, 2, 1, 3, 1, 2], "d": [1] * 6}


def test_every_pair_comes_once() -> None:
    found = among(DOCUMENTS, SYSTEMS, AXES)
    pairs = dict.fromkeys((one.axis, one.other) for one in found)
    assert list(pairs) == [*(("a", x) for x in "bcd"), ("b", "c"), ("b", "d"), ("c", "d")]
    assert len(found) == len(pairs) * len(LEVELS) * len(CORRELATIONS)


def test_numbers_are_those_of_agreement() -> None:
    found = among(DOCUMENTS, SYSTEMS, {"a": AXES["a"], "b": AXES["b"]}, seed=2)
    expected = agreements(DOCUMENTS, SYSTEMS, AXES["a"], AXES["b"], seed=2)
    numbers = [(e.level, e.coefficient, e.value, e.low, e.high, e.n) for e in expected]
    kept = [row for row in numbers if row[1] in CORRELATIONS]
    assert [(f.level, f.coefficient, f.value, f.low, f.high, f.n) for f in found] == kept
    assert found[0].value == 0.75


def test_coefficients_not_asked_for_change_nothing() -> None:
    columns = DOCUMENTS, SYSTEMS, AXES["a"], AXES["b"]
    every = agreements(*columns)
    some: list[tuple[Coefficient, ...]] = [CORRELATIONS, ("kendall_c", "accuracy"), ()]
    for asked in some:
        found = agreements(*columns, coefficients=asked)
        assert found == [one for one in every if one.coefficient in asked]


def test_what_compares_every_two_candidates_is_not_computed_unasked() -> None:
    pairs = table_of(DOCUMENTS, SYSTEMS, AXES["a"], AXES["b"])
    wanted: tuple[Coefficient, ...] = ("spearman",)
    summary = summary_level(pairs, 0, wanted)
    for estimate in (sample_level(pairs, 0, wanted), system_level(pairs, 0, wanted), summary):
        assert np.isnan([estimate.epsilons[0], estimate.values[0, -1]]).all()
    assert np.isnan(summary.values[0]).tolist() == [False, True, False, True, True]
