"""What has no score, as the first screen says it: how much, of which scorer, and why.

missing_line(findings)  ->  "600 scores of 1,800 are missing."
missing(findings)[0]    ->  Missing("importance", "*", "no n-gram of the source …", 600, 0)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlencode

from evaljudge.analysis.findings import Coverage, Findings
from evaljudge.reasons import grouped
from evaljudge.sections.figures import count
from evaljudge.text import counted, means_selfsame

MOST_REASONS = 3


@dataclass(frozen=True, slots=True)
class Missing:
    """One kind of reason with the scorer and axis that lack most for it."""

    scorer: str
    axis: str
    reason: str
    times: int
    others: int
    """Further scorers and axes that lack texts for it; they count in `times`."""

    def __str__(self) -> str:
        more = f" and {count(self.others)} more" if self.others else ""
        times = counted(self.times, "score", "scores") if self.others else text_count(self.times)
        return f"{self.scorer}{more}: {self.reason}, {times}"

    def is_in(self, data: Mapping[str, Any]) -> bool:
        """Whether the page's list of texts has this scorer."""
        return {"scorer": self.scorer, "axis": self.axis} in data.get("scorers", ())

    @property
    def texts(self) -> str:
        """The link to the list of these texts."""
        wanted = {"scorer": self.scorer, "axis": self.axis, "status": "unscored"}
        return f"#texts?{urlencode(wanted, quote_via=quote)}"


def text_count(number: int) -> str:
    return counted(number, "text", "texts")


def size_line(findings: Findings) -> str:
    """`1 text of 1 document`."""
    of = counted(findings.cases, "document", "documents")
    return f"{text_count(findings.candidates)} of {of}"


def rated_line(findings: Findings) -> str:
    rated = counted(findings.rated, "is", "are") if findings.rated else "None is"
    return f"{rated} rated by {findings.rated_by}."


def missing_line(findings: Findings) -> str:
    """`4 scores of 4,964 are missing.`, and how many are not expected."""
    number = sum(row.unscored for row in findings.coverage) - findings.not_expected
    said = counted(number, "score", "scores") if number else "No score"
    verb = "is" if number <= 1 else "are"
    line = f"{said} of {count(findings.expected)} {verb} missing."
    if not findings.not_expected:
        return line
    more = counted(findings.not_expected, "more is", "more are")
    return f"{line} {more} not expected, as the text is itself the reference."


def missing(findings: Findings) -> list[Missing]:
    """The most frequent kinds of reasons."""
    by_kind: dict[str, list[tuple[int, Coverage]]] = {}
    for row in findings.coverage:
        expected = {why: n for why, n in row.reasons.items() if not means_selfsame(why)}
        for group in grouped(expected):
            by_kind.setdefault(group.kind, []).append((group.times, row))
    found = [_missing(kind, rows) for kind, rows in by_kind.items()]
    return sorted(found, key=lambda one: -one.times)[:MOST_REASONS]


def _missing(kind: str, rows: list[tuple[int, Coverage]]) -> Missing:
    _, most = max(rows, key=lambda one: one[0])
    total = sum(times for times, _ in rows)
    return Missing(most.scorer, most.axis, kind, total, len(rows) - 1)


def nothing_scored(findings: Findings) -> bool:
    return bool(findings.coverage) and not any(row.scored for row in findings.coverage)


def coverage_class(findings: Findings) -> str:
    """How the page colours the coverage: as good only where a floor was set and is reached."""
    if not findings.floor_passed:
        return "failed"
    return "passed" if findings.coverage_floor else ""
