"""The three ways of predicting, both orders, and every reading of the same comparisons."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from math import fsum

import pytest

from evaljudge.execution.case import case_models
from evaljudge.judges.shared.scale import named, ratings
from evaljudge.judges.synthetic.equations import bradley_terry_position, ordinal_level
from evaljudge.judges.synthetic.evidence import answers_of, read_levels
from evaljudge.judges.synthetic.judge import Synthetic
from evaljudge.model import Model
from evaljudge.model.asks import Failed
from evaljudge.records import Brief, Candidate, Case, Document, Verdict
from tests.judges.builders import Drawing
from tests.judges.synthetic.builders import (
    SAMPLE,
    Answers,
    Says,
    answers,
    briefs,
    judge,
    scripted,
    stacked,
)

CASE = Case(Document("d1", "The river rose."), (Candidate("A", "A flood."),))


def verdict(judge: Synthetic, model: Model, told: list[Brief], case: Case = CASE) -> Verdict:
    return asyncio.run(judge.verdicts(case, told, model)).verdicts[0]


def values(judge: Synthetic, model: Model, told: list[Brief]) -> dict[str, float | None]:
    return {s.scorer: s.value for s in judge.score(verdict(judge, model, told))}


def at_level(table: Mapping[float, Answers]) -> Says:
    return lambda target, reference, relation: table[float(reference.removeprefix("level "))]


# exact probabilities


def test_every_reading_of_the_module_s_sample():
    found = values(judge(), scripted(at_level(SAMPLE)), briefs())
    assert list(found) == list(judge().scorers)
    assert found == {
        "synthetic": pytest.approx(0.88 + 1.5 + 1.2 - 0.4 - 3.5),  # -0.32
        "synthetic.level": pytest.approx(3 + 5.68 / 7),  # 3.81, between sums -6 and 1
        "synthetic.ordinal": pytest.approx(3.61, abs=5e-3),
        "synthetic.bradley-terry": pytest.approx(3.60, abs=5e-3),
    }


# yes and no

YES = {
    "better": {"1": 0.9, "2": 0.8, "3": 0.6, "4": 0.3, "5": 0.1},
    "worse": {"1": 0.1, "2": 0.1, "3": 0.2, "4": 0.5, "5": 0.8},
}


def yes_of(target: str, reference: str, relation: str) -> Answers:
    """Another mass for each of the two questions: only the shares count."""
    yes, of = YES[relation][reference.removeprefix("level ")], {"better": 0.5, "worse": 0.25}
    return {"Yes": yes * of[relation], "No": (1 - yes) * of[relation]}


def test_the_paper_s_sum_of_yes_and_no():
    one, asked = judge(predict="yes-no"), list[tuple[str, str, str]]()
    found = verdict(one, scripted(yes_of, asked), briefs())
    total = 1 * (0.9 - 0.1) + 2 * (0.8 - 0.1) + 3 * (0.6 - 0.2) + 4 * (0.3 - 0.5) + 5 * (0.1 - 0.8)
    assert total == pytest.approx(-0.9)
    scores = {score.scorer: score.value for score in one.score(found)}
    assert scores["synthetic"] == pytest.approx(total)
    assert scores["synthetic.level"] == pytest.approx(3 + (6 - 0.9) / 7)
    assert asked == [
        ("A flood.", f"level {level}", relation)
        for level in "12345"
        for relation in ("better", "worse")
    ]
    assert read_levels(found.evidence["levels"])[1] == pytest.approx(0.375)


@pytest.mark.parametrize(
    ("settings", "fails", "level", "asks"),
    [
        ({}, ("A flood.", "level 5", ""), 5, 4),
        ({"predict": "yes-no"}, ("A flood.", "level 3", "worse"), 3, 9),
        ({"swap": "both"}, ("level 4", "A flood.", ""), 4, 9),
    ],
)
def test_a_question_that_fails_leaves_the_candidate_unscored(settings, fails, level, asks):
    def says(*question: str) -> Answers | Failed:
        if question == fails:
            return Failed("too long")
        return {"Yes": 0.5, "No": 0.5} if question[2] else answers(0.2, 0.3, 0.5)

    found = verdict(judge(**settings), scripted(says), briefs())
    assert (found.status, found.reason) == ("unscored", f"compared with level {level}: too long")
    assert found.tokens.asks == asks  # a failure that the script gives has cost nothing


# both orders


def leaning(target: str, reference: str, relation: str) -> Answers:
    """Asked as usual 16:1:4, exchanged 4:1:4; Yes with odds 9 and 1/4, exchanged 4 and 1."""
    usual = target == "A flood."
    if relation:
        odds = {"better": 9.0, "worse": 0.25} if usual else {"better": 4.0, "worse": 1.0}
        return {"Yes": odds[relation] / (1 + odds[relation]), "No": 1 / (1 + odds[relation])}
    of = (16 / 21, 1 / 21, 4 / 21) if usual else (2 / 9, 0.5 / 9, 2 / 9)
    return answers(*of)


@pytest.mark.parametrize(
    ("predict", "p", "mass"),
    [("probabilities", answers(0.4, 0.2, 0.4), 0.75), ("yes-no", answers(0.375, 0.125, 0.5), 1.0)],
)
@pytest.mark.parametrize("levels", [2, 3, 5, 9])
def test_both_orders_are_averaged(predict, p, mass, levels):
    one, asked = judge(predict=predict, swap="both", levels=levels), list[tuple[str, str, str]]()
    model = case_models(scripted(leaning, asked), [one.name], set(), set())[one.name]
    found = verdict(one, model, briefs(levels))
    for level in found.evidence["levels"]:
        assert answers_of([level])[0] == pytest.approx(p)
        assert read_levels([level])[1] == pytest.approx(mass)
    (score, *_) = one.score(found)
    assert score.value == pytest.approx(fsum(ratings(levels)) * (p["Better"] - p["Worse"]))
    relations = [""] if predict == "probabilities" else ["better", "worse"]
    texts = [f"level {named(rating)}" for rating in ratings(levels)]
    usual = [("A flood.", text, relation) for text in texts for relation in relations]
    exchanged = [(text, "A flood.", relation) for text in texts for relation in relations]
    assert asked == [*usual, *exchanged]
    assert found.tokens.asks == len(asked)


@pytest.mark.parametrize(("predict", "asks"), [("probabilities", 10), ("yes-no", 20)])
def test_orders_that_exclude_each_other_leave_the_candidate_unscored(predict, asks):
    """Certain that the first text is the better one, in either place."""

    def says(target: str, reference: str, relation: str) -> Answers:
        better = relation != "worse"
        return answers(1, 0, 0) if not relation else {"Yes": better, "No": not better}

    one = judge(predict=predict, swap="both")
    found = verdict(one, scripted(says), briefs())
    assert found.status == "unscored"
    assert found.reason == (
        "compared with level 1: the replies in the two orders exclude each other"
    )
    assert found.tokens.asks == asks
    assert {score.reason for score in one.score(found)} == {found.reason}


# draws


def test_draws_by_hand():
    one = judge(levels=2, predict="sampled", samples=3, trials=2)
    model = Drawing("Better", "Worse", "Better", "Similar", "Worse", "Worse")
    found = verdict(one, model, briefs(2))
    assert found.evidence["levels"][0]["draws"] == {
        "1": [[1, 0, 0], [0, 0, 1]],
        "3": [[2, 1, 0], [0, 2, 1]],
    }
    shares = [(rating, answers(2 / 3, 1 / 3, 0)) for rating in (1.0, 5.0)]
    assert {score.scorer: score.value for score in one.score(found)} == {
        "synthetic": pytest.approx((1 + 5) * (2 / 3 - 1 / 3)),
        "synthetic.level": 5,  # the ideal sums are -5 and 1
        "synthetic.ordinal": pytest.approx(ordinal_level(stacked([shares]))[0]),
        "synthetic.bradley-terry": pytest.approx(bradley_terry_position(stacked([shares]))[0]),
        "synthetic.n1": 6,
        "synthetic.n1#2": 0,
        "synthetic#2": pytest.approx((1 + 5) * (0 - 2 / 3)),
    }


def test_the_scorers_of_draws():
    readings = ["synthetic.level", "synthetic.ordinal", "synthetic.bradley-terry"]
    assert judge().scorers == ["synthetic", *readings]
    assert judge(predict="sampled", samples=1, trials=1).scorers == ["synthetic", *readings]
    assert judge(predict="sampled", samples=1, trials=3).scorers == [
        "synthetic", *readings, "synthetic#2", "synthetic#3",
    ]  # fmt: skip
    assert judge(predict="sampled", samples=20, trials=2).scorers == [
        "synthetic", *readings, "synthetic.n1", "synthetic.n1#2", "synthetic.n3",
        "synthetic.n3#2", "synthetic.n10", "synthetic.n10#2", "synthetic#2",
    ]  # fmt: skip
    usual = judge(predict="sampled").scorers  # 1, 3, 10, 100 and 1000, five times each
    assert len(usual) == len(set(usual)) == 5 * 5 + len(readings)
    assert {"synthetic.n100#5", "synthetic#5"} < set(usual)
    assert not {"synthetic.n1000", "synthetic#1", "synthetic#6"} & set(usual)


# what is told of the settings


def test_samples_are_told_of_where_they_are_drawn():
    assert not {"samples", "trials"} & judge().asking.keys()
    asking = judge(predict="sampled").asking
    assert (asking["samples"], asking["trials"]) == (1000, 5)
