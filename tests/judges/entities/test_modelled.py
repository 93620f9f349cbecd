"""Votes weighed by what they have turned out to mean: by hand, by repeated rows, and on a run
whose truth is known, in which one prompt says yes to nearly everything."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from random import Random
from typing import Any

import numpy as np
import pytest

from evaljudge.agreement import dawid_skene
from evaljudge.judges.entities.equations import DIVIDED_BY_LOSS, NO_BALLOT, OPTIONS, Answer
from evaljudge.judges.entities.modelled import AspectModel, VoteModel, model_votes, patterns
from evaljudge.model.asks import Failed
from evaljudge.records import Verdict

Given = Mapping[str, Answer]
PROMPTS = ("coverage", "presence", "support")
LABELS = OPTIONS["completeness"]
CUT = {"failed": "the reply was cut at its token limit"}


def votes(given: Given) -> dict[str, Any]:
    return {prompt: {"answer": answer, "reason": ""} for prompt, answer in given.items()}


def verdict(
    rubric: Sequence[Mapping[str, Any]] = (), entities: Sequence[Mapping[str, Any]] = ()
) -> Verdict:
    evidence = {
        "rubric": [{"entity": "e", "votes": one} for one in rubric],
        "entities": [{"entity": "e", "correctness": one, "alignment": {}} for one in entities],
        "sentences": [],
        "failed": {},
    }
    return Verdict("d", "A", "entities", "*", evidence)


def simulated(items: int, seed: int) -> tuple[list[Answer], list[Given]]:
    """True answers, and those of a good prompt, a fair one, and one that hardly looks."""
    random = Random(seed)

    def voted(true: Answer, right: float) -> Answer:
        others = [label for label in LABELS if label != true]
        return true if random.random() < right else random.choice(others)

    truth = random.choices(LABELS, [0.55, 0.25, 0.05, 0.15], k=items)
    return truth, [
        {
            "coverage": voted(true, 0.9),
            "presence": voted(true, 0.75),
            "support": "yes" if random.random() < 0.8 else voted(true, 0.75),
        }
        for true in truth
    ]


def run_of(given: Sequence[Given], to_a_verdict: int = 10) -> list[Verdict]:
    return [
        verdict([votes(one) for one in given[start : start + to_a_verdict]])
        for start in range(0, len(given), to_a_verdict)
    ]


# patterns


def test_patterns_are_counted_over_all_verdicts() -> None:
    run = [
        verdict(
            rubric=[
                {"support": {"answer": "no", "p": {"no": 0.7}}, "presence": {"answer": "yes"}},
                {"presence": {"answer": "yes"}, "support": {"answer": "no", "reason": "so"}},
                {"presence": CUT, "support": {"answer": "partially"}},
                {"presence": CUT, "support": CUT},
                {"presence": {"answer": "unknown"}, "support": {"answer": "YES"}},
            ],
            entities=[{"facts": {"answer": "unknown"}, "details": {"answer": "contradict"}}],
        ),
        replace(verdict([votes({"presence": "yes"})]), status="unscored", reason="died"),
        verdict(rubric=[{"coverage": {"answer": "yes"}}]),
    ]
    assert patterns(iter(run)) == {
        "completeness": {
            frozenset({("presence", "yes"), ("support", "no")}): 2,
            frozenset({("support", "partially")}): 1,
            frozenset({("coverage", "yes")}): 1,
        },
        # what is no answer about correctness is none
        "correctness": {frozenset({("facts", "unknown")}): 1},
    }


# what a pattern means

CONFUSIONS: Mapping[str, Mapping[Answer, Mapping[Answer, float]]] = {
    "coverage": {"yes": {"yes": 0.9, "no": 0.1}, "no": {"yes": 0.2, "no": 0.8}},
    "presence": {"yes": {"yes": 0.6, "no": 0.4}, "no": {"yes": 0.5, "no": 0.5}},
    "support": {"yes": {"yes": 0.9, "no": 0.1}, "no": {"yes": 0.9, "no": 0.1}},
}
BY_HAND = AspectModel(
    identified=True,
    converged=True,
    entities=10,
    labels=("yes", "no"),
    prompts=PROMPTS,
    shares={"yes": 0.6, "no": 0.4},
    confusions=CONFUSIONS,
)


@pytest.mark.parametrize(
    ("given", "yes", "no", "said"),
    [
        # .6 × .1 × .6 × .9 to .4 × .8 × .5 × .9: two who are hardly better than chance lose
        ({"coverage": "no", "presence": "yes", "support": "yes"}, 0.0324, 0.144, "no"),
        # .6 × .9 × .4 × .1 to .4 × .2 × .5 × .1
        ({"coverage": "yes", "presence": "no", "support": "no"}, 0.0216, 0.004, "yes"),
        # one answer: .6 × .4 to .4 × .5
        ({"presence": "no"}, 0.24, 0.2, "yes"),
        # who says the same of everything says nothing: the shares
        ({"support": "no"}, 0.06, 0.04, "yes"),
    ],
)
def test_chances_by_hand(given: Given, yes: float, no: float, said: Answer) -> None:
    chances = {"yes": yes / (yes + no), "no": no / (yes + no)}
    assert BY_HAND.chances(given) == pytest.approx(chances)
    assert BY_HAND.of(given) == said


@pytest.mark.parametrize("given", [{"a": "yes", "b": "no"}, {"a": "no", "b": "yes"}])
def test_equally_likely_verdicts_are_the_ballots(given: Given) -> None:
    """Divided ballots are no."""
    alike: Mapping[Answer, Mapping[Answer, float]] = {
        "yes": {"yes": 0.7, "no": 0.3},
        "no": {"yes": 0.3, "no": 0.7},
    }
    even: Mapping[Answer, float] = {"yes": 0.5, "no": 0.5}
    model = AspectModel(True, True, 2, ("yes", "no"), ("a", "b"), even, {"a": alike, "b": alike})
    assert model.chances(given) == pytest.approx(even)
    assert model.of(given) == "no"


def test_without_an_answer_there_is_no_verdict() -> None:
    model = VoteModel({"completeness": BY_HAND})
    assert BY_HAND.of({}) == NO_BALLOT
    assert model.of("completeness", {"coverage": CUT, "presence": CUT}) == NO_BALLOT
    assert model.of("completeness", {"coverage": {"answer": "no"}}) == "no"


# what is fitted


def test_is_what_the_repeated_rows_give() -> None:
    """The same from the run's votes themselves, one row an entity, and their posterior."""
    _, given = simulated(400, seed=5)
    dropped = Random(1)
    given = [
        {prompt: answer for prompt, answer in one.items() if dropped.random() < 0.85}
        for one in given
    ]
    mine = model_votes(patterns(run_of(given))).aspects["completeness"]
    rows = [[LABELS.index(one[p]) if p in one else -1 for p in PROMPTS] for one in given if one]
    assert any(-1 in row for row in rows)
    theirs = dawid_skene(rows, 4)
    assert (mine.identified, mine.converged, mine.entities) == (True, True, len(rows))
    assert mine.prompts == PROMPTS
    assert list(mine.shares.values()) == pytest.approx(theirs.shares.tolist(), rel=1e-7)
    confusions = [
        [[mine.confusions[p][true][said] for said in LABELS] for true in LABELS] for p in PROMPTS
    ]
    np.testing.assert_allclose(confusions, theirs.confusions, rtol=1e-7)
    for one, posterior in zip((one for one in given if one), theirs.posterior, strict=True):
        chances, said = mine.chances(one), mine.of(one)
        np.testing.assert_allclose(list(chances.values()), posterior, rtol=1e-6, atol=1e-12)
        assert not isinstance(said, Failed)
        assert chances[said] == max(chances.values())


# what is told


def test_two_answers_an_entity_identify_nothing() -> None:
    given: list[Given] = [{"facts": "yes", "details": "no"}, {"details": "yes", "evidence": "yes"}]
    model = model_votes(patterns([verdict(entities=[votes(one) for one in given])] * 30))
    assert model.learnt["correctness"] == {
        "identified": False, "converged": False, "entities": 60,
        "labels": ["yes", "no", "partially", "unknown"],
        "prompts": ["details", "evidence", "facts"], "shares": {}, "confusions": {},
    }  # fmt: skip
    assert model.of("correctness", votes(given[0])) == DIVIDED_BY_LOSS
    assert model.of("correctness", votes(given[1])) == "yes"
    exception: Given = {"facts": "partially", "details": "partially", "evidence": "yes"}
    assert model.of("correctness", votes(exception)) == "yes"


def test_of_a_run_without_answers_nothing_is_fitted() -> None:
    model = model_votes(patterns([verdict(rubric=[{"presence": CUT}])]))
    for aspect in ("completeness", "correctness"):
        told = model.learnt[aspect]
        assert (told["identified"], told["entities"], told["prompts"]) == (False, 0, [])
    assert model.of("completeness", {"presence": CUT}) == NO_BALLOT
