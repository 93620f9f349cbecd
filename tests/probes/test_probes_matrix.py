"""The matrix: labels, columns, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from evaljudge.errors import UserError
from evaljudge.metrics.protocol import Unscored
from evaljudge.probes.matrix import measured_columns, score_matrix
from evaljudge.records import Candidate, Case, Document

NAN = np.nan
RATED = {"a": 1.0}
CASES = [
    Case(Document("d", "s"), (Candidate("A", "t", RATED), Candidate("B", "t"))),
    Case(Document("e", "s"), (Candidate("C", "t", {"a": 2.0, "b": 3.0}), Candidate("A", "t"))),
]
GIVEN = {
    ("one", "*"): {("d", "A"): 0.5, ("e", "C"): None, ("e", "A"): 0.7},
    ("two", "a"): {("d", "B"): 1.5},
    ("many", "a"): {("d", "A"): 2.5},
    ("many", "b"): {("e", "C"): 3.5},
}


def test_columns_are_candidates_case_after_case() -> None:
    made = score_matrix(CASES, GIVEN, {"here": np.arange(4.0)})
    assert made.documents.tolist() == [0, 0, 1, 1]
    assert made.systems.tolist() == [0, 1, 2, 0]
    assert made.system_names == ("A", "B", "C")
    np.testing.assert_equal(made.scores["one"], [0.5, NAN, NAN, 0.7])
    np.testing.assert_equal(made.human["a"], [1.0, NAN, 2.0, NAN])
    np.testing.assert_equal(made.grid(made.scores["here"]), [[0, 1, NAN], [3, NAN, 2]])


def test_labels_name_the_axis_where_there_are_several() -> None:
    made = score_matrix(CASES, GIVEN, {})
    assert list(made.scores) == ["one", "two", "many/a", "many/b"]
    assert list(made.against("a")) == ["one", "two", "many/a"]
    assert list(made.against("b")) == ["one", "many/b"]


def test_a_metric_s_unscored_texts_are_nan() -> None:
    columns = measured_columns(lambda _: {"m": [[0.5, Unscored("empty")], [1.0]]}, [])
    np.testing.assert_equal(columns["m"], [0.5, NAN, 1.0])


def test_comparable_keeps_what_all_scored(matrix: Callable[..., Any]) -> None:
    made = matrix({"x": [[1, 2, NAN]], "y": [[NAN, 5, 6]]}, {"a": [[1, 2, 3]]})
    found = made.comparable("a")
    np.testing.assert_equal(found["x"], [NAN, 2, NAN])
    np.testing.assert_equal(found["y"], [NAN, 5, NAN])


@pytest.mark.parametrize(
    ("scores", "human", "axis", "said"),
    [
        ({"x": [[1, 2, 3]]}, {"relevance": [[1, 2, 3]]}, "relevanse", "did you mean 'relevance'"),
        ({"x": [[1, 2, 3]]}, {"a": [[NAN, NAN, NAN]]}, "a", "no candidate of the cases has human"),
        ({"x": [[1, 2, NAN]]}, {"a": [[NAN, NAN, 1]]}, "a", "no candidate has a rating of 'a' and"),
        ({("x", "b"): [[1, 2, 3]]}, {"a": [[1, 2, 3]]}, "a", "no scorer speaks of 'a'; there are"),
    ],
)  # fmt: skip
def test_what_cannot_be_compared(
    matrix: Callable[..., Any], scores: Any, human: Any, axis: str, said: str
) -> None:
    with pytest.raises(UserError, match=said):
        matrix(scores, human).comparable(axis)


def test_what_cannot_be_studied() -> None:
    here = {"m": np.arange(4.0)}
    with pytest.raises(UserError, match="needs 3 systems to compare; found 2"):
        score_matrix(CASES[:1], {}, here)
    with pytest.raises(UserError, match="name --metrics, or --scores"):
        score_matrix(CASES, {}, {})
    with pytest.raises(UserError, match="scorer 'one' is there twice"):
        score_matrix(CASES, GIVEN, {"one": np.arange(4.0)})
    with pytest.raises(UserError, match="'x': no score given belongs to a candidate"):
        score_matrix(CASES, {("x", "*"): {("stranger", "A"): 1.0}}, {})
