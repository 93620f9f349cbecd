"""Axes among themselves: every pair once, with the numbers of `agreements`."""

import json
from pathlib import Path
from typing import get_args

import numpy as np
import pytest

from evaljudge.agreement import LEVELS, Coefficient, Resampled, agreements
from evaljudge.agreement.agree import among
from evaljudge.agreement.bootstrap import Draws
from evaljudge.agreement.coefficients import CORRELATIONS
from evaljudge.agreement.pairs import table_of
from evaljudge.agreement.sample import sample_level
from evaljudge.agreement.summary import summary_level
from evaljudge.agreement.system import system_level

NEWSROOM = Path(__file__).parents[2].parent / "shared" / "data" / "newsroom.jsonl"
DOCUMENTS, SYSTEMS = [0, 0, 0, 1, 1, 1], [0, 1, 2, 0, 1, 2]
AXES = {"a": [1, 2, 3, 1, 3, 2], "b": [1, 2, 3, 1, 2, 3], "c": [3, 2, 1, 3, 1, 2], "d": [1] * 6}


def test_every_pair_comes_once() -> None:
    found = among(DOCUMENTS, SYSTEMS, AXES)
    pairs = dict.fromkeys((one.axis, one.other) for one in found)
    assert list(pairs) == [*(("a", x) for x in "bcd"), ("b", "c"), ("b", "d"), ("c", "d")]
    assert len(found) == len(pairs) * len(LEVELS) * len(CORRELATIONS)


def test_numbers_are_those_of_agreement() -> None:
    found = among(DOCUMENTS, SYSTEMS, {"a": AXES["a"], "b": AXES["b"]}, resamples=50, seed=2)
    expected = agreements(DOCUMENTS, SYSTEMS, AXES["a"], AXES["b"], resamples=50, seed=2)
    numbers = [(e.level, e.coefficient, e.value, e.low, e.high, e.n) for e in expected]
    kept = [row for row in numbers if row[1] in CORRELATIONS]
    assert [(f.level, f.coefficient, f.value, f.low, f.high, f.n) for f in found] == kept
    assert (found[0].value, found[0].low, found[0].high) == (0.75, 0.5, 1.0)


@pytest.mark.parametrize("resample", get_args(Resampled))
def test_coefficients_not_asked_for_change_nothing(resample: Resampled) -> None:
    columns = DOCUMENTS, SYSTEMS, AXES["a"], AXES["b"]
    every = agreements(*columns, resample=resample, resamples=40)
    some: list[tuple[Coefficient, ...]] = [CORRELATIONS, ("kendall_c", "accuracy"), ()]
    for asked in some:
        found = agreements(*columns, coefficients=asked, resample=resample, resamples=40)
        assert found == [one for one in every if one.coefficient in asked]


@pytest.mark.parametrize("resample", get_args(Resampled))
def test_accuracy_is_not_computed_unasked(resample: Resampled) -> None:
    pairs = table_of(DOCUMENTS, SYSTEMS, AXES["a"], AXES["b"])
    draws = Draws(np.ones((1, 2)), np.ones((1, 3)))
    for estimate in (
        sample_level(pairs, resample, accuracy=False),
        system_level(pairs, accuracy=False),
        summary_level(pairs, 0, resample, accuracy=False),
    ):
        assert np.isnan([estimate.epsilons[0], estimate.values[0, -1]]).all()
        assert np.isnan(estimate.replicate(draws)[0, :, 0]).tolist() == [False] * 4 + [True]


def test_opposite_and_constant_axes() -> None:
    found = {(f.axis, f.other, f.level, f.coefficient): f for f in among(DOCUMENTS, SYSTEMS, AXES)}
    assert found["a", "c", "sample", "kendall"].value == pytest.approx(-1)
    assert found["a", "d", "summary", "pearson"].value is None


@pytest.mark.skipif(not NEWSROOM.is_file(), reason=f"no human ratings at {NEWSROOM}")
def test_newsroom() -> None:
    cases = [json.loads(line) for line in NEWSROOM.read_text(encoding="utf-8").splitlines()]
    rows = [(d, s, c) for d, case in enumerate(cases) for s, c in enumerate(case["candidates"])]
    values = {
        axis: [candidate["ratings"][axis] for _, _, candidate in rows]
        for axis in ("informativeness", "relevance")
    }
    systems = sorted({candidate["system"] for _, _, candidate in rows})
    codes = [systems.index(candidate["system"]) for _, _, candidate in rows]
    found = among([d for d, _, _ in rows], codes, values)
    (pooled,) = (f for f in found if (f.level, f.coefficient) == ("summary", "spearman"))
    assert pooled.value == pytest.approx(0.787, abs=0.001)
    assert pooled.n == 420
