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
from itertools import chain, islice
from math import isnan, nan
from operator import itemgetter
from typing import Any, TypedDict

import numpy as np

from evaljudge.judges.synthetic.comparing import BETTER, COMPARE, SIMILAR, WORSE, YES_NO
from evaljudge.judges.synthetic.equations import ComparedTexts, Floats

Level = Mapping[str, Any]
Answers = Mapping[str, float]
ANSWERS = BETTER, WORSE, SIMILAR
_IN_ORDER = itemgetter(*ANSWERS)


def answers_of(levels: Iterable[Level]) -> list[Answers]:
    """Of each level p(Better), p(Worse), p(Similar)."""
    rows = read_levels(list(levels))[0].tolist()
    return [dict(zip(ANSWERS, row, strict=True)) for row in rows]


def compared_texts(texts: Sequence[Sequence[Level]]) -> ComparedTexts:
    """Of texts that were all compared with references of the same ratings, in the same order."""
    ratings = np.array([level["rating"] for level in texts[0]])
    order = np.argsort(ratings, kind="stable")
    p, _ = read_levels(list(chain.from_iterable(texts)))
    p = p.reshape(len(texts), len(ratings), len(ANSWERS))
    return ComparedTexts(tuple(ratings[order].tolist()), p[:, order])


def read_levels(levels: Sequence[Level]) -> tuple[Floats, Floats]:
    """Of each level p(Better), p(Worse), p(Similar) in a row; and the probability that the options
    hold together, on average over the replies. Many levels at once, since a shard has many."""
    p, mass = np.empty((len(levels), len(ANSWERS))), np.empty(len(levels))
    alike: dict[tuple[bool, bool, bool], list[int]] = {}
    for at, level in enumerate(levels):
        kind = "p" in level, "logprobs" in level, "exchanged" in level
        alike.setdefault(kind, []).append(at)
    for (is_read, is_one_question, is_exchanged), places in alike.items():
        own = [levels[at] for at in places]
        if is_read:
            p[places] = [_IN_ORDER(level["p"]) for level in own]
            mass[places] = [level.get("mass", nan) for level in own]
            continue
        form = COMPARE if is_one_question else YES_NO
        logs = form.logs(own)
        mass[places] = np.exp(logs).sum(axis=2).mean(axis=1)
        if is_exchanged:
            turned = form.logs([level["exchanged"] for level in own])
            mass[places] = (mass[places] + np.exp(turned).sum(axis=2).mean(axis=1)) / 2
            logs = form.averaged(logs, turned)
        p[places] = form.probabilities(logs)
    return p, mass


# columns of a table


class AnswerColumns(TypedDict):
    better: float
    worse: float
    similar: float


class LevelColumns(TypedDict):
    """One comparison with a reference; `mass` is null where it is not known."""

    rating: float
    p: AnswerColumns
    mass: float | None
    inferred: bool


class SyntheticColumns(TypedDict):
    levels: list[LevelColumns]


class ReferenceColumns(TypedDict):
    rating: float
    text: str | None


def verdict_columns(evidence: Sequence[Mapping[str, Any]]) -> list[SyntheticColumns]:
    levels = list(chain.from_iterable(text["levels"] for text in evidence))
    p, mass = read_levels(levels)
    columns = (
        LevelColumns(
            rating=level["rating"],
            p={"better": better, "worse": worse, "similar": similar},
            mass=None if isnan(of) else of,
            inferred="inferred" in level,
        )
        for level, (better, worse, similar), of in zip(
            levels, p.tolist(), mass.tolist(), strict=True
        )
    )
    return [{"levels": list(islice(columns, len(text["levels"])))} for text in evidence]
