"""A report's files: agreement.md, and each kind of findings as rows of JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from evaljudge.analysis.findings import Findings
from evaljudge.report.markdown import agreement_markdown
from evaljudge.storage import Place


def write_report(
    place: Place, findings: Findings, folder: str = "", others: Sequence[str] = ()
) -> None:
    """agreement.json and agreement.md, and the other statistics as far as there are any.

    `others`: names of files that a judge may have written for an earlier report.
    """
    files: dict[str, Sequence[Any]] = {
        "significance": findings.standings,
        "axes": findings.axes,
        "ceiling": findings.ceilings,
        "labels": findings.labels,
        "costs": findings.costs,
        "without_outliers": findings.without_outliers,
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
