"""Sizes: all documents exactly, subsets against all that there are, ratings of the rated alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import pytest

from evaljudge.probes.matrix import correlation
from evaljudge.probes.results import as_text
from evaljudge.probes.sizes import Subsets, sizes, sizes_study

Matrix = Callable[..., Any]
STREAM = np.random.default_rng(1)
SCORES, HUMAN = STREAM.integers(0, 6, size=(2, 6, 5)).astype(float)
ASKED = Subsets("a", "spearman", steps=3, draws=40)


def test_all_documents_once(matrix: Matrix) -> None:
    rows = sizes(matrix({"x": SCORES}, {"a": HUMAN}), ASKED)
    assert [(row.documents, row.draws) for row in rows] == [(2, 40), (4, 40), (6, 1)]
    expected = correlation(SCORES, HUMAN, "system", "spearman")
    assert (rows[-1].value, rows[-1].low, rows[-1].high) == pytest.approx((expected,) * 3)


def test_subsets_against_all_there_are(matrix: Matrix) -> None:
    (row, *_) = sizes(matrix({"x": SCORES}, {"a": HUMAN}), replace(ASKED, draws=4000))
    every = [
        correlation(SCORES[list(chosen)], HUMAN[list(chosen)], "system", "spearman")
        for chosen in combinations(range(6), 2)
    ]
    defined = [value for value in every if np.isfinite(value)]
    assert row.documents == 2
    assert row.value == pytest.approx(np.mean(defined), abs=0.02)
    assert min(defined) - 1e-12 <= (row.low or 0) <= (row.high or 0) <= max(defined) + 1e-12


def test_ratings_of_the_rated_and_scores_of_all(matrix: Matrix) -> None:
    """Two documents of six are rated: plainly only those count, else their ratings stay fixed."""
    human = np.where(np.arange(6)[:, None] < 2, HUMAN, np.nan)
    made = matrix({"x": SCORES}, {"a": human})
    assert sizes(made, ASKED)[-1].documents == 2
    last = sizes(made, replace(ASKED, all_documents=True))[-1]
    by_hand = correlation(
        SCORES.mean(axis=0)[None], HUMAN[:2].mean(axis=0)[None], "system", "spearman"
    )
    assert (last.documents, last.value) == (6, pytest.approx(by_hand))


def test_ratings_stay_as_they_are_however_few_documents_are_scored(matrix: Matrix) -> None:
    human = np.where(np.arange(6)[:, None] < 2, HUMAN, np.nan)
    alike = np.tile(SCORES[0], (6, 1))
    rows = sizes(matrix({"x": alike}, {"a": human}), replace(ASKED, all_documents=True))
    assert [(row.documents, row.draws) for row in rows] == [(2, 40), (4, 40), (6, 1)]
    for row in rows:
        assert (row.low, row.high) == pytest.approx((row.value, row.value))


def test_scorers_are_compared_on_what_all_scored(matrix: Matrix) -> None:
    other = np.where(np.arange(6)[:, None] < 3, SCORES, np.nan)
    rows = sizes(matrix({"x": SCORES, "y": other}, {"a": HUMAN}), ASKED)
    assert {row.documents for row in rows} == {2, 3}
    expected = correlation(SCORES[:3], HUMAN[:3], "system", "spearman")
    assert [r.value for r in rows if r.documents == 3] == [pytest.approx(expected)] * 2


def test_a_seed_repeats_and_a_constant_is_undefined(matrix: Matrix) -> None:
    made = matrix({"x": SCORES, "flat": np.ones((6, 5))}, {"a": HUMAN})
    rows = sizes(made, ASKED)
    assert sizes(made, ASKED) == rows
    assert {(r.value, r.draws) for r in rows if r.scorer == "flat"} == {(None, 0)}
    study = sizes_study(rows, ASKED, "cases")
    lines = as_text(study).splitlines()
    assert lines[3].split() == ["scorer", "2", "4", "6"]
    assert lines[5].split() == ["flat", "–", "–", "–"]
    assert "spearman with a (system level)" in study.draw()
