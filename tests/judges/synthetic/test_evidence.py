"""What is read from stored evidence is what earlier versions stored, to the last digit."""

from __future__ import annotations

import json
from math import exp, fsum, inf
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaljudge.judges.synthetic.evidence import (
    COMPARE,
    YES_NO,
    Form,
    answers_of,
    compared_texts,
    read_levels,
)
from evaljudge.judges.synthetic.judge import Synthetic
from evaljudge.judges.synthetic.validity import _of_candidates
from evaljudge.model.asks import Chosen, add_in_logs
from evaljudge.prompts import load_task
from evaljudge.records import Verdict

Logs = dict[str, float]
Level = dict[str, Any]
ANSWERS = ("Better", "Worse", "Similar")


def normalised(logs: Logs) -> Logs:
    total = add_in_logs(logs.values())
    return {name: value - total for name, value in logs.items()}


def p_of(replies: list[Logs]) -> Logs:
    """The equations of `p` as earlier versions stored it, from normalised log-probabilities."""
    if len(replies) == 1:
        return {name: exp(replies[0][name]) for name in ANSWERS}
    (yes, no), (yes_worse, no_worse) = ((exp(one["Yes"]), exp(one["No"])) for one in replies)
    both = yes * yes_worse + no * no_worse
    return {"Better": yes * no_worse, "Worse": yes_worse * no, "Similar": both}


def turned(replies: list[Logs]) -> list[Logs]:
    if len(replies) == 2:
        return replies[::-1]
    (one,) = replies
    return [{"Better": one["Worse"], "Worse": one["Better"], "Similar": one["Similar"]}]


def stored_before(usual: list[Logs], exchanged: list[Logs]) -> tuple[Logs, float]:
    """`p` and `mass`, which earlier versions stored."""
    read, replies = [normalised(one) for one in usual], [*usual, *exchanged]
    if exchanged:
        there = turned([normalised(one) for one in exchanged])
        read = [
            normalised({name: (one[name] + other[name]) / 2 for name in one})
            for one, other in zip(read, there, strict=True)
        ]
    mass = fsum(fsum(map(exp, one.values())) for one in replies) / len(replies)
    return p_of(read), mass


def level_of(form: Form, usual: list[Logs], exchanged: list[Logs], rating: float = 1) -> Level:
    """As it comes back from a file."""
    level = {"rating": rating, **form.evidence([Chosen(one) for one in usual])}
    if exchanged:
        level["exchanged"] = form.evidence([Chosen(one) for one in exchanged])
    read: Level = json.loads(json.dumps(level))
    return read


@st.composite
def levels(draw: st.DrawFn) -> tuple[Level, Logs, float]:
    """A level of any kind, and what earlier versions stored beside it."""
    form, both = draw(st.sampled_from([COMPARE, YES_NO])), draw(st.booleans())
    log = st.floats(-700, 0) | st.floats(-3, 0) | (st.just(-inf) if not both else st.nothing())
    reply = st.fixed_dictionaries(dict.fromkeys(form.options.names, log)).filter(
        lambda logs: max(logs.values()) > -inf
    )
    replies = st.lists(reply, min_size=len(form.words), max_size=len(form.words))
    usual, exchanged = draw(replies), draw(replies) if both else []
    return level_of(form, usual, exchanged), *stored_before(usual, exchanged)


@given(st.lists(levels(), max_size=8))
def test_what_follows_is_what_was_stored_to_the_last_digit(
    drawn: list[tuple[Level, Logs, float]],
) -> None:
    stored = [level for level, _, _ in drawn]
    assert answers_of(stored) == [p for _, p, _ in drawn]
    assert read_levels(stored)[1] == pytest.approx([mass for *_, mass in drawn], rel=1e-14)


# folders of earlier versions

OLD = {"Better": 0.5, "Worse": 0.25, "Similar": 0.25}
"""Unlike what the log-probabilities beside it say, so that the tests see what is read."""
LOGS = {"Better": -0.4, "Worse": -1.9, "Similar": -2.3}


def old_level(rating: float) -> Level:
    return {"rating": rating, "p": OLD, "mass": 0.75, "logprobs": LOGS}


def old_level_of_two_questions(rating: float) -> Level:
    question = {"p": {"Yes": 0.5, "No": 0.5}, "mass": 1.0, "logprobs": {"Yes": -0.1, "No": -3.0}}
    return {"rating": rating, "better": question, "worse": question, "p": OLD, "mass": 0.75}


@pytest.mark.parametrize("old", [old_level, old_level_of_two_questions])
def test_evidence_of_earlier_versions_is_read_as_it_was(old: Any) -> None:
    assert answers_of([old(1.0)]) == [OLD]
    assert read_levels([old(1.0)])[1] == 0.75
    judge = Synthetic({}, load_task("summary"))
    stored = [old(rating) for rating in (1.0, 2.0, 3.0, 4.0, 5.0)]
    score = judge.score(Verdict("d", "A", "synthetic", "fluency", {"levels": stored}))[0]
    assert score.value == 15 * 0.25


def test_a_folder_may_hold_evidence_of_both_kinds() -> None:
    """A run that was resumed with this version."""
    old = [old_level(rating) for rating in (1.0, 3.0, 5.0)]
    new = [level_of(COMPARE, [LOGS], [], rating) for rating in (1.0, 3.0, 5.0)]
    p, mass = stored_before([LOGS], [])
    judge = Synthetic({"levels": 3}, load_task("summary"))
    verdicts = [
        Verdict("d", system, "synthetic", "fluency", {"levels": levels})
        for system, levels in (("A", old), ("B", new), ("C", [*old[:2], new[2]]))
    ]
    found = {s.system: s.value for s in judge.scores(verdicts) if s.scorer == "synthetic"}
    step = p["Better"] - p["Worse"]
    assert found == pytest.approx({"A": 9 * 0.25, "B": 9 * step, "C": 4 * 0.25 + 5 * step})
    sums = _of_candidates([verdict.evidence["levels"] for verdict in verdicts])
    assert sums["mass"] == pytest.approx(5 * 0.75 + 4 * mass)


def test_what_was_inferred_is_stored() -> None:
    inferred = {"rating": 1.0, "p": OLD, "inferred": [0.2, 0.3]}
    asked = level_of(COMPARE, [LOGS], [], 3.0)
    p = stored_before([LOGS], [])[0]
    assert answers_of([inferred, asked]) == [OLD, p]
    texts = compared_texts([[asked, inferred]])
    assert texts.ratings == (1.0, 3.0)
    assert texts.p.tolist() == [[list(OLD.values()), [p[name] for name in ANSWERS]]]
