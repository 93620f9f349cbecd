"""How far people agree with each other, how axes go together, and whose labels are the same.

| axis    | level  |             Spearman |   n | skipped | raters |
| ------- | ------ | -------------------: | --: | ------: | -----: |
| fluency | sample | 0.612 [0.553, 0.664] | 100 |       0 |      3 |
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations

from evaljudge.agreement import AxisPair, Ceiling, LabelAgreement
from evaljudge.analysis.findings import Findings
from evaljudge.records import HUMAN
from evaljudge.report.levels import LEVELS, sampled_note
from evaljudge.sections import Cell, Section, Table
from evaljudge.sections.figures import NONE, bracketed, correlation, count, estimate, together

AXES = "Axes among themselves"
AXES_ABOUT = (
    "Spearman's correlation between two axes of the same candidates. "
    "A scorer whose own axes agree with each other much more than people's do is scoring one thing."
)
PEOPLE = "How far people agree"
LABELS = "Agreement in labels"
CEILING = (
    "One rater against the mean of the others, averaged over the raters: "
    "no scorer can be expected far above it. Skipped: candidates with a single rating."
)
_BASE_RATE = (
    "Same: how often two labels of a candidate are equal; commonest: the share of people's "
    "commonest label, which makes labels equal by chance."
)
ALPHA = (
    "Krippendorff's alpha is the raters' agreement beyond chance: 1 is perfect, 0 is chance. "
    "Skipped: candidates with fewer than two ratings. " + _BASE_RATE
)
KAPPA = (
    "Where a scorer gives the labels that people give: Cohen's kappa is their agreement beyond "
    "chance; weighted, labels far apart disagree more. "
    "Skipped: candidates without both labels. " + _BASE_RATE
)

_RATES = ["same", "commonest"]
_COEFFICIENTS = {
    "kappa": "kappa",
    "kappa_linear": "linear kappa",
    "kappa_quadratic": "quadratic kappa",
    "alpha_nominal": "nominal alpha",
    "alpha_ordinal": "ordinal alpha",
    "alpha_interval": "interval alpha",
}


def axes(findings: Findings, in_short: bool = False) -> Section:
    """A matrix for each level and each of people and scorers; in short, all candidates pooled."""
    # people's first, so that all follow the order of people's axes
    rows = [row for row in findings.axes if row.coefficient == "spearman"]
    rows.sort(key=lambda row: row.of != HUMAN)
    if in_short:
        table = _pairs([row for row in rows if row.level == "summary"])
        tables = [table] if table.rows else []
        return Section(f"{AXES} (all candidates pooled)", [], tables, [AXES_ABOUT])
    about = [AXES_ABOUT]
    return Section(AXES, about, list(_matrices(rows)), sampled_note(rows))


def _pairs(rows: Sequence[AxisPair]) -> Table:
    """A row for each pair, a column each for people and scorers, so that what is to be compared
    stands side by side.
    """
    values = {(row.of, frozenset((row.axis, row.other))): correlation(row.value) for row in rows}
    whose = _whose(rows)
    cells = [
        [*pair, *(values.get((of, frozenset(pair)), NONE) for of in whose)]
        for pair in combinations(_axes_of(rows), 2)
        if any((of, frozenset(pair)) in values for of in whose)
    ]
    heads = ["axis", "other axis", *map(_shown, whose)]
    lead = 3 if HUMAN in whose else 2  # people's column beside every scorer's
    return Table("", heads, cells, "ll" + "r" * len(whose), lead)


def _whose(rows: Sequence[AxisPair]) -> list[str]:
    return list(dict.fromkeys(row.of for row in rows))


def _axes_of(rows: Sequence[AxisPair]) -> list[str]:
    return list(dict.fromkeys(name for row in rows for name in (row.axis, row.other)))


def _shown(of: str) -> str:
    return "people" if of == HUMAN else of


def _matrices(rows: Sequence[AxisPair]) -> Iterator[Table]:
    order = _axes_of(rows)
    for level in LEVELS:
        at_level = [row for row in rows if row.level == level]
        for of in _whose(at_level):
            title = f"{level.capitalize()} level: {_shown(of)}"
            own = [row for row in at_level if row.of == of]
            yield _matrix(title, own, sorted(_axes_of(own), key=order.index))


def _matrix(title: str, rows: Sequence[AxisPair], names: Sequence[str]) -> Table:
    found = {(row.axis, row.other): estimate(row) for row in rows}
    found |= {(other, axis): value for (axis, other), value in found.items()}
    found |= {(name, name): "1" for name in names}
    cells = [[axis, *(found.get((axis, other), NONE) for other in names)] for axis in names]
    return Table(title, ["axis", *names], cells, "l" + "r" * len(names))


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
    return Section(PEOPLE, about, tables, sampled_note(ceilings))


def scorers_labels(findings: Findings) -> Section:
    rows = [row for row in findings.labels if row.of != HUMAN]
    tables = [_labels("Scorers' labels and people's", rows, ["scorer", "axis"])] if rows else []
    return Section(LABELS, [KAPPA], tables)


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
            *map(correlation, _rates(found)),
            together(row.n for row in found.values()),
            together(row.skipped for row in found.values()),
        ]
        for at, found in grouped.items()
    ]
    heads = [*names, *map(_COEFFICIENTS.__getitem__, shown), *_RATES, "n", "skipped"]
    sides = "l" * len(names) + "r" * (len(shown) + 4)
    return Table(title, heads, cells, sides, lead=len(names))


def _rates(found: Mapping[str, LabelAgreement]) -> tuple[float | None, float | None]:
    """Which do not depend on the coefficient."""
    row = next(iter(found.values()))
    return row.agreed, row.base_rate


def _estimate(row: LabelAgreement | None) -> str:
    return NONE if row is None else bracketed(row.value, row.low, row.high)
