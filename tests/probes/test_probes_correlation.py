"""One correlation without an interval: by scipy and loops."""

from __future__ import annotations

import warnings
from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy import stats

from evaljudge.agreement import CORRELATIONS, LEVELS
from evaljudge.errors import UserError
from evaljudge.probes.calls import one_of
from evaljudge.probes.matrix import correlation

BY_SCIPY = {"spearman": stats.spearmanr, "kendall": stats.kendalltau, "pearson": stats.pearsonr}


def by_definition(x: Any, y: Any, level: str, coefficient: str) -> float:
    cells = [(d, s) for d, s in np.ndindex(*x.shape) if np.isfinite(x[d, s] + y[d, s])]
    if level == "summary":
        return one([(x[c], y[c]) for c in cells], coefficient)
    if level == "system":
        groups = [[c for c in cells if c[1] == s] for s in range(x.shape[1])]
        pairs = [(np.mean([x[c] for c in g]), np.mean([y[c] for c in g])) for g in groups if g]
        return one([(round(a, 9), round(b, 9)) for a, b in pairs], coefficient)
    found = [one([(x[c], y[c]) for c in cells if c[0] == d], coefficient) for d in range(len(x))]
    defined = [value for value in found if np.isfinite(value)]
    return float(np.mean(defined)) if defined else np.nan


def one(pairs: list[tuple[float, float]], coefficient: str) -> float:
    if len(pairs) < 2:
        return np.nan
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of constant vectors
        return float(BY_SCIPY[coefficient](*zip(*pairs, strict=True)).statistic)


@pytest.mark.parametrize(("level", "coefficient"), list(product(LEVELS, CORRELATIONS)))
@pytest.mark.parametrize("seed", range(6))
def test_by_definition_on_ties_and_gaps(level: Any, coefficient: Any, seed: int) -> None:
    stream = np.random.default_rng(seed)
    x, y = stream.integers(0, 4, size=(2, 5, 4)).astype(float)
    x[stream.random(x.shape) < 0.2] = np.nan
    y[stream.random(y.shape) < 0.2] = np.nan
    found = correlation(x, y, level, coefficient)
    assert found == pytest.approx(by_definition(x, y, level, coefficient), nan_ok=True)


def test_the_order_of_summation_ties_no_systems_apart() -> None:
    x = np.array([[0.1, 0.3, 1.0], [0.2, 0.2, 1.0], [0.3, 0.1, 1.0]])
    y = np.array([[1.0, 2.0, 3.0]] * 3)
    assert correlation(x, y, "system", "kendall") == pytest.approx(2 / np.sqrt(6))


def test_nothing_varies_and_huge_numbers() -> None:
    flat = np.ones((3, 3))
    grown = np.arange(9.0).reshape(3, 3)
    for level in LEVELS:
        assert np.isnan(correlation(flat, grown, level, "pearson"))
        assert correlation(grown * 1e300, grown, level, "pearson") == pytest.approx(1.0)


def test_names() -> None:
    assert one_of("level", "sample", LEVELS) == "sample"
    assert one_of("coefficient", "kendall", CORRELATIONS) == "kendall"
    with pytest.raises(UserError, match="--level: unknown level 'sytem': did you mean 'system'"):
        one_of("level", "sytem", LEVELS)
    with pytest.raises(UserError, match="--coefficient: .*did you mean 'pearson'"):
        one_of("coefficient", "person", CORRELATIONS)
