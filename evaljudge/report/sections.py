"""The report's sections beside the agreement itself, in their order; those without rows are left
out.

    sections(findings)            # for Markdown and the page
    sections_in_short(findings)   # for a terminal
"""

from __future__ import annotations

from collections.abc import Iterable

from evaljudge.analysis.findings import Findings
from evaljudge.report.axes import axes, axes_in_short
from evaljudge.report.best import best, best_in_short
from evaljudge.report.cost import cost
from evaljudge.report.outliers import without_outliers, without_outliers_in_short
from evaljudge.report.people import people, scorers_labels
from evaljudge.sections import Section


def sections(findings: Findings) -> list[Section]:
    first = [without_outliers(findings), best(findings)]
    others = [axes(findings), people(findings), scorers_labels(findings), cost(findings)]
    return _present([*first, *findings.judged.sections, *others])


def sections_in_short(findings: Findings) -> list[Section]:
    first = [without_outliers_in_short(findings), best_in_short(findings)]
    others = [axes_in_short(findings), people(findings), scorers_labels(findings), cost(findings)]
    return _present([*first, *findings.judged.sections, *others])


def _present(made: Iterable[Section]) -> list[Section]:
    return [section for section in made if any(table.rows for table in section.tables)]
