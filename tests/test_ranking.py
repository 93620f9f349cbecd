"""Systems as rows of a report: people's and every scorer's, and what a sample is marked as."""

from typing import Any

import numpy as np
import pytest

from evaljudge.analysis.tables import SystemMean, Tables
from evaljudge.decisions.grid import Grid
from tests.frames import frame, rows

TABLE = np.array([[1.0, 2.0], [3.0, 5.0], [2.0, 3.0], [4.0, 4.0]])


def grid(**more: Any) -> Grid:
    ordinary: dict[str, Any] = {
        "documents": tuple("wxyz"),
        "systems": ("A", "B"),
        "scores": {
            ("judge", "fluency"): TABLE,
            ("judge#2", "fluency"): TABLE,
            ("judge.n10", "fluency"): TABLE,
            ("none", "fluency"): TABLE * np.nan,
            ("rouge1", "*"): -TABLE,
        },
        "human": {"wit": TABLE, "fluency": TABLE},
    }
    return Grid(**ordinary | more)


def test_people_come_first_and_repetitions_are_left_out() -> None:
    found = rows("systems", frame(grid=grid()))
    assert [(row.scorer, row.axis) for row in found] == [
        ("human", "fluency"),
        ("human", "wit"),
        ("judge", "fluency"),
        ("rouge1", "*"),
    ]
    assert [row.systems[0].system for row in found] == ["B", "B", "B", "A"]
    assert not any(row.sampled for row in found)


def test_of_a_sample_the_mean_is_that_of_all_and_the_interval_is_as_much_shorter() -> None:
    class Whole(Tables):
        def systems(self) -> list[SystemMean]:
            return [SystemMean("judge", "fluency", "B", 3.7, 400)]

    grids = (grid(is_sample=is_sample) for is_sample in (False, True))
    whole, sampled = (rows("systems", frame(grid=g, tables=Whole([])))[2] for g in grids)
    (before, after) = (row.systems[0] for row in (whole, sampled))
    assert (whole.sampled, sampled.sampled) == (False, True)
    assert (before.mean, before.n, after.mean, after.n) == (3.5, 4, 3.7, 400)
    assert before.low is not None and after.low is not None and after.high is not None
    assert after.mean - after.low == pytest.approx((before.mean - before.low) / 10)
    assert after.mean - after.low == pytest.approx(after.high - after.mean)


def test_a_grid_of_some_axes() -> None:
    found = rows("systems", frame(grid=grid().on(["wit"])))
    assert [(row.scorer, row.axis) for row in found] == [("human", "wit"), ("rouge1", "*")]
