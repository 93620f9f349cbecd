"""Answers, references and judges that the tests of `synthetic` share."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from math import inf, log
from typing import Any

from evaljudge.engines.scripted import Scripted
from evaljudge.judges.shared.scale import named, ratings
from evaljudge.judges.synthetic.equations import ComparedTexts
from evaljudge.judges.synthetic.evidence import compared_texts
from evaljudge.judges.synthetic.judge import Synthetic
from evaljudge.model.asks import Failed, Options, Prompt
from evaljudge.prompts import load_task
from evaljudge.records import Brief

Answers = dict[str, float]
Question = tuple[str, str, str]
"""A target, a reference, and the relation (empty where none is asked for)."""
Says = Callable[[str, str, str], Answers | Failed]
"""To a question: weights of the answers."""


def answers(better: float, worse: float, similar: float) -> Answers:
    return {"Better": better, "Worse": worse, "Similar": similar}


BETTER, WORSE, SIMILAR = answers(1, 0, 0), answers(0, 1, 0), answers(0, 0, 1)
SAMPLE = {
    1.0: answers(0.9, 0.02, 0.08),
    2.0: answers(0.8, 0.05, 0.15),
    3.0: answers(0.55, 0.15, 0.3),
    4.0: answers(0.3, 0.4, 0.3),
    5.0: answers(0.05, 0.75, 0.2),
}
"""The sample that the modules open with, by the reference's rating."""

Comparisons = Sequence[tuple[float, Answers]]


def stacked(texts: Sequence[Comparisons]) -> ComparedTexts:
    return compared_texts([[{"rating": r, "p": p} for r, p in levels] for levels in texts])


def judge(axes: Sequence[str] = ("fluency",), **settings: Any) -> Synthetic:
    """A judge that does not check itself, unless the settings say so."""
    checks = {"neighbours": 0, "exchanged": 0}
    return Synthetic({"checks": checks} | settings, load_task("summary", list(axes)))


def briefs(levels: int = 5, missing: Sequence[float] = (), axis: str = "fluency") -> list[Brief]:
    """References whose texts say their level."""
    known = ("d1", "", "synthetic", axis)
    return [
        Brief(*known, named(r), {}, "unscored", "too long")
        if r in missing
        else Brief(*known, named(r), {"text": f"level {named(r)}"})
        for r in ratings(levels)
    ]


def scripted(says: Says, asked: list[Question] | None = None) -> Scripted:
    def choose(prompt: Prompt, options: Options) -> Answers | Failed:
        target = text_in(prompt, "target|first")
        reference = text_in(prompt, "reference|second")
        relation = re.search(r"summary (better|worse) than", prompt.text.split("</second>")[-1])
        question = (target, reference, relation[1] if relation and "Yes" in options.names else "")
        if asked is not None:
            asked.append(question)
        weights = says(*question)
        if isinstance(weights, Failed):
            return weights
        return {name: log(weights[name]) if weights[name] else -inf for name in options.names}

    return Scripted(chooses=choose)


def text_in(prompt: Prompt, marker: str) -> str:
    found = re.search(rf"<(?:{marker})>\n(.*?)\n</", prompt.text)
    return found[1]
