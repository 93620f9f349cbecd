"""What each form reads from its replies: by hand, at the edges, and by laws."""

from __future__ import annotations

from math import inf, log

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaljudge.judges.synthetic.evidence import COMPARE, YES_NO, Form, answers_of
from evaljudge.model.asks import Chosen
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


def swapped(p: Answers) -> Answers:
    return answers(p["Worse"], p["Better"], p["Similar"])


# by hand


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
def test_one_question_is_read_by_its_shares(
    replies: list[Chosen], read: tuple[float, float, float]
) -> None:
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
def test_two_questions_are_read_together(
    better: float, worse: float, read: tuple[float, float, float]
) -> None:
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
def test_two_orders_of_one_question(
    here: list[Chosen], exchanged: list[Chosen], read: tuple[float, float, float]
) -> None:
    assert both(COMPARE, here, exchanged) == pytest.approx(answers(*read), abs=2e-4)


def test_two_orders_of_two_questions() -> None:
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
def test_orders_that_exclude_each_other_say_nothing(
    form: Form, here: list[Chosen], exchanged: list[Chosen]
) -> None:
    logs = (form.logs([form.evidence(order)]) for order in (here, exchanged))
    assert form.averaged(*logs).max(axis=2).min() == -inf


# laws

LOGS = st.floats(-40, 0)
ONE = st.tuples(LOGS, LOGS, LOGS).map(
    lambda v: [Chosen(dict(zip(COMPARE.options.names, v, strict=True)))]
)
ANSWER = st.tuples(LOGS, LOGS).map(lambda v: Chosen({"Yes": v[0], "No": v[1]}))
TWO = st.tuples(ANSWER, ANSWER).map(list)
CHANCE = st.floats(0, 1)
QUESTIONS = [(COMPARE, ONE), (YES_NO, TWO)]


@given(CHANCE, CHANCE)
def test_better_less_worse_is_yes_less_yes(better: float, worse: float) -> None:
    read = reading(YES_NO, asked_both(better, worse))
    assert read["Better"] - read["Worse"] == pytest.approx(better - worse, abs=1e-12)


@pytest.mark.parametrize(("form", "replies"), QUESTIONS)
@given(drawn=st.data())
def test_the_exchanged_pair_is_read_as_the_mirror_image(
    form: Form, replies: st.SearchStrategy[list[Chosen]], drawn: st.DataObject
) -> None:
    here, there = drawn.draw(replies), drawn.draw(replies)
    turned = swapped(both(form, there, here))
    assert both(form, here, there) == pytest.approx(turned, abs=1e-12)
