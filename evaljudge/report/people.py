"""How far people agree with each other, and scorers with them where both give labels.

| axis    | level  |             Spearman |   n | skipped | raters |
| ------- | ------ | -------------------: | --: | ------: | -----: |
| fluency | sample | 0.612 [0.553, 0.664] | 100 |       0 |      3 |
"""

from __future__ import annotations

from collections.abc import Sequence

from evaljudge.agreement import Ceiling, LabelAgreement
from evaljudge.analysis.findings import Findings
from evaljudge.report.axes import HUMAN
from evaljudge.report.levels import of_documents, sampled_note
from evaljudge.sections import Cell, Section, Table
from evaljudge.sections.figures import (
    NONE,
    bracketed,
    count,
    estimate,
    together,
)

PEOPLE = "How far people agree"
LABELS = "Agreement in labels"
CEILING = (
    "One rater against the mean of the others, averaged over the raters: "
    "no scorer can be expected far above it. Skipped: candidates with a single rating."
)
ALPHA = (
    "Krippendorff's alpha is the raters' agreement beyond chance: 1 is perfect, 0 is chance. "
    "Skipped: candidates with fewer than two ratings."
)
KAPPA = (
    "Where a scorer gives the labels that people give: Cohen's kappa is their agreement beyond "
    "chance; weighted, labels far apart disagree more. "
    "Skipped: candidates without both labels."
)

_COEFFICIENTS = {
    "kappa": "kappa",
    "kappa_linear": "linear kappa",
    "kappa_quadratic": "quadratic kappa",
    "alpha_nominal": "nominal alpha",
    "alpha_ordinal": "ordinal alpha",
    "alpha_interval": "interval alpha",
}


def people(findings: Findings) -> Section:
    """The ceiling, and the raters' labels."""
    ceilings = [row for row in findings.ceilings if row.coefficient == "spearman"]
    labels = [row for row in findings.labels if row.of == HUMAN]
    about, tables = [], []
    if ceilings:
        about.append(CEILING)
        tables.append(_ceilings(ceilings))
    if labels:
        about.append(ALPHA)
        tables.append(_labels("The raters' labels", labels, ["axis"]))
    return Section(PEOPLE, [*about, *of_documents(findings)], tables, sampled_note(ceilings))


def scorers_labels(findings: Findings) -> Section:
    rows = [row for row in findings.labels if row.of != HUMAN]
    tables = [_labels("Scorers' labels and people's", rows, ["scorer", "axis"])] if rows else []
    return Section(LABELS, [KAPPA, *of_documents(findings)], tables)


def _ceilings(rows: Sequence[Ceiling]) -> Table:
    heads = ["axis", "level", "Spearman", "n", "skipped", "raters"]
    cells = [
        [row.axis, row.level, estimate(row), *map(count, (row.n, row.skipped, row.raters))]
        for row in rows
    ]
    return Table("One rater and the others", heads, cells, "llrrrr")


def _labels(title: str, rows: Sequence[LabelAgreement], names: Sequence[str]) -> Table:
    """A row for each axis (of each scorer), a column for each coefficient that there is."""
    grouped: dict[tuple[str, str], dict[str, LabelAgreement]] = {}
    for row in rows:
        grouped.setdefault((row.of, row.axis), {})[row.coefficient] = row
    shown = [name for name in _COEFFICIENTS if any(name in found for found in grouped.values())]
    cells: list[list[Cell]] = [
        [
            *at[-len(names) :],
            *(_estimate(found.get(name)) for name in shown),
            together(row.n for row in found.values()),
            together(row.skipped for row in found.values()),
        ]
        for at, found in grouped.items()
    ]
    heads = [*names, *map(_COEFFICIENTS.__getitem__, shown), "n", "skipped"]
    sides = "l" * len(names) + "r" * (len(shown) + 2)
    return Table(title, heads, cells, sides, lead=len(names))


def _estimate(row: LabelAgreement | None) -> str:
    return NONE if row is None else bracketed(row.value, row.low, row.high)
