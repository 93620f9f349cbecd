"""How far do raters' labels agree beyond chance, and scorers' labels with people's?"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Literal

import numpy as np

from evaljudge.agreement import LabelAgreement, cohen_kappa, krippendorff_alpha
from evaljudge.agreement.rated import Floats
from evaljudge.analyses import Analysis, Findings, RunFrame, Section
from evaljudge.analyses.ceiling import PEOPLE
from evaljudge.records import HUMAN
from evaljudge.sections import Table
from evaljudge.sections.figures import FEW, NONE, correlation, measured, only, together

LABELS = "Agreement in labels"
_BASE_RATE = (
    "Same: how often two labels of a text are equal; commonest: the share of people's "
    "commonest label, which makes labels equal by chance."
)
ALPHA = (
    "Krippendorff's alpha is the raters' agreement beyond chance: 1 is perfect, 0 is chance. "
    "Skipped: texts with fewer than two ratings. " + _BASE_RATE
)
KAPPA = (
    "Where a scorer gives the labels that people give: Cohen's kappa is their agreement beyond "
    "chance; weighted, labels far apart disagree more. "
    "Skipped: texts without both labels. " + _BASE_RATE
)
_COEFFICIENTS = {
    "kappa": "kappa",
    "kappa_linear": "linear kappa",
    "kappa_quadratic": "quadratic kappa",
    "alpha_nominal": "nominal alpha",
    "alpha_ordinal": "ordinal alpha",
    "alpha_interval": "interval alpha",
}
KAPPAS: tuple[Literal["linear", "quadratic"] | None, ...] = (None, "linear", "quadratic")
ALPHAS: tuple[Literal["nominal", "ordinal", "interval"], ...] = ("nominal", "ordinal", "interval")


def rows(run: RunFrame) -> Iterator[LabelAgreement]:
    """The raters' alphas, and the kappas where a scorer gives the labels that people give."""
    rated, resamples, seed = run.compared, run.how.resamples, run.seed
    for axis in sorted(rated.raters):
        for metric in ALPHAS:
            alpha = krippendorff_alpha(
                rated.table(axis), rated.documents, metric=metric, resamples=resamples, seed=seed
            )
            yield replace(alpha, of=HUMAN, axis=axis, coefficient=f"alpha_{metric}")
    for human, ratings in sorted(rated.human.items()):
        for scorer, column in rated.against(human).items():
            if _are_labels(ratings) and _are_labels(column) and _within(column, ratings):
                for weights in KAPPAS:
                    both = column, ratings, rated.documents
                    kappa = cohen_kappa(*both, weights=weights, resamples=resamples, seed=seed)
                    name = f"kappa_{weights}" if weights else "kappa"
                    yield replace(kappa, of=scorer, axis=human, coefficient=name)


def _are_labels(values: Floats) -> bool:
    present = values[np.isfinite(values)]
    return bool(present.size and np.array_equal(present, np.rint(present)))


def _within(values: Floats, ratings: Floats) -> bool:
    return bool(np.nanmin(values) >= np.nanmin(ratings) and np.nanmax(values) <= np.nanmax(ratings))


def section(findings: Findings, in_short: bool) -> Iterator[Section]:
    """The raters' labels stand in the section of the ceiling."""
    label_rows: Sequence[LabelAgreement] = findings["labels"]
    people = [row for row in label_rows if row.of == HUMAN]
    scorers = [row for row in label_rows if row.of != HUMAN]
    yield Section(PEOPLE, [ALPHA], [_labels("The raters' labels", people, ["axis"])], _few(people))
    title = "Scorers' labels and people's"
    yield Section(LABELS, [KAPPA], [_labels(title, scorers, ["scorer", "axis"])], _few(scorers))


def _few(rows: Sequence[LabelAgreement]) -> list[str]:
    few = any(row.value is not None and only("sample", row.documents) for row in rows)
    return [FEW] if few else []


def _cell(row: LabelAgreement | None) -> str:
    return measured(row, "sample", row.documents, row.value) if row else NONE


def _labels(title: str, rows: Sequence[LabelAgreement], names: Sequence[str]) -> Table:
    grouped: dict[tuple[str, str], dict[str, LabelAgreement]] = {}
    for row in rows:
        grouped.setdefault((row.of, row.axis), {})[row.coefficient] = row
    shown = [name for name in _COEFFICIENTS if any(name in by_name for by_name in grouped.values())]
    cells = []
    for at, by_name in grouped.items():
        first = next(iter(by_name.values()))  # the rates do not depend on the coefficient
        cells.append(
            [
                *at[-len(names) :],
                *(_cell(by_name.get(name)) for name in shown),
                *map(correlation, (first.agreed, first.base_rate)),
                together(row.n for row in by_name.values()),
                together(row.skipped for row in by_name.values()),
            ]
        )
    heads = [*names, *map(_COEFFICIENTS.__getitem__, shown), "same", "commonest", "n", "skipped"]
    sides = "l" * len(names) + "r" * (len(shown) + 4)
    return Table(title, heads, cells, sides, lead=len(names))


ANALYSIS = Analysis(LabelAgreement, rows, section, place=101)
