"""Systems as rows of a report, and counts for its pictures: whole and of a sample."""

from typing import Any

import numpy as np
import pytest

from evaljudge.agreement.rated import Grid
from evaljudge.analysis.tables import SystemMean, Tables
from evaljudge.analysis.telling import BINS, edges, spreads
from evaljudge.records import Candidate, Case, Document, Score
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


def test_rankings_and_samples():
    found = rows("systems", frame(grid=grid()))
    assert [(row.scorer, row.axis) for row in found] == [
        ("human", "fluency"),
        ("human", "wit"),
        ("judge", "fluency"),
        ("rouge1", "*"),
    ]
    assert [row.systems[0].system for row in found] == ["B", "B", "B", "A"]
    assert not any(row.sampled for row in found)

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


def test_a_system_without_scores_is_named_with_the_reason_of_its_first_text():
    texts = Candidate("A", "a"), Candidate("B", "b"), Candidate("C", "c")
    parts = [Tables([("judge", "fluency")]), Tables([("judge", "fluency")])]
    lacking = [{"B": "too long", "C": "empty text"}, {"B": "empty text"}]
    for number, (tables, why) in enumerate(zip(parts, lacking, strict=True)):
        values = {t.system: None if t.system in why else 1.0 + number for t in texts}
        scores = {
            (s, "judge", "fluency"): Score("d", s, "judge", "fluency", v, why.get(s, ""), "")
            for s, v in values.items()
        }
        tables.add(Case(Document(f"d{number}", "source"), texts), scores)
    whole = parts[0]
    whole += parts[1]
    (row,) = rows("systems", frame(grid=whole.as_grid(), tables=whole))
    assert [system.system for system in row.systems] == ["C", "A"]
    assert row.unscored == [("B", "too long")]


def test_people_stay_where_every_text_is_rated_though_some_were_drawn_for_it():
    tables, drawn = Tables([]), {"wit": np.where(TABLE > 4, 0.25, 0.0)}
    for texts, axes in ((TABLE.size, ["fluency", "wit"]), (TABLE.size + 1, ["fluency"])):
        tables.candidates = texts
        found = rows("systems", frame(grid=grid(probabilities=drawn), tables=tables))
        assert [row.axis for row in found if row.scorer == "human"] == axes


def test_a_grid_of_some_axes():
    found = rows("systems", frame(grid=grid().on(["wit"])))
    assert [(row.scorer, row.axis) for row in found] == [("human", "wit"), ("rouge1", "*")]


RNG = np.random.default_rng(7)


def spread_grid(scores: np.ndarray, human: np.ndarray | None = None, axis: str = "fluency") -> Grid:
    documents = tuple(f"d{number}" for number in range(len(scores)))
    systems = tuple("ABCDEFGH"[: scores.shape[1]])
    return Grid(
        documents, systems, {("s", axis): scores}, {} if human is None else {"fluency": human}
    )


def test_counts_say_what_a_threshold_selects_of_each_system():
    scores = RNG.normal(3, 1, (200, 4)).round(2)
    scores[0, 0] = np.nan
    (found,) = spreads(spread_grid(scores))
    lowest = edges(found.low, found.high)
    assert len(found.counts) == len(lowest) == BINS
    for at in range(BINS):
        assert sum(found.counts[at:]) == np.sum(scores >= lowest[at])
    (found,) = spreads(spread_grid(np.array([[1.0, 5.0], [1.0, np.nan]])))
    assert {name: sum(counts) for name, counts in found.systems.items()} == {"A": 2, "B": 1}
    assert found.systems["A"][0] == 2 and found.systems["B"][-1] == 1


def test_ratings_that_scores_met_are_counted_once():
    scores = RNG.uniform(0, 1, (50, 3))
    human = RNG.integers(1, 6, (50, 3)).astype(float)
    human[:10] = np.nan
    (found,) = spreads(spread_grid(scores, human))
    (met,) = found.people
    assert list(met.ratings) == [1, 2, 3, 4, 5]
    assert sum(n for _, _, n in met.counts) == 40 * 3
    good = sum(n for _, place, n in met.counts if met.ratings[place] >= 4)
    assert good == np.sum(human >= 4)


def test_many_and_equal_numbers_are_put_together():
    (found,) = spreads(spread_grid(RNG.uniform(0, 1, (60, 3)), RNG.uniform(1, 5, (60, 3))))
    (met,) = found.people
    assert len(met.ratings) == 41 and sum(n for _, _, n in met.counts) == 180
    (found,) = spreads(spread_grid(np.full((5, 2), 3.0)))
    assert (found.low, found.high, sum(found.counts)) == (3.0, 3.0, 10)
    assert spreads(spread_grid(np.full((5, 2), np.nan))) == []


@pytest.mark.parametrize(("axis", "compared"), [("*", 1), ("fluency", 1), ("relevance", 0)])
def test_ratings_are_those_of_the_scorers_axis(axis, compared):
    scores = RNG.uniform(0, 1, (5, 2))
    (found,) = spreads(spread_grid(scores, scores, axis))
    assert len(found.people) == compared
