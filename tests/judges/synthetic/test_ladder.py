"""The layout `ladder`: what a prompt shows and asks, on scripted judges that read the prompt."""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from math import exp
from typing import Any, NamedTuple

import pytest

from evaljudge.engines.scripted import Scripted
from evaljudge.judges.shared.scale import ratings
from evaljudge.judges.synthetic.judge import Synthetic
from evaljudge.model.asks import Options, Prompt
from evaljudge.records import Brief, Candidate, Case, Document, Verdict
from tests.judges.synthetic.builders import briefs
from tests.judges.synthetic.builders import judge as plain_judge

CASE = Case(
    Document("d1", "The river rose."),
    (Candidate("A", "level 2.5"), Candidate("B", "level 4"), Candidate("C", " ")),
)

TILT = 0.7
"""By how much the scripted judge prefers what is named first, in the exponent."""


class Question(NamedTuple):
    shown: tuple[float, ...]
    """The levels of the numbered references."""
    target: float
    number: int
    exchanged: bool


def question(prompt: Prompt) -> Question:
    texts = re.findall(r"<(reference|target)>\nlevel ([\d.]+)\n</", prompt.text)
    shown = tuple(float(level) for marker, level in texts if marker == "reference")
    (target,) = (float(level) for marker, level in texts if marker == "target")
    last = prompt.text.rpartition("</target>")[2]
    (number,) = map(int, re.findall(r"\d", last))
    return Question(shown, target, number, last.strip().startswith("Reference"))


class Reads:
    """Answers by the levels that it reads in the prompt, with a tilt to what is named first."""

    def __init__(self) -> None:
        self.asked: list[Question] = []

    def __call__(self, prompt: Prompt, options: Options) -> Mapping[str, float]:
        asked = question(prompt)
        self.asked.append(asked)
        gap = asked.target - asked.shown[asked.number - 1]
        first = (-gap if asked.exchanged else gap) + TILT
        return {"Better": first - 5, "Worse": -first - 5, "Similar": -5.0}


def judge(levels: int = 5, axes: Sequence[str] = ("fluency",), **settings: Any) -> Synthetic:
    return plain_judge(axes, **{"layout": "ladder", "levels": levels, **settings})


def judged(
    one: Synthetic, known: Sequence[Brief], case: Case = CASE
) -> tuple[dict[str, Verdict], Verdict, Reads]:
    """The verdicts by system, the checks, and what was asked."""
    reads = Reads()
    found = asyncio.run(one.verdicts(case, known, Scripted(chooses=reads)))
    return {v.system: v for v in found.verdicts}, found.checks[0], reads


def test_each_candidate_is_asked_about_by_the_number_of_each_reference():
    verdicts, _, reads = judged(judge(), briefs())
    asked = Counter((q.target, q.shown[q.number - 1], q.exchanged) for q in reads.asked)
    assert asked == {(t, r, False): 1 for t in (2.5, 4.0) for r in ratings(5)}
    assert verdicts["C"].reason == "empty text"
    for level in verdicts["A"].evidence["levels"]:
        p, first = level["logprobs"], 2.5 - level["rating"] + TILT
        assert p["Better"] - p["Worse"] == pytest.approx(2 * first)


def test_all_candidates_of_a_document_and_axis_see_one_order():
    axes = ("fluency", "relevance")
    known = [brief for axis in axes for brief in briefs(axis=axis)]
    _, _, reads = judged(judge(axes=axes), known)
    orders = {q.shown for q in reads.asked}
    assert len(orders) == 2
    assert all(sorted(order) == ratings(5) for order in orders)


def test_both_orders_ask_about_the_same_prompt_in_two_directions():
    """The tilt to what is named first goes out of the average."""
    verdicts, _, reads = judged(judge(swap="both"), briefs())
    assert len(set(reads.asked)) == 2 * 2 * 5  # the check asks again, which a run remembers
    assert {q.exchanged for q in reads.asked} == {False, True}
    assert len({q.shown for q in reads.asked}) == 1
    one = judge(swap="both")
    scores = {(s.system, s.scorer): s.value for v in verdicts.values() for s in one.score(v)}
    gaps = [2.5 - r for r in ratings(5)]
    expected = 0.0
    for rating, gap in zip(ratings(5), gaps, strict=True):
        weights = [exp(x) for x in (gap, -gap, 0.0)]
        expected += rating * (weights[0] - weights[1]) / sum(weights)
    assert scores["A", "synthetic"] == pytest.approx(expected)


def test_neighbours_are_compared_within_the_ladder():
    checks = {"neighbours": 1, "exchanged": 0}
    _, found, reads = judged(judge(checks=checks), briefs(missing=[3.0]))
    steps = [(q.shown[q.number - 1], q.target) for q in reads.asked]
    assert steps == [(1.0, 2.0), (4.0, 5.0)]
    assert all(sorted(q.shown) == [1, 2, 4, 5] for q in reads.asked)
    assert [step["better"] for step in found.evidence["neighbours"]] == [2.0, 5.0]
