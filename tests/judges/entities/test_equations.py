"""Every rule of the ballots and every formula of the second paper, by hand; and their laws."""

from __future__ import annotations

from itertools import combinations_with_replacement, permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaljudge.judges.entities.equations import (
    COHERENCE,
    FLUENCY,
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
from evaljudge.model.asks import Failed

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
