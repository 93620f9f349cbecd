"""The report's sections beside the agreement itself, in their order; those without rows are left
out.

    sections(findings)            # for Markdown and the page
    sections_in_short(findings)   # for a terminal
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from evaljudge.report.axes import axes, axes_in_short
from evaljudge.report.best import best, best_in_short
from evaljudge.report.findings import Findings
from evaljudge.report.graded import graded
from evaljudge.report.people import people, scorers_labels
from evaljudge.report.tables import Section

Sections = Sequence[Callable[[Findings], Section]]


def sections(findings: Findings) -> list[Section]:
    return _present(findings, [best, graded, axes, people, scorers_labels])


def sections_in_short(findings: Findings) -> list[Section]:
    return _present(findings, [best_in_short, graded, axes_in_short, people, scorers_labels])


def _present(findings: Findings, wanted: Sections) -> list[Section]:
    made = [section(findings) for section in wanted]
    return [section for section in made if any(table.rows for table in section.tables)]
