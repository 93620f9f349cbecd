"""The synthetic judge: its arithmetic by hand, its asks and failures on a scripted model."""

from __future__ import annotations

from typing import Any

import pytest

from evaljudge.engines.scripted import Scripted
from evaljudge.judges.shared.scale import neighbours, ratings, rounds
from evaljudge.judges.synthetic.equations import (
    UNDECIDED,
    ideal_sums,
    level_of_sum,
    weighted_sum,
)
from evaljudge.judges.synthetic.judge import Synthetic
from evaljudge.model.asks import Failed, Prompt, Sample, Writing, Written
from evaljudge.prompts import load_task
from tests.judges.builders import briefs_of, verdicts_of
from tests.judges.synthetic.builders import stacked

NO_LOOK = {"neighbours": 0, "exchanged": 0}


def judge(task: str = "summary", axes: list[str] | None = None, **settings: Any) -> Synthetic:
    """One that does not look at itself, unless the settings say so."""
    chosen = axes or ["fluency"] if task == "summary" else axes
    return Synthetic({"checks": NO_LOOK} | settings, load_task(task, chosen))


# arithmetic


@pytest.mark.parametrize(
    ("levels", "sums"),
    [
        (2, [-5, 1]),
        (3, [-8, -4, 4]),
        (5, [-14, -11, -6, 1, 10]),
        (9, [-26, -23.5, -20, -15.5, -10, -3.5, 4, 12.5, 22]),
    ],
)
def test_an_ideal_judges_sums_have_the_levels_of_the_texts(levels, sums):
    scale = ratings(levels)
    answers = [["Worse" if r > mine else "Better" if r < mine else "Similar" for r in scale]
               for mine in scale]  # fmt: skip
    ideal = stacked([
        [(r, dict.fromkeys(UNDECIDED, 0.0) | {answer: 1.0})
         for r, answer in zip(scale, row, strict=True)]
        for row in answers
    ])  # fmt: skip
    assert ideal_sums(scale) == weighted_sum(ideal).tolist() == sums
    assert level_of_sum(ideal).tolist() == scale


# stage one


def test_rounds_need_only_those_before():
    assert rounds(ratings(9)) == [[1, 5], [3], [2, 4], [1.5, 2.5, 3.5, 4.5]]
    assert neighbours(3) == (1, 5)
    assert neighbours(4) == (3, 5)
    assert neighbours(1.5) == (1, 2)


def test_each_level_is_written_between_its_neighbours():
    asked: list[str] = []

    def write(prompt: Prompt, how: Writing) -> str:
        asked.append(prompt.text)
        return f"reply {len(asked)}"

    briefs = briefs_of(judge(), Scripted(writes=write))
    assert [b.part for b in briefs] == ["1", "5", "3", "2", "4"]
    assert [b.content["text"] for b in briefs] == [f"reply {n}" for n in range(1, 6)]
    assert "Write the worst summary" in asked[0]
    assert "Write the best summary" in asked[1]
    between = [(t.split("<worse>\n")[1].split("\n")[0], t.split("<better>\n")[1].split("\n")[0])
               for t in asked[2:]]  # fmt: skip
    assert between == [("reply 1", "reply 2"), ("reply 1", "reply 3"), ("reply 3", "reply 2")]


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (Failed("prompt of 9000 tokens leaves no room"), "prompt of 9000 tokens leaves no room"),
        (Written((Sample("half a", "length"),)), "the reply was cut at its token limit"),
        (Written((Sample(" \n", "stop"),)), "the reply was empty"),
    ],
)
def test_a_reference_that_fails_takes_its_inner_levels_along(reply, reason):
    class Worst(Scripted):
        async def write(self, prompts: Any, how: Writing) -> list[Written | Failed]:
            fine = await super().write(prompts, how)
            return [reply if "the worst summary" in p.text else f
                    for p, f in zip(prompts, fine, strict=True)]  # fmt: skip

    briefs = briefs_of(judge(), Worst())
    assert {b.part: b.reason for b in briefs} == {
        "1": reason, "5": "", "3": reason, "2": reason, "4": reason,
    }  # fmt: skip
    verdict = verdicts_of(judge(), briefs, Scripted())["A"]
    assert verdict.status == "unscored"
    assert verdict.reason == f"no reference of level 1 on fluency: {reason}"
    assert {s.scorer: s.value for s in judge().score(verdict)} == dict.fromkeys(judge().scorers)
