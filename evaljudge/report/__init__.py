"""What a run found, for people: `Findings` in; agreement.md, a terminal's table, one HTML page and
the selected candidates out. Nothing here asks a model or computes a statistic, and a report of the
same findings is the same to the byte. Text of the corpus is shown as text: it never becomes
markup, a terminal's command or a table's border.
"""

from evaljudge.analysis.findings import (
    AgreementRow,
    AxisRow,
    CeilingRow,
    CostRow,
    Coverage,
    Findings,
    GradedRow,
    LabelRow,
    RivalRow,
    Selected,
    StandingRow,
    SystemMean,
    ValidityRow,
    WithoutOutliers,
)
from evaljudge.analysis.selection import select
from evaljudge.report.coverage import coverage_text, unscored_text
from evaljudge.report.figures import asked_line, floor_line, percent
from evaljudge.report.judged import (
    AspectRow,
    EntityAgreementRow,
    EntityRow,
    EntityView,
    OrderRow,
    RoleRow,
    RoleView,
    Sizes,
)
from evaljudge.report.markdown import agreement_markdown, agreement_text
from evaljudge.report.page import page
from evaljudge.report.validity import validity_warnings

__all__ = [
    "AgreementRow",
    "AspectRow",
    "AxisRow",
    "CeilingRow",
    "CostRow",
    "Coverage",
    "EntityAgreementRow",
    "EntityRow",
    "EntityView",
    "Findings",
    "GradedRow",
    "LabelRow",
    "OrderRow",
    "RivalRow",
    "RoleRow",
    "RoleView",
    "Selected",
    "Sizes",
    "StandingRow",
    "SystemMean",
    "ValidityRow",
    "WithoutOutliers",
    "agreement_markdown",
    "agreement_text",
    "asked_line",
    "coverage_text",
    "floor_line",
    "page",
    "percent",
    "select",
    "unscored_text",
    "validity_warnings",
]
