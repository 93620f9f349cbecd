"""The rules of the ballots and the formulas by hand, and their laws; votes weighed by what they
have turned out to mean, by hand, by repeated rows, and on a run whose truth is known."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from itertools import combinations_with_replacement, permutations
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaljudge.agreement import dawid_skene
from evaljudge.judges.entities.equations import (
    DIVIDED_BY_LOSS,
    NO_BALLOT,
    OPTIONS,
    Answer,
    Ruling,
    majority,
    ruling,
    scaled,
    shares_of,
)
from evaljudge.judges.entities.modelled import AspectModel, by_model, model_votes, patterns
from evaljudge.model.asks import Failed
from evaljudge.records import Verdict
from tests.judges.entities.evidence import entity, sentence, verdict, wanted

Y: Answer = "yes"
N: Answer = "no"
C: Answer = "contradict"
P: Answer = "partially"
U: Answer = "unknown"
Given = Mapping[str, Answer]
PROMPTS = ("coverage", "presence", "support")
LABELS = OPTIONS["completeness"]
CUT = {"failed": "the reply was cut at its token limit"}

# What every ballot of three comes to where it is not three times, or twice, the same.
DIVIDED = {
    "completeness": [(Y, N, C), (Y, N, P), (Y, C, P), (N, C, P)],
    "correctness": [(Y, N, P), (Y, N, U), (Y, P, U), (N, P, U)],
}


@pytest.mark.parametrize("aspect", ["completeness", "correctness"])
def test_every_ballot_of_three(aspect):
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
    ("ballot", "lost", "found"),
    [
        ([U], 2, Ruling("unknown", "majority")),
        ([Y, N], 0, Ruling("no", "divided")),
        ([P, Y], 0, Ruling("no", "divided")),
        ([Y, N], 1, DIVIDED_BY_LOSS),
        ([P, P], 1, Ruling("partially", "majority")),
        ([Y, Y, N, P], 0, Ruling("no", "divided")),
        ([P, P, Y, Y], 0, Ruling("no", "divided")),
        ([C, C, C, Y, P], 0, Ruling("contradict", "majority")),
        ([], 0, NO_BALLOT),
    ],
)
def test_ballots_of_other_sizes(ballot, lost, found):
    assert ruling(ballot, lost) == found


# formulas


def shares(**parts: Any) -> dict[str, Any]:
    """By majority; numbers on an axis under its name with a colon."""
    found = shares_of(verdict(**parts), majority)
    return {share or f":{axis}": value for (share, axis), value in found.items()}


def ballots(*each: Sequence[str]) -> list[dict[str, Any]]:
    """Entities with such answers on correctness; `!` is a prompt that gave none."""
    return [entity("e", (0, 0), *answers) for answers in each]


def test_formulas():
    right, placed = (Y, P, N, U, Y, Y, P, U), (Y, Y, Y, N, Y, Y, Y, N)
    found = shares(
        rubric=[wanted("e", answer) for answer in (Y, Y, P, C)],
        entities=[entity("e", (0, 0), r, placed=[p]) for r, p in zip(right, placed, strict=True)],
    )
    assert found["completeness"] == 2.5 / 4
    assert found["correctness"] == 4 / 8
    assert found["consistency"] == 7 / 8
    assert found["unknown"] == 2 / 8
    assert found["supported"] == 5 / 8  # yes or partially; what is unknown is not
    assert found["alignment"] == 6 / 8
    # found: 3 of 4, the partial one too, but not what is contradicted
    assert found[":relevance"] == scaled((3 / 4 + 6 / 8) / 2)
    found = shares(rubric=[wanted("e", P), wanted("e", N)], entities=ballots([Y]))
    assert found[":relevance"] == scaled((1 / 2 + 1) / 2)


def test_what_has_no_verdict_is_left_out():
    found = shares(entities=ballots([Y], ["!"], [P], ["!", "!"], [N]))
    assert found["correctness"] == 0.5
    assert found["consistency"] == pytest.approx(2 / 3)
    empty = fitted(run_of({"presence": CUT}))
    for aspect in ("completeness", "correctness"):
        learnt = empty[aspect]
        assert (learnt["identified"], learnt["entities"], learnt["prompts"]) == (False, 0, ())
    assert by_model(empty)("completeness", {"presence": CUT}) == NO_BALLOT


def test_what_is_denied_is_told_from_what_its_prompts_are_divided_on():
    """Three times unknown is not denied; yes, partially and unknown is denied by nobody."""
    known = ballots((U, U, U), (Y, P, U), (N, N, Y), (Y, Y, N), (Y, N, P), (P, P, Y))
    found = shares(entities=known)
    assert found["denied"] == 1 / 6  # no, no, yes
    assert found["divided"] == 2 / 6
    assert found["unknown"] == 1 / 6
    assert found["supported"] == 2 / 6
    assert found["consistency"] == 1 - 3 / 6
    lost = shares(entities=[*known, *ballots([Y, N, "!"])])
    assert lost["divided"] == 2 / 6  # left out, as of every share


def test_sentences_with_issues():
    issues = [(Y, N, N, N), (N, N, Y, Y), (N, N, N, N), (Y, Y, N, N), (N, N, N, N)]
    found = shares(sentences=[sentence((0, 0), *answers) for answers in issues])
    assert found["readability"] == pytest.approx(1 - 3 / 5)
    assert found[":coherence"] == pytest.approx(scaled(1 - 2 / 5))
    assert found[":fluency"] == pytest.approx(scaled(1 - 1 / 5))
    lost = [(N, N, Y, "!"), (N, N, "!", N), (N, N, N, N), (N, N, N)]  # the last has no spelling
    found = shares(sentences=[sentence((0, 0), *answers) for answers in lost])
    assert found[":fluency"] == scaled(1 - 1 / 2)


@pytest.mark.parametrize(("part", "rating"), [(0, 1), (0.25, 2), (0.5, 3), (0.625, 3.5), (1, 5)])
def test_scaled(part, rating):
    assert scaled(part) == rating


def test_nothing_to_count_is_a_reason():
    none = shares()
    no_entities, no_rubric = "the text has no entities", "the rubric has no entities"
    of_entities = ("correctness", "consistency", "supported", "unknown", "denied", "divided",
                   "alignment")  # fmt: skip
    assert [none[name].reason for name in of_entities] == [no_entities] * 7
    assert none["completeness"].reason == none[":relevance"].reason == no_rubric
    assert none["readability"].reason == "the text has no sentences"
    assert shares(rubric=[wanted("e", Y)])[":relevance"].reason == no_entities
    assert shares(entities=ballots([Y]))[":relevance"].reason == no_rubric
    all_lost = shares(
        rubric=[wanted("e", "!")],
        entities=[entity("e", (0, 0), "!", placed=["!"])],
        sentences=[sentence((0, 0), "!")],
    )
    assert {share.reason for share in all_lost.values()} == {"no verdict on any entity or sentence"}


DRAWN = st.lists(st.sampled_from(OPTIONS["correctness"]), min_size=1, max_size=5)


@given(st.lists(DRAWN, min_size=1))
def test_every_entity_is_supported_unknown_denied_or_divided(drawn):
    found = shares(entities=ballots(*drawn))
    confirmed = found["supported"] + found["unknown"]
    assert confirmed + found["denied"] + found["divided"] == pytest.approx(1)
    assert confirmed == pytest.approx(found["consistency"])


# patterns of votes, and what they mean


def votes(given: Given) -> dict[str, Any]:
    return {prompt: {"answer": answer, "reason": ""} for prompt, answer in given.items()}


def run_of(*rubric: Mapping[str, Any], right: Sequence[Mapping[str, Any]] = ()) -> Verdict:
    """By the votes on completeness and on correctness."""
    placed: Any = {"alignment": {}}
    entities = [{"correctness": one} | placed for one in right]
    return verdict(rubric=[{"votes": one} for one in rubric], entities=entities)


def simulated(items: int, seed: int) -> list[Given]:
    """Answers of a good prompt, a fair one, and one that hardly looks; some of them are lost."""
    random = Random(seed)

    def voted(true: Answer, right: float) -> Answer:
        others = [label for label in LABELS if label != true]
        return true if random.random() < right else random.choice(others)

    truth = random.choices(LABELS, [0.55, 0.25, 0.05, 0.15], k=items)
    every: list[Given] = [
        {
            "coverage": voted(true, 0.9),
            "presence": voted(true, 0.75),
            "support": "yes" if random.random() < 0.8 else voted(true, 0.75),
        }
        for true in truth
    ]
    return [{p: a for p, a in one.items() if random.random() < 0.85} for one in every]


def test_patterns_are_counted_over_all_verdicts():
    run = [
        run_of(
            {"support": {"answer": "no", "p": {"no": 0.7}}, "presence": {"answer": "yes"}},
            {"presence": {"answer": "yes"}, "support": {"answer": "no", "reason": "so"}},
            {"presence": CUT, "support": {"answer": "partially"}},
            {"presence": CUT, "support": CUT},
            {"presence": {"answer": "unknown"}, "support": {"answer": "YES"}},
            right=[{"facts": {"answer": "unknown"}, "details": {"answer": "contradict"}}],
        ),
        replace(run_of(votes({"presence": "yes"})), status="unscored", reason="died"),
        run_of({"coverage": {"answer": "yes"}}),
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


@pytest.mark.parametrize("given", [{"a": "yes", "b": "no"}, {"a": "no", "b": "yes"}])
def test_equally_likely_verdicts_are_the_ballots(given):
    """Divided ballots are no."""
    alike: Mapping[Answer, Mapping[Answer, float]] = {
        "yes": {"yes": 0.7, "no": 0.3},
        "no": {"yes": 0.3, "no": 0.7},
    }
    even: Mapping[Answer, float] = {"yes": 0.5, "no": 0.5}
    model = AspectModel(True, True, 2, ("yes", "no"), ("a", "b"), even, {"a": alike, "b": alike})
    assert model.chances(given) == pytest.approx(even)
    assert model.of(given) == "no"


def fitted(one: Verdict) -> Mapping[str, Any]:
    """What thirty verdicts that are the same teach."""
    models = model_votes(patterns([one] * 30))
    return {aspect: asdict(model) for aspect, model in models.items()}


def test_is_what_the_repeated_rows_give():
    """The same from the run's votes themselves, one row an entity, and their posterior."""
    given = [one for one in simulated(400, seed=5) if one]
    run = [run_of(*map(votes, given[n : n + 10])) for n in range(0, len(given), 10)]
    mine = model_votes(patterns(run))["completeness"]
    rows = [[LABELS.index(one[p]) if p in one else -1 for p in PROMPTS] for one in given]
    assert any(-1 in row for row in rows)
    theirs = dawid_skene(rows, 4)
    assert (mine.identified, mine.converged, mine.entities) == (True, True, len(rows))
    assert mine.prompts == PROMPTS
    assert mine.of({}) == NO_BALLOT
    assert list(mine.shares.values()) == pytest.approx(theirs.shares.tolist(), rel=1e-7)
    confusions = [
        [[mine.confusions[p][true][said] for said in LABELS] for true in LABELS] for p in PROMPTS
    ]
    np.testing.assert_allclose(confusions, theirs.confusions, rtol=1e-7)
    for one, posterior in zip(given, theirs.posterior, strict=True):
        chances, said = mine.chances(one), mine.of(one)
        np.testing.assert_allclose(list(chances.values()), posterior, rtol=1e-6, atol=1e-12)
        assert not isinstance(said, Failed)
        assert chances[said] == max(chances.values())


def test_two_answers_an_entity_identify_nothing():
    given: list[Given] = [{"facts": "yes", "details": "no"}, {"details": "yes", "evidence": "yes"}]
    model = fitted(run_of(right=[votes(one) for one in given]))
    assert model["correctness"] == {
        "identified": False, "converged": False, "entities": 60,
        "labels": ("yes", "no", "partially", "unknown"),
        "prompts": ("details", "evidence", "facts"), "shares": {}, "confusions": {},
    }  # fmt: skip
    assert by_model(model)("correctness", votes(given[0])) == DIVIDED_BY_LOSS
    assert by_model(model)("correctness", votes(given[1])) == "yes"
    exception: Given = {"facts": "partially", "details": "partially", "evidence": "yes"}
    assert by_model(model)("correctness", votes(exception)) == "yes"
