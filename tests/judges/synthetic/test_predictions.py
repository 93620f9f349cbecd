"""The three ways of predicting, both orders, and every reading of the same comparisons."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from math import fsum, log, sqrt
from typing import Any

import pytest

from evaljudge.engines.scripted import Scripted
from evaljudge.execution.case import case_models
from evaljudge.judges import make_judges
from evaljudge.judges.shared.scale import named, ratings
from evaljudge.judges.synthetic.equations import bradley_terry_position, ordinal_level, stacked
from evaljudge.judges.synthetic.evidence import answers_of, read_levels
from evaljudge.judges.synthetic.judge import Synthetic
from evaljudge.model import Model
from evaljudge.model.asks import Chosen, Failed, Options, Prompt
from evaljudge.prompts import load_task
from evaljudge.records import Brief, Candidate, Case, Document, Verdict
from tests.judges.synthetic.builders import (
    BETTER,
    SAMPLE,
    WORSE,
    Answers,
    Says,
    answers,
    briefs,
    judge,
    scripted,
)

TASK = load_task("summary", ["fluency"])
CASE = Case(Document("d1", "The river rose."), (Candidate("A", "A flood."),))
MANY = Case(CASE.document, tuple(Candidate(f"S{n}", f"summary {n}") for n in range(60)))


def verdict(judge: Synthetic, model: Model, told: list[Brief], case: Case = CASE) -> Verdict:
    return asyncio.run(judge.verdicts(case, told, model)).verdicts[0]


def values(judge: Synthetic, model: Model, told: list[Brief]) -> dict[str, float | None]:
    return {s.scorer: s.value for s in judge.score(verdict(judge, model, told))}


def at_level(table: Mapping[float, Answers]) -> Says:
    return lambda target, reference, relation: table[float(reference.removeprefix("level "))]


# exact probabilities


def test_every_reading_of_the_module_s_sample() -> None:
    found = values(judge(), scripted(at_level(SAMPLE)), briefs())
    assert list(found) == list(judge().scorers)
    assert found == {
        "synthetic": pytest.approx(0.88 + 1.5 + 1.2 - 0.4 - 3.5),  # -0.32
        "synthetic.level": pytest.approx(3 + 5.68 / 7),  # 3.81, between sums -6 and 1
        "synthetic.ordinal": pytest.approx(3.61, abs=5e-3),
        "synthetic.bradley-terry": pytest.approx(3.60, abs=5e-3),
    }


@pytest.mark.parametrize(("p", "side", "level"), [(BETTER, 1, 5), (WORSE, -1, 1)])
def test_better_or_worse_than_every_reference(p: Answers, side: int, level: float) -> None:
    model = scripted(lambda target, reference, relation: p)
    found = values(judge(), model, briefs())
    assert (found["synthetic"], found["synthetic.level"]) == (side * 15, level)
    assert found["synthetic.bradley-terry"] == pytest.approx(3 + side * 3.75, abs=5e-3)
    ordinal = found["synthetic.ordinal"]
    assert ordinal is not None and 1.5 < (ordinal - 3) * side < 2


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"predict": "yes-no"},
        {"swap": "both"},
        {"predict": "yes-no", "swap": "both"},
        {"predict": "sampled", "samples": 10, "trials": 3},
        {"layout": "ladder"},
    ],
)
def test_a_missing_level_leaves_every_scorer_without_a_value(settings: dict[str, Any]) -> None:
    one, reason = judge(**settings), "no reference of level 2 on fluency: too long"
    asked: list[tuple[str, str, str]] = []
    model = scripted(lambda *question: answers(1, 1, 1), asked)
    scores = one.score(verdict(one, model, briefs(missing=[2.0])))
    assert [score.scorer for score in scores] == list(one.scorers)
    assert {(score.value, score.reason) for score in scores} == {(None, reason)}
    assert asked == []


# yes and no

YES = {
    "better": {"1": 0.9, "2": 0.8, "3": 0.6, "4": 0.3, "5": 0.1},
    "worse": {"1": 0.1, "2": 0.1, "3": 0.2, "4": 0.5, "5": 0.8},
}


def yes_of(target: str, reference: str, relation: str) -> Answers:
    """Another mass for each of the two questions: only the shares count."""
    yes, of = YES[relation][reference.removeprefix("level ")], {"better": 0.5, "worse": 0.25}
    return {"Yes": yes * of[relation], "No": (1 - yes) * of[relation]}


def test_the_paper_s_sum_of_yes_and_no() -> None:
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
    third = found.evidence["levels"][2]
    assert answers_of([third])[0] == pytest.approx(
        answers(0.6 * 0.8, 0.2 * 0.4, 0.6 * 0.2 + 0.4 * 0.8)
    )
    assert read_levels([third])[1] == pytest.approx(0.375)
    better, worse = (Chosen(third[name]["logprobs"]) for name in ("better", "worse"))
    assert better.p["Yes"] == pytest.approx(0.6)
    assert worse.p["Yes"] == pytest.approx(0.2)


@pytest.mark.parametrize(
    ("settings", "fails", "level", "asks"),
    [
        ({}, ("A flood.", "level 5", ""), 5, 4),
        ({"predict": "yes-no"}, ("A flood.", "level 3", "worse"), 3, 9),
        ({"swap": "both"}, ("level 4", "A flood.", ""), 4, 9),
    ],
)
def test_a_question_that_fails_leaves_the_candidate_unscored(
    settings: dict[str, Any], fails: tuple[str, str, str], level: int, asks: int
) -> None:
    def says(*question: str) -> Answers | Failed:
        if question == fails:
            return Failed("too long")
        return {"Yes": 0.5, "No": 0.5} if question[2] else answers(1, 2, 3)

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
    [
        ("probabilities", answers(0.4, 0.2, 0.4), 0.75),
        ("yes-no", answers(0.375, 0.125, 0.5), 1.0),
    ],
)
@pytest.mark.parametrize("levels", [2, 3, 5, 9])
def test_both_orders_are_averaged(predict: str, p: Answers, mass: float, levels: int) -> None:
    one, asked = judge(predict=predict, swap="both", levels=levels), list[tuple[str, str, str]]()
    model = case_models(scripted(leaning, asked), [one], set(), set())[one.name]
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
def test_orders_that_exclude_each_other_leave_the_candidate_unscored(
    predict: str, asks: int
) -> None:
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


class Drawing(Scripted):
    """Gives these draws to every question, whatever the probabilities are."""

    def __init__(self, *draws: str) -> None:
        super().__init__()
        self.draws = draws

    async def choose(
        self, prompts: Sequence[Prompt], options: Options, samples: int = 0
    ) -> list[Chosen | Failed]:
        assert samples == len(self.draws) or not prompts
        even = dict.fromkeys(options.names, log(1 / 3))
        return [Chosen(even, self.draws) for _ in prompts]


def test_draws_by_hand() -> None:
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


def test_the_scorers_of_draws() -> None:
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


def drawn_of(judges: Mapping[str, Mapping[str, Any]], case: Case = MANY) -> list[Verdict]:
    """What `sampled` finds, asked after the judges before it, in one case's memory."""

    async def ask() -> list[Verdict]:
        found = {
            judge.name: (await judge.verdicts(case, briefs(), models[judge.name])).verdicts
            for judge in made
        }
        return found["sampled"]

    made = make_judges(judges, TASK)
    models = case_models(Scripted(), made, set(), set())
    return asyncio.run(ask())


SAMPLED = {"judge": "synthetic", "predict": "sampled"}


@pytest.fixture(scope="module")
def drawn() -> list[Verdict]:
    return drawn_of({"sampled": SAMPLED})


def errors(drawn: list[Verdict], size: int, trial: int) -> list[tuple[float, float]]:
    """Of each candidate: how far the sum is from the exact one, and its standard deviation."""
    one = Synthetic({"predict": "sampled"}, TASK, "sampled")
    suffix = ("" if size == 1000 else f".n{size}") + (f"#{trial + 1}" if trial else "")
    found = []
    for verdict in drawn:
        scores = {score.scorer: score.value for score in one.score(verdict)}
        value = scores[f"sampled{suffix}"]
        stored = verdict.evidence["levels"]
        levels = [(r["rating"], p) for r, p in zip(stored, answers_of(stored), strict=True)]
        assert value is not None
        exact = fsum(r * (p["Better"] - p["Worse"]) for r, p in levels)
        variance = fsum(
            r**2 * (p["Better"] + p["Worse"] - (p["Better"] - p["Worse"]) ** 2) / size
            for r, p in levels
        )
        found.append((value - exact, sqrt(variance)))
    return found


@pytest.mark.parametrize("size", [1, 3, 10, 100, 1000])
def test_the_error_of_draws_is_that_of_independent_ones(drawn: list[Verdict], size: int) -> None:
    """Sixty candidates, five trials: squares of standardised errors are 1 on average."""
    told = [one for trial in range(5) for one in errors(drawn, size, trial)]
    assert max(abs(error) / deviation for error, deviation in told) < 4
    squares = [(error / deviation) ** 2 for error, deviation in told]
    assert fsum(squares) / len(squares) == pytest.approx(1, abs=4 * sqrt(2 / len(squares)))
    mean = fsum(error / deviation for error, deviation in told) / len(told)
    assert abs(mean) < 4 / sqrt(len(told))


def test_trials_are_other_draws(drawn: list[Verdict]) -> None:
    trials = [[e / d for e, d in errors(drawn, 1000, trial)] for trial in range(5)]
    for one in range(5):
        for other in range(one):
            pairs = zip(trials[one], trials[other], strict=True)
            together = fsum(a * b for a, b in pairs) / 60
            assert abs(together) < 4 / sqrt(60)


def test_draws_are_the_same_whoever_asked_before(drawn: list[Verdict]) -> None:
    few = Case(MANY.document, MANY.candidates[7:4:-1])
    fewer: dict[str, Any] = SAMPLED | {"samples": 10, "trials": 2}
    after = drawn_of({"synthetic": {}, "few": fewer, "sampled": SAMPLED}, few)
    before = drawn_of({"sampled": SAMPLED, "few": fewer, "synthetic": {}}, few)
    alone = {v.system: v.evidence for v in drawn}
    for found in (after, before):
        assert [v.system for v in found] == ["S7", "S6", "S5"]
        assert all(v.evidence == alone[v.system] for v in found)
    assert {v.tokens.asks for v in before} == {5}
    assert {v.tokens.asks for v in after} == {0}


def test_fewer_draws_open_those_of_another_judge(drawn: list[Verdict]) -> None:
    few = Case(MANY.document, MANY.candidates[:1])
    (found,) = drawn_of({"sampled": SAMPLED | {"samples": 100, "trials": 10}}, few)
    for level, whole in zip(found.evidence["levels"], drawn[0].evidence["levels"], strict=True):
        assert level["draws"]["100"][0] == whole["draws"]["100"][0]
        tenth = [sum(column) for column in zip(*level["draws"]["100"], strict=True)]
        assert tenth == whole["draws"]["1000"][0]  # ten times a hundred


# what is told of the settings


def test_samples_are_told_of_where_they_are_drawn() -> None:
    assert not {"samples", "trials"} & judge().asking.keys()
    asking = judge(predict="sampled").asking
    assert (asking["samples"], asking["trials"]) == (1000, 5)


@pytest.mark.parametrize("levels", [3, 5, 9])
def test_references_are_shared_whatever_is_asked_of_them(levels: int) -> None:
    plain = {part.name: part for part in judge(levels=5).parts()}
    for settings in (
        {},
        {"predict": "yes-no"},
        {"predict": "sampled", "samples": 10},
        {"swap": "both"},
        {"checks": {"exchanged": 1}},
    ):
        mine = {part.name: part for part in judge(levels=levels, **settings).parts()}
        shared = mine.keys() & plain.keys()
        assert shared >= {"1", "3", "5"}
        assert all(mine[name] == plain[name] for name in shared)
    assert judge(levels=3, temperature=0.7).parts()[0].inputs != plain["1"].inputs
