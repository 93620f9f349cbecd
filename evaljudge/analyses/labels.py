"""How far do raters' labels agree beyond chance, and scorers' labels with people's?

| scorer | axis    |                kappa |  same | commonest |     n | skipped |
| ------ | ------- | -------------------: | ----: | --------: | ----: | ------: |
| geval  | fluency | 0.250 [0.150, 0.350] | 0.810 |     0.720 | 1,000 |     600 |
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Literal, TypedDict

import numpy as np

from evaljudge.agreement import LabelAgreement, cohen_kappa, krippendorff_alpha
from evaljudge.agreement.rated import Floats
from evaljudge.analyses import Analysis, RunFrame
from evaljudge.analyses.ceiling import PEOPLE
from evaljudge.analysis.findings import Findings
from evaljudge.records import HUMAN
from evaljudge.sections import Cell, Section, Table
from evaljudge.sections.figures import NONE, bracketed, correlation, together

LABELS = "Agreement in labels"
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
KAPPAS: dict[str, Literal["linear", "quadratic"] | None] = {
    "kappa": None,
    "kappa_linear": "linear",
    "kappa_quadratic": "quadratic",
}
ALPHAS: dict[str, Literal["nominal", "ordinal", "interval"]] = {
    "alpha_nominal": "nominal",
    "alpha_ordinal": "ordinal",
    "alpha_interval": "interval",
}


class Drawn(TypedDict):
    """How the intervals of labels are drawn."""

    resamples: int
    seed: int


def rows(run: RunFrame) -> Iterator[LabelAgreement]:
    yield from _alphas(run)
    yield from _kappas(run)


def _alphas(run: RunFrame) -> Iterator[LabelAgreement]:
    rated, drawn = run.compared, Drawn(resamples=run.how.resamples, seed=run.seed)
    for axis in sorted(rated.raters):
        for name, metric in ALPHAS.items():
            one = krippendorff_alpha(rated.table(axis), rated.documents, metric=metric, **drawn)
            yield replace(one, of=HUMAN, axis=axis, coefficient=name)


def _kappas(run: RunFrame) -> Iterator[LabelAgreement]:
    """Where a scorer gives the labels that people give."""
    rated, drawn = run.compared, Drawn(resamples=run.how.resamples, seed=run.seed)
    for human, ratings in sorted(rated.human.items()):
        for scorer, column in rated.against(human).items():
            if _are_labels(ratings) and _are_labels(column) and _within(column, ratings):
                for name, weights in KAPPAS.items():
                    one = cohen_kappa(column, ratings, rated.documents, weights=weights, **drawn)
                    yield replace(one, of=scorer, axis=human, coefficient=name)


def _are_labels(values: Floats) -> bool:
    present = values[np.isfinite(values)]
    return bool(present.size and np.array_equal(present, np.rint(present)))


def _within(values: Floats, ratings: Floats) -> bool:
    return bool(np.nanmin(values) >= np.nanmin(ratings) and np.nanmax(values) <= np.nanmax(ratings))


def section(findings: Findings, in_short: bool) -> Iterator[Section]:
    """The raters' labels stand in the section of the ceiling."""
    found: Sequence[LabelAgreement] = findings["labels"]
    people = [row for row in found if row.of == HUMAN]
    scorers = [row for row in found if row.of != HUMAN]
    yield Section(PEOPLE, [ALPHA], [_labels("The raters' labels", people, ["axis"])])
    title = "Scorers' labels and people's"
    yield Section(LABELS, [KAPPA], [_labels(title, scorers, ["scorer", "axis"])])


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


ANALYSIS = Analysis(LabelAgreement, rows, section, place=101)
