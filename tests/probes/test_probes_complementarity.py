"""Complementarity by hand, by scipy, and by the laws of a distance between rankings."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from evaljudge.errors import UserError
from evaljudge.probes.calls import one_of
from evaljudge.probes.complementarity import (
    RANKED_AT,
    complementarity,
    complementarity_study,
)
from evaljudge.probes.matrix import score_matrix
from evaljudge.probes.results import as_text
from evaljudge.records import Candidate, Case, Document

Matrix = Callable[..., Any]
HUMAN = {"a": [[1, 2, 3, 4]]}


@pytest.mark.parametrize(
    ("other", "coefficient", "value"),
    [
        ([1, 2, 3, 4], "kendall", 0.0),
        ([4, 3, 2, 1], "kendall", 1.0),
        ([2, 1, 3, 4], "kendall", 1 / 6),  # one of six pairs
        ([2, 1, 3, 4], "spearman", 0.1),
        ([7, 7, 7, 7], "spearman", None),
    ],
)
def test_by_hand(matrix: Matrix, other: list[int], coefficient: Any, value: float | None) -> None:
    made = matrix({"x": [[1, 2, 3, 4]], "y": [other]}, HUMAN)
    (row,) = complementarity(made, "system", coefficient)
    assert (row.scorer, row.other, row.n) == ("x", "y", 4)
    assert row.value == (None if value is None else pytest.approx(value))


@given(st.permutations(range(5)), st.permutations(range(5)))
def test_with_kendall_it_is_the_share_of_pairs_put_in_opposite_orders(x: Any, y: Any) -> None:
    made = plain({"x": [x], "y": [y]})
    (row,) = complementarity(made, "system", "kendall")
    opposite = sum((x[i] - x[j]) * (y[i] - y[j]) < 0 for i in range(5) for j in range(i))
    assert row.value == pytest.approx(opposite / 10)


def test_levels() -> None:
    x, y = np.random.default_rng(0).random((2, 6, 4))
    made = plain({"x": x, "y": y})
    found = {at: complementarity(made, at, "spearman")[0].value
             for at in RANKED_AT}  # fmt: skip
    by_document = np.mean([stats.spearmanr(*rows).statistic for rows in zip(x, y, strict=True)])
    assert found["sample"] == pytest.approx((1 - by_document) / 2)
    for at, axis in (("system", 0), ("document", 1)):
        r = stats.spearmanr(x.mean(axis=axis), y.mean(axis=axis)).statistic
        assert found[at] == pytest.approx((1 - r) / 2)
    assert found["summary"] == pytest.approx(
        (1 - stats.spearmanr(x.ravel(), y.ravel()).statistic) / 2
    )


def test_each_pair_is_of_what_both_scored() -> None:
    rows = complementarity(
        plain({"x": [[1, 2, 3, np.nan]], "y": [[1, 2, np.nan, 4]], "z": [[4, 3, 2, 1]]}),
        "summary", "spearman",
    )  # fmt: skip
    assert [(r.scorer + r.other, r.n) for r in rows] == [("xy", 2), ("xz", 3), ("yz", 3)]
    assert [r.value for r in rows] == pytest.approx([0, 1, 1])


def test_what_is_said_and_refused() -> None:
    rows = complementarity(plain({"x": [[1, 2, 3]], "y": [[3, 2, 1]]}), "system", "spearman")
    study = complementarity_study(rows, "cases")
    lines = as_text(study).splitlines()
    assert [line.split() for line in lines[3:6]] == [
        ["scorer", "1", "2"], ["1", "x", "0.000", "1.000"], ["2", "y", "1.000", "0.000"]
    ]  # fmt: skip
    assert "complementarity" in study.draw()
    with pytest.raises(UserError, match="two scorers or more"):
        complementarity(plain({"x": [[1, 2, 3]]}), "system", "spearman")
    with pytest.raises(UserError, match="did you mean 'document'"):
        one_of("level", "documents", RANKED_AT)


def plain(grids: dict[str, Any]) -> Any:
    """Unrated cases will do."""
    arrays = {name: np.asarray(grid, dtype=float) for name, grid in grids.items()}
    documents, systems = next(iter(arrays.values())).shape
    candidates = tuple(Candidate(f"s{s}", "t") for s in range(systems))
    cases = [Case(Document(f"d{d}", "s"), candidates) for d in range(documents)]
    return score_matrix(cases, {}, {name: grid.ravel() for name, grid in arrays.items()})
