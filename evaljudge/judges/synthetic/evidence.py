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
from math import exp, fsum
from typing import Any

from evaljudge.judges.synthetic.comparing import COMPARE, YES_NO, Form

Level = Mapping[str, Any]
Answers = Mapping[str, float]


def answers_of(levels: Iterable[Level]) -> list[Answers]:
    """Of each level p(Better), p(Worse), p(Similar); fast, since a shard has many."""
    every = list(levels)
    found: list[Answers] = [level.get("p", {}) for level in every]
    alike: dict[tuple[bool, bool], list[int]] = {}
    for at, level in enumerate(every):
        if "p" not in level:
            alike.setdefault(("logprobs" in level, "exchanged" in level), []).append(at)
    for (_, is_exchanged), places in alike.items():
        own = [every[at] for at in places]
        form = _form(own[0])
        logs = form.logs(own)
        if is_exchanged:
            logs = form.averaged(logs, form.logs([level["exchanged"] for level in own]))
        for at, answers in zip(places, form.readings(logs), strict=True):
            found[at] = answers
    return found


def comparisons_of(texts: Sequence[Sequence[Level]]) -> list[list[tuple[float, Answers]]]:
    """Of each text, which was compared with these levels, the ratings and the answers."""
    answers = iter(answers_of(level for text in texts for level in text))
    return [[(level["rating"], next(answers)) for level in text] for text in texts]


def mass_of(level: Level) -> float:
    """The probability that the options hold together, on average over the replies."""
    if "mass" in level:
        return float(level["mass"])
    form = _form(level)
    orders = [level, level["exchanged"]] if "exchanged" in level else [level]
    replies = [reply["logprobs"] for order in orders for reply in form.replies(order)]
    return fsum(fsum(map(exp, logs.values())) for logs in replies) / len(replies)


def _form(level: Level) -> Form:
    return COMPARE if "logprobs" in level else YES_NO
