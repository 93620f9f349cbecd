"""What a run found, for people: `Findings` in; agreement.md, a terminal's text and one HTML
page out. Nothing here asks a model or computes a statistic, and a report of the
same findings is the same to the byte. Text of the corpus is shown as text: it never becomes
markup, a terminal's command or a table's border.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from evaljudge.analysis.findings import Findings
from evaljudge.report.lines import asked_line, floor_line
from evaljudge.report.markdown import agreement_markdown
from evaljudge.report.notebook import outcome_html, outcome_text
from evaljudge.report.page import page
from evaljudge.report.summary import Summary, full_summary, summary, unscored_text
from evaljudge.report.terminal import agreement_text, coverage_text
from evaljudge.storage import Place

__all__ = [
    "Summary", "agreement_markdown", "agreement_text", "asked_line", "coverage_text", "floor_line",
    "full_summary", "outcome_html", "outcome_text", "page", "summary", "unscored_text",
    "write_report",
]  # fmt: skip


def write_report(
    place: Place, findings: Findings, folder: str = "", others: Sequence[str] = ()
) -> None:
    """agreement.json and agreement.md, and the other statistics as far as there are any.

    `others`: names of files that a judge may have written for an earlier report.
    """
    files: dict[str, Sequence[Any]] = {
        "significance": findings.standings,
        "systems": findings.rankings,
        "axes": findings.axes,
        "ceiling": findings.ceilings,
        "labels": findings.labels,
        "length": findings.lengths,
        "replacing": findings.replacing,
        "people_scale": findings.people_scale,
        "costs": findings.costs,
        "without_outliers": findings.without_outliers,
        "labelled": findings.labelled,
        "intervals": findings.intervals,
        **dict.fromkeys(others, ()),
        **findings.judged.files,
    }
    place.write_json(f"{folder}agreement.json", [asdict(row) for row in findings.agreement])
    for name, rows in files.items():
        if rows:
            place.write_json(f"{folder}{name}.json", [asdict(row) for row in rows])
        else:
            place.remove(f"{folder}{name}.json")
    place.write(f"{folder}agreement.md", agreement_markdown(findings))
