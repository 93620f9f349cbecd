"""Systems and decisions as rows of a report, and counts for its pictures."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from evaljudge.agreement.rated import Floats, Grid, Rated
from evaljudge.analyses.replacing import OFF_SCALE, TOO_FEW
from evaljudge.analysis.tables import Tables
from evaljudge.analysis.telling import BINS, edges, spreads
from evaljudge.config import AgreementConfig
from evaljudge.records import Candidate, Case, Document, Score
from tests.frames import frame, rows, warnings

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
        def systems(self) -> dict[tuple[str, str, str], tuple[float, int]]:
            return {("judge", "fluency", "B"): (3.7, 400)}

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


# decisions


HOW = AgreementConfig(resamples=200)
DOCUMENTS, SYSTEMS = 30, 6


def rated(seed: int = 0, raters: int = 3, documents: int = DOCUMENTS) -> Rated:
    """People like quality and length; `judge` sees quality, `long` measures length, in words."""
    rng, shape = np.random.default_rng(seed), (documents, SYSTEMS)
    long, good = rng.normal(size=shape), rng.normal(size=shape)
    noise = 0.4 * rng.normal(size=(raters, *shape))
    ratings = np.clip(np.rint(3 + 0.8 * good + 0.6 * long + noise), 1, 5).reshape(raters, -1).T
    document, system = (axis.ravel() for axis in np.indices(shape))
    lengths = np.rint(50 * np.exp(long / 3)).ravel()
    scores: dict[tuple[str, str], Floats] = {
        ("judge", "fluency"): ratings.mean(axis=1) + 0.1 * rng.normal(size=ratings.shape[0]),
        ("long", "*"): lengths + 5 * rng.normal(size=lengths.size),
        ("judge#2", "fluency"): lengths,
    }
    scores["judge", "fluency"] = np.clip(scores["judge", "fluency"], 1, 5)
    by_text: Sequence[tuple[float, ...]] = [tuple(row) for row in ratings.tolist()]
    human = {"fluency": ratings.mean(axis=1)}
    return Rated(document, system, scores, human, {"fluency": by_text}, lengths)


def warned_of(some: Rated) -> list[str]:
    """Length is warned of whatever else there is: of agreement and lengths alone."""
    run = frame(some, how=HOW)
    found = {name: rows(name, run) for name in ("agreement", "length")}
    return list(warnings("length", run, found).values())


def test_a_judge_on_the_raters_scale_is_tested_and_others_say_why_not():
    judge, long = rows("replacing", frame(rated(), how=HOW))
    assert (judge.scorer, judge.axis, judge.raters) == ("judge", "fluency", 3)
    assert (judge.texts, judge.documents) == (DOCUMENTS * SYSTEMS, DOCUMENTS)
    assert judge.found is not None and judge.found.passes and judge.found.epsilon == 0.1
    assert judge.answer == "yes"
    how = HOW.model_copy(update={"alt_test_epsilon": 0.2})
    assert rows("replacing", frame(rated(), how=how))[0].found.epsilon == 0.2
    assert (long.scorer, long.found, long.reason) == ("long", None, OFF_SCALE)


def test_constants_that_pass_are_told_and_judges_that_see_more_may():
    """Nearly every rating is a 5: who always says 5 is as close to others as any rater is."""
    alike = rated()
    ratings = np.full((alike.documents.size, 3), 5.0)
    ratings[np.arange(0, 90, 3), np.arange(30) % 3] = 1.0
    raters = [tuple(row) for row in ratings.tolist()]
    scores = {("judge", "fluency"): np.full(alike.documents.size, 5.0)}
    human = {"fluency": ratings.mean(axis=1)}
    some = Rated(alike.documents, alike.systems, scores, human, {"fluency": raters})
    (judge,) = rows("replacing", frame(some, how=HOW))
    assert judge.found.passes
    assert judge.constant == judge.found
    assert judge.answer == "no better than a constant"
    assert rows("replacing", frame(rated(), how=HOW))[0].constant.winning_rate == 0
    # one text in thirty is bad, which all raters and the judge see
    some = rated()
    people = np.where(np.arange(some.documents.size) % 30, 5.0, 1.0)
    raters = [(one, one, one) for one in people.tolist()]
    scores = {("judge", "fluency"): people, ("blind", "fluency"): np.full(people.size, 5.0)}
    told = Rated(some.documents, some.systems, scores, {"fluency": people}, {"fluency": raters})
    judge, blind = rows("replacing", frame(told, how=HOW))
    assert judge.constant.passes and judge.answer == "yes"
    assert blind.found.passes and blind.answer == "no better than a constant"


def test_a_judge_of_length_and_few_texts_are_said():
    judge, _ = rows("replacing", frame(rated(documents=4), how=HOW))
    assert (judge.found, judge.reason, judge.texts) == (None, TOO_FEW, 24)
    assert {row.scorer for row in rows("length", frame(rated()))} == {"judge", "long"}
    (said,) = warned_of(rated())
    assert said.startswith("long may measure length: with length held fixed")
    assert "fluency 0." in said and "judge" not in said


@pytest.mark.parametrize(
    ("documents", "scorer", "sign", "said"),
    [
        (DOCUMENTS, "odd", 1, "odd may measure length: with"),
        (8, "odd", 1, "odd may measure length: with"),
        (5, "odd", 1, ""),
        (DOCUMENTS, "odd", -1, ""),  # it has no agreement to lose
        (DOCUMENTS, "odd", 0, ""),  # noise agrees little
        (DOCUMENTS, "words", 1, ""),
    ],
)
def test_when_lengths_are_seen_through(documents, scorer, sign, said):
    some = rated(documents=documents)
    assert some.lengths is not None
    noise = np.random.default_rng(1).normal(size=some.documents.size)
    scores = {(scorer, "*"): sign * some.lengths if sign else noise}
    only = Rated(some.documents, some.systems, scores, some.human, some.raters, some.lengths)
    warned = warned_of(only)
    assert len(warned) == bool(said)
    assert "".join(warned).startswith(said)


def test_soft_accuracy_is_at_system_level():
    found = rows("agreement", frame(rated(), how=HOW))
    soft = [row for row in found if row.coefficient == "soft_accuracy"]
    assert [(row.scorer, row.level, row.n) for row in soft] == [
        ("judge", "system", SYSTEMS), ("long", "system", SYSTEMS),
    ]  # fmt: skip
    assert all(0 < row.value <= 1 for row in soft)
