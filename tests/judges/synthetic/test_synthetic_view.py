"""What a terminal shows of one text: its comparisons, where it falls, and the references."""

from __future__ import annotations

from collections.abc import Sequence
from math import log
from typing import Any

from evaljudge.judges.plugin import JudgedCandidate
from evaljudge.judges.synthetic.view import (
    GONE,
    INFERRED,
    SEVERAL,
    Ladder,
    pictured_evidence,
    shown_evidence,
)
from evaljudge.records import Brief, Candidate, Verdict
from evaljudge.sections import Section
from tests.judges.synthetic import builders

SAMPLE = {int(rating): list(p.values()) for rating, p in builders.SAMPLE.items()}
PLACE = "The comparisons place the text at level 3.61 (mine.ordinal)."


def level(rating: float, p: Sequence[float]) -> dict[str, Any]:
    logs = dict(zip(("Better", "Worse", "Similar"), map(log, p), strict=True))
    return {"rating": float(rating), "logprobs": logs}


def brief(rating: int, text: str, axis: str = "fluency") -> Brief:
    return Brief("d", f"{rating}{text}", "synthetic", axis, str(rating), {"text": text})


def shown(levels: Sequence[Any], *briefs: Brief) -> Section:
    verdict = Verdict("d", "A", "mine", "fluency", {"levels": levels})
    return shown_evidence(JudgedCandidate(Candidate("A", "text"), verdict, briefs))


def test_comparisons_from_the_best_reference_down():
    briefs = [brief(rating, f"text of {rating}") for rating in SAMPLE]
    strangers = [brief(5, "of another axis", "coherence")]
    section = shown([level(*one) for one in SAMPLE.items()], *briefs, *strangers)
    assert section.tables[0].rows == [
        ["5", "Worse", "0.050", "0.200", "0.750"],
        ["4", "Worse", "0.300", "0.300", "0.400"],
        ["3", "Better", "0.550", "0.300", "0.150"],
        ["2", "Better", "0.800", "0.150", "0.050"],
        ["1", "Better", "0.900", "0.080", "0.020"],
    ]
    references = [f"Reference of level {rating}: text of {rating}" for rating in (5, 4, 3, 2, 1)]
    assert section.notes == [PLACE, *references]


def test_what_was_inferred_is_marked():
    known = {"Better": 1.0, "Worse": 0.0, "Similar": 0.0}
    levels = [level(3, SAMPLE[3]), {"rating": 1.0, "p": known, "inferred": [0.98, 1.0]}]
    section = shown(levels)
    assert [row[1] for row in section.tables[0].rows] == ["Better", "Better (inferred)"]
    assert INFERRED in section.notes


def test_references_that_are_not_known_are_not_shown():
    levels = [level(1, SAMPLE[1]), level(5, SAMPLE[5])]
    assert shown(levels, brief(1, "low")).notes[-1] == GONE
    both = shown(levels, brief(1, "low"), brief(5, "high"), brief(5, "another high"))
    assert both.notes[-1] == SEVERAL


def ladder(levels: Sequence[Any]) -> Ladder:
    verdict = Verdict("d", "A", "mine", "fluency", {"levels": levels})
    return pictured_evidence(JudgedCandidate(Candidate("A", "text"), verdict, ())).text


def test_the_page_says_how_the_bars_make_the_score():
    found = ladder([level(*one) for one in SAMPLE.items()])
    assert [rung.adds for rung in found.rungs] == ["-3.50", "-0.40", "+1.20", "+1.50", "+0.88"]
    assert found.score.startswith("mine = -0.32: the sum, over the levels, of level ×")


def test_the_nearest_reference_is_the_lowest_that_the_text_lost_to():
    assert ladder([level(*one) for one in SAMPLE.items()]).nearest.level == "4"
    assert ladder([level(r, SAMPLE[1]) for r in SAMPLE]).nearest.level == "5"
