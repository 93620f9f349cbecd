"""Agreement as one table per level: a row per scorer and axis, a column per coefficient.

Level("sample", "Within documents", …, rows=[LevelRow("synthetic", "fluency", {"spearman": …})])
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from evaljudge.report.figures import together
from evaljudge.report.findings import AgreementRow, Findings

COEFFICIENTS = {"spearman": "Spearman", "kendall": "Kendall (tau-b)", "pearson": "Pearson"}
NOTHING_RATED = "There are no human ratings: nothing to agree with."
NOTHING_SHARED = (
    "Candidates are rated, but no scorer has a number on a rated axis: nothing to compare."
)
INTERVALS = "In brackets: 95% percentile bootstrap intervals; whole documents are resampled."
SAMPLED_NOTE = "Its interval comes from a seeded sample of documents; the value is exact."

_TITLES = {
    "sample": "Sample level: within documents",
    "system": "System level: between systems",
    "summary": "Summary level: all candidates pooled",
}
_MEANINGS = {
    "sample": (
        "The correlation across the candidates of one document, averaged over n documents: "
        "does the scorer pick the better text for the same document?",
        "Skipped: documents with fewer than two pairs, or whose scores or ratings are all equal.",
    ),
    "system": (
        "The correlation of the mean scores of n systems with their mean ratings: "
        "does the scorer rank systems as people do?",
        "Resampling adds noise to every mean, so a percentile interval leans towards 0 and may "
        "not hold a value near 1. Few systems say little. Skipped: systems without a pair.",
    ),
    "summary": (
        "The correlation over n candidates of all documents at once: "
        "does one threshold mean the same everywhere? Easy and hard documents are mixed.",
        "Skipped: rated candidates without a score.",
    ),
}


@dataclass(frozen=True, slots=True)
class LevelRow:
    scorer: str
    axis: str
    estimates: Mapping[str, AgreementRow]  # by coefficient

    @property
    def n(self) -> str:
        return together(row.n for row in self.estimates.values())

    @property
    def skipped(self) -> str:
        return together(row.skipped for row in self.estimates.values())


@dataclass(frozen=True, slots=True)
class Level:
    name: str
    title: str
    meaning: Sequence[str]
    rows: Sequence[LevelRow]

    @property
    def sampled(self) -> bool:
        return any(e.sampled for row in self.rows for e in row.estimates.values())


def levels(findings: Findings) -> list[Level]:
    """The levels that have results, in their fixed order."""
    present = {row.level for row in findings.agreement}
    return [
        Level(name, _TITLES[name], _MEANINGS[name], _rows(findings, name))
        for name in _TITLES
        if name in present
    ]


def nothing(findings: Findings) -> str:
    """Why there is no agreement to show."""
    return NOTHING_SHARED if findings.rated else NOTHING_RATED


def _rows(findings: Findings, level: str) -> list[LevelRow]:
    grouped: dict[tuple[str, str], dict[str, AgreementRow]] = {}
    for row in findings.agreement:
        if row.level == level:
            grouped.setdefault((row.scorer, row.axis), {})[row.coefficient] = row
    return [LevelRow(scorer, axis, estimates) for (scorer, axis), estimates in grouped.items()]
