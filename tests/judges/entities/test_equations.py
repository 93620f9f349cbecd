"""The rules of the ballots and the formulas by hand, and their laws; votes weighed by what they
have turned out to mean, by hand, by repeated rows, and on a run whose truth is known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations_with_replacement, permutations
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaljudge.agreement import dawid_skene
from evaljudge.judges.entities.equations import (
    COHERENCE,
    DIVIDED_BY_LOSS,
    FLUENCY,
    NO_BALLOT,
    OPTIONS,
    Answer,
    Aspect,
    Kind,
    Ruling,
    Tally,
    completeness,
    consistency,
    correctness,
    issues,
    readability,
    rejections,
    relevance,
    ruling,
    scaled,
    share,
    supported,
    tally,
)
from evaljudge.judges.entities.modelled import AspectModel, VoteModel, model_votes, patterns
from evaljudge.model.asks import Failed
from evaljudge.records import Verdict

Y: Answer = "yes"
N: Answer = "no"
C: Answer = "contradict"
P: Answer = "partially"
U: Answer = "unknown"


def unknown_share(of: Tally) -> float | Failed:
    return share(of, {U})


def share_of_yes(of: Tally) -> float | Failed:
    return share(of, {Y})


# What every ballot of three comes to where it is not three times, or twice, the same.
DIVIDED = {
    "completeness": [(Y, N, C), (Y, N, P), (Y, C, P), (N, C, P)],
    "correctness": [(Y, N, P), (Y, N, U), (Y, P, U), (N, P, U)],
}


@pytest.mark.parametrize("aspect", ["completeness", "correctness"])
def test_every_ballot_of_three(aspect: Aspect) -> None:
    expected: dict[frozenset[tuple[Answer, int]], Ruling] = {}
    for answer in OPTIONS[aspect]:
        expected[frozenset({(answer, 3)})] = Ruling(answer, "majority")
        for other in OPTIONS[aspect]:
            if other != answer:
                expected[frozenset({(answer, 2), (other, 1)})] = Ruling(answer, "majority")
    expected[frozenset({(P, 2), (Y, 1)})] = Ruling("yes", "exception")
    for ballot in DIVIDED[aspect]:
        expected[frozenset((answer, 1) for answer in ballot)] = Ruling("no", "divided")
    ballots = list(combinations_with_replacement(OPTIONS[aspect], 3))
    assert len(ballots) == len(expected) == 20
    for ballot in ballots:
        known = expected[frozenset((answer, ballot.count(answer)) for answer in ballot)]
        for order in permutations(ballot):
            assert ruling(order) == known, order


@pytest.mark.parametrize(
    ("ballot", "verdict", "rule"),
    [
        ([Y], "yes", "majority"),
        ([U], "unknown", "majority"),
        ([Y, Y], "yes", "majority"),
        ([Y, N], "no", "divided"),
        ([N, Y], "no", "divided"),
        ([P, Y], "no", "divided"),
        ([P, P], "partially", "majority"),
        ([Y, Y, P], "yes", "majority"),
        ([P, Y, P], "yes", "exception"),
        ([Y, Y, N, P], "no", "divided"),
        ([P, P, Y, Y], "no", "divided"),
        ([C, C, C, Y, P], "contradict", "majority"),
    ],
)
def test_ballots_of_other_sizes(ballot: list[Answer], verdict: Answer, rule: str) -> None:
    found = ruling(ballot)
    assert isinstance(found, Ruling)
    assert (found.verdict, found.rule) == (verdict, rule)


def test_no_ballot_has_no_verdict() -> None:
    assert ruling([]) == Failed("no prompt gave an answer")


# formulas

RUBRIC = tally([Y, Y, P, C])
TARGET = tally([Y, P, N, U, Y, Y, P, U])
PLACED = tally([Y, Y, Y, N])


def test_formulas() -> None:
    assert completeness(RUBRIC) == 2.5 / 4
    assert correctness(TARGET) == 4 / 8
    assert consistency(TARGET) == 7 / 8
    assert unknown_share(TARGET) == 2 / 8
    assert supported(TARGET) == 5 / 8  # yes or partially; what is unknown is not
    assert share_of_yes(PLACED) == 3 / 4
    # found: 3 of 4, the partial one too, but not what is contradicted
    assert relevance(RUBRIC, PLACED) == (3 / 4 + 3 / 4) / 2
    assert relevance(tally([P, N]), tally([Y])) == (1 / 2 + 1) / 2


def test_entities_without_a_verdict_are_left_out_and_counted() -> None:
    lost = tally([Y, Failed("cut"), P, Failed("cut"), N])
    assert (sum(lost.values()), lost[None]) == (5, 2)
    assert correctness(lost) == 0.5
    assert consistency(lost) == pytest.approx(2 / 3)


BALLOTS: list[list[Answer]] = [[U, U, U], [Y, P, U], [N, N, Y], [Y, Y, N], [Y, N, P], [P, P, Y]]


def test_what_is_denied_is_told_from_what_its_prompts_are_divided_on() -> None:
    """Three times unknown is not denied; yes, partially and unknown is denied by nobody."""
    rulings = [ruling(ballot) for ballot in BALLOTS]
    found = tally(one if isinstance(one, Failed) else one.verdict for one in rulings)
    assert share_of_yes(rejections(rulings, "majority")) == 1 / 6  # no, no, yes
    assert share_of_yes(rejections(rulings, "divided")) == 2 / 6
    assert unknown_share(found) == 1 / 6
    assert supported(found) == 2 / 6
    assert consistency(found) == 1 - 3 / 6
    lost = [*rulings, ruling([Y, N], lost=1)]
    assert share_of_yes(rejections(lost, "divided")) == 2 / 6  # left out, as of every share


SENTENCES: list[dict[Kind, Answer | Failed]] = [
    {"flow": Y, "language": N, "grammar": N, "spelling": N},
    {"flow": N, "language": N, "grammar": Y, "spelling": Y},
    {"flow": N, "language": N, "grammar": N, "spelling": N},
    {"flow": Y, "language": Y, "grammar": N, "spelling": N},
    {"flow": N, "language": N, "grammar": N, "spelling": N},
]


def test_sentences_with_issues() -> None:
    assert readability(issues(SENTENCES)) == pytest.approx(1 - 3 / 5)
    assert readability(issues(SENTENCES, COHERENCE)) == pytest.approx(1 - 2 / 5)
    assert readability(issues(SENTENCES, FLUENCY)) == pytest.approx(1 - 1 / 5)


def test_one_issue_is_enough_but_none_must_be_said_of_every_kind() -> None:
    cut = Failed("cut")
    lost: list[dict[Kind, Answer | Failed]] = [
        {"grammar": Y, "spelling": cut},
        {"grammar": cut, "spelling": N},
        {"spelling": N},
        {"grammar": N, "spelling": N},
    ]
    found = issues(lost, FLUENCY)
    assert (sum(found.values()), found[None]) == (4, 2)
    assert readability(found) == pytest.approx(1 - 1 / 2)


@pytest.mark.parametrize(("part", "rating"), [(0, 1), (0.25, 2), (0.5, 3), (0.625, 3.5), (1, 5)])
def test_scaled(part: float, rating: float) -> None:
    assert scaled(part) == rating


NOTHING = tally([])
ALL_LOST = tally([Failed("cut"), Failed("cut")])
LOST = Failed("no verdict on any entity or sentence")


def test_nothing_to_count_is_a_reason() -> None:
    no_entities, no_rubric = (
        Failed("the text has no entities"),
        Failed("the rubric has no entities"),
    )
    assert completeness(NOTHING) == no_rubric
    for formula in (correctness, consistency, supported, unknown_share, share_of_yes):
        assert formula(NOTHING) == no_entities
        assert formula(ALL_LOST) == LOST
    assert completeness(ALL_LOST) == LOST
    assert relevance(NOTHING, PLACED) == no_rubric
    assert relevance(RUBRIC, NOTHING) == no_entities
    assert relevance(NOTHING, NOTHING) == no_rubric
    assert relevance(ALL_LOST, PLACED) == LOST
    assert readability(issues([])) == Failed("the text has no sentences")
    assert readability(issues([{"flow": Failed("cut")}])) == LOST
    assert scaled(no_entities) == no_entities


@given(st.lists(st.lists(st.sampled_from(OPTIONS["correctness"]), min_size=1), min_size=1))
def test_every_entity_is_supported_unknown_denied_or_divided(ballots: list[list[Answer]]) -> None:
    rulings = [ruling(ballot) for ballot in ballots]
    found = tally(one if isinstance(one, Failed) else one.verdict for one in rulings)
    denied, divided = (share_of_yes(rejections(rulings, r)) for r in ("majority", "divided"))
    parts = [supported(found), unknown_share(found), denied, divided]
    assert sum(part for part in parts if not isinstance(part, Failed)) == pytest.approx(1)
    assert parts[0] + parts[1] == pytest.approx(consistency(found))  # type: ignore[operator]


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
