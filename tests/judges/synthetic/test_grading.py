"""Grading in truth: a run's references, read by the world's oracle."""

from __future__ import annotations

from pathlib import Path
from random import Random

from evaljudge.bundled.world import Report, graded, make_report, spelt
from evaljudge.judges.synthetic.grading import GradedRow, graded_in_truth
from evaljudge.records import Brief, Candidate, Case, Document
from evaljudge.storage import Output, Shard

SHARD = Shard(0, 2, 2)
REPORTS = [make_report(Random(n), "test") for n in range(2)]


def made(tmp_path: Path, sources: list[str], briefs: list[Brief]) -> Output:
    output = Output(str(tmp_path), run="r")
    cases = [
        Case(Document(f"d{n}", source), (Candidate("s", "text"),))
        for n, source in enumerate(sources)
    ]
    output.write_cases(SHARD, cases)
    output.write_briefs("synthetic", SHARD, briefs)
    return output


def brief(number: int, rating: float, true: int, report: Report | None = None) -> Brief:
    """A reference that was to be of this rating, and truly is of that level."""
    text = spelt(graded(report or REPORTS[number], "fluency", true))
    return Brief(f"d{number}", f"{number}{rating}", "synthetic", "fluency", f"{rating:g}",
                 {"rating": rating, "text": text})  # fmt: skip


def test_documents_are_counted_that_rise_and_that_fall(tmp_path: Path) -> None:
    levels = {0: [1, 2, 3, 3, 5], 1: [1, 2, 4, 3, 5]}
    briefs = [
        brief(number, float(rating), true)
        for number, found in levels.items()
        for rating, true in enumerate(found, start=1)
    ]
    output = made(tmp_path, [report.text for report in REPORTS], briefs)
    means = {1.0: 1.0, 2.0: 2.0, 3.0: 3.5, 4.0: 3.0, 5.0: 5.0}
    assert graded_in_truth(output, [SHARD]) == [
        GradedRow("fluency", documents=2, inverted=1, strict=0, means=means)
    ]


def test_a_reference_that_failed_is_left_out(tmp_path: Path) -> None:
    failed = Brief("d0", "k", "synthetic", "fluency", "3", {"rating": 3.0}, "unscored", "empty")
    briefs = [brief(0, 1.0, 1), failed, brief(0, 5.0, 5)]
    output = made(tmp_path, [report.text for report in REPORTS], briefs)
    assert graded_in_truth(output, [SHARD]) == [
        GradedRow("fluency", documents=1, inverted=0, strict=1, means={1.0: 1.0, 5.0: 5.0})
    ]


def test_of_other_documents_nothing_is_said(tmp_path: Path) -> None:
    output = made(tmp_path, ["The river rose.", "The council met."], [brief(0, 1.0, 1)])
    assert graded_in_truth(output, [SHARD]) == []
