"""What a run found, for people: `Findings` in; agreement.md, a terminal's table and one HTML
page out. Nothing here asks a model or computes a statistic, and a report of the
same findings is the same to the byte. Text of the corpus is shown as text: it never becomes
markup, a terminal's command or a table's border.
"""

from evaljudge.report.files import write_report
from evaljudge.report.lines import asked_line, floor_line
from evaljudge.report.markdown import agreement_markdown
from evaljudge.report.page import page
from evaljudge.report.terminal import agreement_text, coverage_text, unscored_text

__all__ = [
    "agreement_markdown",
    "agreement_text",
    "asked_line",
    "coverage_text",
    "floor_line",
    "page",
    "unscored_text",
    "write_report",
]
