"""The section on references that an oracle has read: present where it knows, absent elsewhere."""

from __future__ import annotations

from dataclasses import replace

from evaljudge.analysis.findings import Findings
from evaljudge.judges.collector import JudgeFindings
from evaljudge.judges.synthetic.grading import GradedRow
from evaljudge.judges.synthetic.section import GRADED, graded_section
from evaljudge.report import agreement_markdown, page

ROW = GradedRow("fluency", documents=40, inverted=4, strict=30, means={1.0: 1.25, 5.0: 4.95})


def test_a_row_says_how_many_rise_and_what_the_levels_are() -> None:
    (table,) = graded_section([ROW]).tables
    assert table.heads == ["axis", "documents", "no inversion", "all rising", "true 1", "true 5"]
    assert table.rows == [["fluency", "40", "90.0%", "75.0%", "1.25", "4.95"]]


def test_a_level_that_was_never_written_has_no_figure() -> None:
    other = GradedRow("relevance", 1, 0, 1, {3.0: 3.0})
    (table,) = graded_section([ROW, other]).tables
    assert table.rows[1][-3:] == ["–", "3.00", "–"]


def test_the_page_and_the_markdown_show_it_only_where_there_is_one(
    findings: Findings,
) -> None:
    without, with_it = (
        replace(findings, judged=JudgeFindings([graded_section(rows)])) for rows in ([], [ROW])
    )
    for write in (page, agreement_markdown):
        assert GRADED not in write(without)
        assert GRADED in write(with_it)
