"""Answers, references and judges that the tests of `synthetic` share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from evaljudge.judges.shared.scale import named, ratings
from evaljudge.judges.synthetic.judge import Synthetic
from evaljudge.prompts import load_task
from evaljudge.records import Brief

Answers = dict[str, float]


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
