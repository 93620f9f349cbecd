"""What follows from the stored evidence of one comparison: its probabilities and their mass.

    {"rating": 3, "logprobs": {"Better": -0.7, "Worse": -2.4, "Similar": -1.7}}     one question
    {"rating": 3, "better": {"logprobs": {…}}, "worse": {"logprobs": {…}}}          two questions
    {"rating": 3, "logprobs": {…}, "exchanged": {"logprobs": {…}}}                  both orders
    {"rating": 3, "p": {"Better": 0.99, …}, "inferred": [0.98, 1.0]}                not asked

Only the replies' log-probabilities are stored, since the rest follows from them exactly: here
p(Better) .66, p(Worse) .12, p(Similar) .22, and a mass of .77. Earlier versions stored `p` and
`mass` as well, which are then read as they are; a run's folder may hold evidence of both kinds.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from evaljudge.judges.synthetic.comparing import COMPARE, YES_NO, Form, mass

Level = Mapping[str, Any]
Answers = Mapping[str, float]


def answers_of(levels: Iterable[Level]) -> list[Answers]:
    """Of each level p(Better), p(Worse), p(Similar)."""
    return [_answers(level) for level in levels]


def comparisons_of(texts: Sequence[Sequence[Level]]) -> list[list[tuple[float, Answers]]]:
    """Of each text, which was compared with these levels, the ratings and the answers."""
    answers = iter(answers_of(level for text in texts for level in text))
    return [[(level["rating"], next(answers)) for level in text] for text in texts]


def _answers(level: Level) -> Answers:
    if "p" in level:
        found: Answers = level["p"]
        return found
    form = _form(level)
    usual = form.replies(level)
    if "exchanged" not in level:
        return form.reading(usual)
    read = form.both_readings(usual, form.replies(level["exchanged"]))
    assert read is not None, "orders that exclude each other leave no evidence"
    return read


def mass_of(level: Level) -> float:
    """The probability that the options hold together, on average over the replies."""
    if "mass" in level:
        return float(level["mass"])
    form = _form(level)
    orders = [level, level["exchanged"]] if "exchanged" in level else [level]
    return mass([reply for order in orders for reply in form.replies(order)])


def _form(level: Level) -> Form:
    return COMPARE if "logprobs" in level else YES_NO
