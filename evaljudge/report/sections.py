"""The report's sections beside the agreement itself, in their order; those without rows are left
out. A terminal has them in short.
"""

from __future__ import annotations

from evaljudge.analysis.findings import Findings
from evaljudge.report.axes import axes
from evaljudge.report.best import best
from evaljudge.report.cost import cost
from evaljudge.report.outliers import without_outliers
from evaljudge.report.people import people, scorers_labels
from evaljudge.sections import Section


def sections(findings: Findings, in_short: bool = False) -> list[Section]:
    made = [
        *(without_outliers(findings, in_short), best(findings, in_short)),
        *findings.judged.sections,
        *(axes(findings, in_short), people(findings), scorers_labels(findings), cost(findings)),
    ]
    return [section for section in made if any(table.rows for table in section.tables)]
