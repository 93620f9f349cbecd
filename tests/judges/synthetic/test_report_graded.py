"""The section on references that an oracle has read: present where it knows, absent elsewhere."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from evaljudge.analysis.findings import Findings
from evaljudge.judges.collector import JudgeFindings
from evaljudge.judges.synthetic.findings import GRADED, GradedSums, graded_section
from evaljudge.report import agreement_markdown, page

SUMS = GradedSums(
    documents=40,
    inverted=4,
    strict=30,
    levels=Counter({1.0: 50, 5.0: 198}),
    texts=Counter({1.0: 40, 5.0: 40}),
)


def test_a_row_says_how_many_rise_and_what_the_levels_are() -> None:
    (table,) = graded_section({"fluency": SUMS}).tables
    assert table.heads == ["axis", "documents", "no inversion", "all rising", "true 1", "true 5"]
    assert table.rows == [["fluency", "40", "90.0%", "75.0%", "1.25", "4.95"]]


def test_a_level_that_was_never_written_has_no_figure() -> None:
    other = GradedSums(1, 0, 1, Counter({3.0: 3}), Counter({3.0: 1}))
    (table,) = graded_section({"fluency": SUMS, "relevance": other}).tables
    assert table.rows[1][-3:] == ["–", "3.00", "–"]


def test_the_page_and_the_markdown_show_it_only_where_there_is_one(
    findings: Findings,
) -> None:
    without, with_it = (
        replace(findings, judged=JudgeFindings([graded_section(sums)]))
        for sums in ({}, {"fluency": SUMS})
    )
    for write in (page, agreement_markdown):
        assert GRADED not in write(without)
        assert GRADED in write(with_it)
