"""The report's sections beside the agreement itself, in their order; those without rows are left
out.

    sections(findings)            # for Markdown and the page
    sections_in_short(findings)   # for a terminal
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from evaljudge.analysis.findings import Findings
from evaljudge.report.axes import axes, axes_in_short
from evaljudge.report.best import best, best_in_short
from evaljudge.report.cost import cost
from evaljudge.report.entities import entities, entity_agreement
from evaljudge.report.graded import graded
from evaljudge.report.outliers import without_outliers, without_outliers_in_short
from evaljudge.report.people import people, scorers_labels
from evaljudge.report.roles import roles
from evaljudge.report.validity import validity
from evaljudge.sections import Section

Sections = Sequence[Callable[[Findings], Section]]


def sections(findings: Findings) -> list[Section]:
    first = [without_outliers, best, graded, validity, entities, entity_agreement, roles]
    return _present(findings, [*first, axes, people, scorers_labels, cost])


def sections_in_short(findings: Findings) -> list[Section]:
    first = [without_outliers_in_short, best_in_short, graded, validity]
    others = [entities, entity_agreement, roles, axes_in_short, people, scorers_labels, cost]
    return _present(findings, [*first, *others])


def _present(findings: Findings, wanted: Sections) -> list[Section]:
    made = [section(findings) for section in wanted]
    return [section for section in made if any(table.rows for table in section.tables)]
