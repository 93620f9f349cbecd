"""What the tests of the studies share: cases made from grids, and metrics that can be foreseen."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from evaljudge.metrics.protocol import Unscored, Value
from evaljudge.probes.matrix import Floats, Measure, ScoreMatrix, score_matrix
from evaljudge.records import Candidate, Case, Document

Matrix = Callable[..., ScoreMatrix]


def overlap(case: Case, text: str) -> Value:
    """The share of a text's words that its first reference has."""
    words, references = text.split(), case.document.references
    if not words or not references or not references[0]:
        return Unscored("nothing to compare")
    return sum(word in references[0].split() for word in words) / len(words)


@pytest.fixture
def measure() -> Measure:
    """`overlap` depends on the reference, `words` on the text alone."""

    def measured(cases: Sequence[Case]) -> dict[str, list[list[Value]]]:
        return {
            "overlap": [[overlap(case, c.text) for c in case.candidates] for case in cases],
            "words": [[float(len(c.text.split())) for c in case.candidates] for case in cases],
        }

    return measured


@pytest.fixture
def matrix() -> Matrix:
    """From grids (documents × systems); a NaN rating is absent; scorers without axis, or {axis}."""

    def make(scores: dict[Any, Any], human: dict[str, Any], absent: Any = ()) -> ScoreMatrix:
        grids = {axis: np.asarray(grid, dtype=float) for axis, grid in human.items()}
        shape = next(iter(grids.values())).shape
        cases = [
            Case(
                Document(f"d{d}", "a source text"),
                tuple(
                    Candidate(f"s{s}", "a text", rated(grids, d, s))
                    for s in range(shape[1])
                    if (d, s) not in absent
                ),
            )
            for d in range(shape[0])
        ]
        given = {
            (key if isinstance(key, tuple) else (key, "*")): {
                (f"d{d}", f"s{s}"): None if np.isnan(value) else float(value)
                for (d, s), value in np.ndenumerate(np.asarray(grid, dtype=float))
            }
            for key, grid in scores.items()
        }
        return score_matrix(cases, given, {})

    return make


def rated(grids: dict[str, Floats], document: int, system: int) -> dict[str, float]:
    found = {axis: float(grid[document, system]) for axis, grid in grids.items()}
    return {axis: value for axis, value in found.items() if not np.isnan(value)}
