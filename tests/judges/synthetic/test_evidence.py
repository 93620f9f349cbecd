"""What each form reads from its replies: by hand, by laws."""

from __future__ import annotations

import json
from math import exp, fsum, inf, log
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
from evaljudge.model.asks import Chosen, add_in_logs
from tests.judges.synthetic.builders import Answers, answers


def log_of(p: float) -> float:
    return log(p) if p else -inf


def compared(better: float, worse: float, similar: float) -> list[Chosen]:
    """Weights, which need not add up to 1."""
    weights = {"Better": better, "Worse": worse, "Similar": similar}
    return [Chosen({name: log_of(weight) for name, weight in weights.items()})]


def yes(p: float, of: float = 1.0) -> Chosen:
    return Chosen({"Yes": log_of(p * of), "No": log_of((1 - p) * of)})


def asked_both(better: float, worse: float) -> list[Chosen]:
    return [yes(better), yes(worse)]


def reading(form: Form, replies: list[Chosen]) -> Answers:
    return dict(answers_of([form.evidence(replies)])[0])


def both(form: Form, here: list[Chosen], there: list[Chosen]) -> Answers:
    level = {**form.evidence(here), "exchanged": form.evidence(there)}
    return dict(answers_of([level])[0])


# by hand


def test_the_example_of_an_answer_follows_the_question_and_the_order():
    assert [COMPARE.example({}, turned) for turned in (False, True)] == ["Better", "Worse"]
    yes_no = [
        YES_NO.example({"relation": relation}, turned)
        for relation in ("better", "worse")
        for turned in (False, True)
    ]
    assert yes_no == ["Yes", "No", "No", "Yes"]


@pytest.mark.parametrize(
    ("replies", "read"),
    [
        (compared(0.8, 0.05, 0.15), (0.8, 0.05, 0.15)),
        (compared(0.4, 0.025, 0.075), (0.8, 0.05, 0.15)),  # half of the mass, the same shares
        (compared(1, 1, 1), (1 / 3, 1 / 3, 1 / 3)),
        (compared(0.2, 0.2, 0), (0.5, 0.5, 0)),
        (compared(0, 0, 1e-9), (0, 0, 1)),
    ],
)
def test_one_question_is_read_by_its_shares(replies, read):
    assert reading(COMPARE, replies) == pytest.approx(answers(*read))
    assert reading(COMPARE, replies) == replies[0].p


@pytest.mark.parametrize(
    ("better", "worse", "read"),
    [
        (0.9, 0.2, (0.72, 0.02, 0.26)),
        (0.5, 0.5, (0.25, 0.25, 0.5)),  # a tie
        (0.3, 0.3, (0.21, 0.21, 0.58)),
        (1.0, 0.0, (1, 0, 0)),
        (0.0, 1.0, (0, 1, 0)),
        (0.0, 0.0, (0, 0, 1)),  # neither
        (1.0, 1.0, (0, 0, 1)),  # and both: as much is said
        (1.0, 0.4, (0.6, 0, 0.4)),
    ],
)
def test_two_questions_are_read_together(better, worse, read):
    assert reading(YES_NO, asked_both(better, worse)) == pytest.approx(answers(*read))


@pytest.mark.parametrize(
    ("here", "exchanged", "read"),
    [
        # 16:1:4 and, read back, 1:4:4 make √16 : √4 : √16
        (compared(16, 1, 4), compared(4, 1, 4), (0.4, 0.2, 0.4)),
        (compared(0.8, 0.1, 0.1), compared(0.1, 0.8, 0.1), (0.8, 0.1, 0.1)),  # they agree
        (compared(16, 1, 2), compared(16, 1, 2), (0.4, 0.4, 0.2)),  # they cancel out: 4 : 4 : 2
        (compared(1, 0, 0), compared(0, 1, 0), (1, 0, 0)),
        (compared(1, 0, 0), compared(0.2, 0.1, 0.7), (1, 0, 0)),  # what one excludes is excluded
        (compared(1, 3, 0), compared(0, 4, 1), (1, 0, 0)),
        # the sample that the module opens with
        (compared(0.8, 0.05, 0.15), compared(0.1, 0.6, 0.3), (0.71, 0.0725, 0.2174)),
    ],
)
def test_two_orders_of_one_question(here, exchanged, read):
    assert both(COMPARE, here, exchanged) == pytest.approx(answers(*read), abs=2e-4)


def test_two_orders_of_two_questions():
    """Better: odds of 9, and of 1 there, make 3. Worse: odds of 1/4, and of 4 there, make 1."""
    found = both(YES_NO, asked_both(0.9, 0.2), asked_both(0.8, 0.5))
    assert found == pytest.approx(answers(0.75 * 0.5, 0.5 * 0.25, 0.5 * (0.75 + 0.25)))


@pytest.mark.parametrize(
    ("form", "here", "exchanged"),
    [
        (COMPARE, compared(1, 0, 0), compared(1, 0, 0)),
        (COMPARE, compared(1, 0, 0), compared(0, 0, 1)),
        (COMPARE, compared(1, 1, 0), compared(0, 0, 1)),
        (YES_NO, asked_both(1, 0.5), asked_both(0.5, 0)),  # better: Yes here, No there
        (YES_NO, asked_both(0.5, 0), asked_both(1, 0.5)),  # worse: No here, Yes there
    ],
)
def test_orders_that_exclude_each_other_say_nothing(form, here, exchanged):
    logs = (form.logs([form.evidence(order)]) for order in (here, exchanged))
    assert form.averaged(*logs).max(axis=2).min() == -inf


# laws


Logs = dict[str, float]
Level = dict[str, Any]
ANSWERS = ("Better", "Worse", "Similar")


def normalised(logs: Logs) -> Logs:
    total = add_in_logs(logs.values())
    return {name: value - total for name, value in logs.items()}


def p_of(replies: list[Logs]) -> Logs:
    """The equations of `p`, from normalised log-probabilities."""
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


def read_by_hand(usual: list[Logs], exchanged: list[Logs]) -> tuple[Logs, float]:
    """`p` and `mass`, one comparison at a time."""
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
    return json.loads(json.dumps(level))


@st.composite
def levels(draw: st.DrawFn) -> tuple[Level, Logs, float]:
    """A level of any kind, and what is read of it by hand."""
    form, both = draw(st.sampled_from([COMPARE, YES_NO])), draw(st.booleans())
    log = st.floats(-700, 0) | st.floats(-3, 0) | (st.just(-inf) if not both else st.nothing())
    reply = st.fixed_dictionaries(dict.fromkeys(form.options.names, log)).filter(
        lambda logs: max(logs.values()) > -inf
    )
    replies = st.lists(reply, min_size=len(form.words), max_size=len(form.words))
    usual, exchanged = draw(replies), draw(replies) if both else []
    return level_of(form, usual, exchanged), *read_by_hand(usual, exchanged)


@given(st.lists(levels(), max_size=8))
def test_many_levels_at_once_are_read_as_each_by_hand_to_the_last_digit(drawn):
    stored = [level for level, _, _ in drawn]
    assert answers_of(stored) == [p for _, p, _ in drawn]
    assert read_levels(stored)[1] == pytest.approx([mass for *_, mass in drawn], rel=1e-14)


INFERRED = {"Better": 0.5, "Worse": 0.25, "Similar": 0.25}
LOGS = {"Better": -0.4, "Worse": -1.9, "Similar": -2.3}


def test_what_was_inferred_is_stored():
    inferred = {"rating": 1.0, "p": INFERRED, "inferred": [0.2, 0.3]}
    asked = level_of(COMPARE, [LOGS], [], 3.0)
    p = read_by_hand([LOGS], [])[0]
    assert answers_of([inferred, asked]) == [INFERRED, p]
    texts = compared_texts([[asked, inferred]])
    assert texts.ratings == (1.0, 3.0)
    assert texts.p.tolist() == [[list(INFERRED.values()), [p[name] for name in ANSWERS]]]
