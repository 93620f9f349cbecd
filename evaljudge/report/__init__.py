"""What a run found, for people: `Findings` in; agreement.md, a terminal's text and one HTML
page out. Nothing here asks a model or computes a statistic, and a report of the
same findings is the same to the byte. Text of the corpus is shown as text: it never becomes
markup, a terminal's command or a table's border.
"""

from __future__ import annotations

from collections.abc import Sequence

from evaljudge.analysis.findings import Findings
from evaljudge.report.lines import asked_line, floor_line
from evaljudge.report.markdown import agreement_markdown
from evaljudge.report.notebook import outcome_html, outcome_text
from evaljudge.report.page import page
from evaljudge.report.stored import read_findings, write_findings
from evaljudge.report.summary import Summary, full_summary, summary, unscored_text
from evaljudge.report.terminal import agreement_text, coverage_text
from evaljudge.storage import Place

__all__ = [
    "Summary", "agreement_markdown", "agreement_text", "asked_line", "coverage_text", "floor_line",
    "full_summary", "outcome_html", "outcome_text", "page", "read_findings", "summary",
    "unscored_text", "write_report",
]  # fmt: skip


def write_report(
    place: Place, findings: Findings, folder: str = "", others: Sequence[str] = ()
) -> None:
    """agreement.md, and all of the findings as JSON (stored.py)."""
    write_findings(place, findings, folder, others)
    place.write(f"{folder}agreement.md", agreement_markdown(findings))
