"""Grading in truth: a run's references, read by the world's oracle."""

from __future__ import annotations

from random import Random
from typing import Any

from evaljudge.bundled.world import Report, graded, make_report, spelt
from evaljudge.judges.collector import SeenShard
from evaljudge.judges.shared.scale import ratings
from evaljudge.judges.synthetic.findings import graded_sums
from evaljudge.records import Brief, Candidate, Case, Document

REPORTS = [make_report(Random(n), "test") for n in range(2)]
SOURCES = [report.text for report in REPORTS]


def made(sources: list[str], briefs: list[Brief]) -> SeenShard:
    cases = [
        Case(Document(f"d{n}", source), (Candidate("s", "text"),))
        for n, source in enumerate(sources)
    ]
    return SeenShard(cases, [], briefs=lambda: briefs)


def graded_in_truth(sources: list[str], briefs: list[Brief], levels: int = 5) -> dict[str, Any]:
    """What is said of the one axis that there are references on."""
    found = graded_sums(made(sources, briefs), ratings(levels))
    assert found is not None
    ((axis, sums),) = found.items()
    return {"axis": axis, "documents": sums.documents, "inverted": sums.inverted,
            "strict": sums.strict, "means": sums.means}  # fmt: skip


def brief(number: int, rating: float, true: int, report: Report | None = None) -> Brief:
    """A reference that was to be of this rating, and truly is of that level."""
    text = spelt(graded(report or REPORTS[number], "fluency", true))
    return Brief(f"d{number}", f"{number}{rating}", "synthetic", "fluency", f"{rating:g}",
                 {"rating": rating, "text": text})  # fmt: skip


def test_documents_are_counted_that_rise_and_that_fall() -> None:
    levels = {0: [1, 2, 3, 3, 5], 1: [1, 2, 4, 3, 5]}
    briefs = [
        brief(number, float(rating), true)
        for number, found in levels.items()
        for rating, true in enumerate(found, start=1)
    ]
    means = {1.0: 1.0, 2.0: 2.0, 3.0: 3.5, 4.0: 3.0, 5.0: 5.0}
    assert graded_in_truth(SOURCES, briefs) == {
        "axis": "fluency", "documents": 2, "inverted": 1, "strict": 0,
        "means": means,
    }  # fmt: skip


def test_a_reference_that_failed_is_left_out() -> None:
    failed = Brief("d0", "k", "synthetic", "fluency", "3", {"rating": 3.0}, "unscored", "empty")
    briefs = [brief(0, 1.0, 1), failed, brief(0, 5.0, 5)]
    assert graded_in_truth(SOURCES, briefs) == {
        "axis": "fluency", "documents": 1, "inverted": 0, "strict": 1,
        "means": {1.0: 1.0, 5.0: 5.0},
    }  # fmt: skip


def test_references_of_another_judge_s_levels_are_left_out() -> None:
    briefs = [brief(0, float(rating), true) for rating, true in ((1, 1), (2, 1), (5, 5))]
    assert graded_in_truth(SOURCES, briefs, levels=2) == {
        "axis": "fluency", "documents": 1, "inverted": 0, "strict": 1,
        "means": {1.0: 1.0, 5.0: 5.0},
    }  # fmt: skip


def test_of_other_documents_nothing_is_said() -> None:
    shard = made(["The river rose.", "The council met."], [brief(0, 1.0, 1)])
    assert graded_sums(shard, ratings(5)) is None
