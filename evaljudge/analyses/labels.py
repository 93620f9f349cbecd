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
    yield _labels(PEOPLE, ALPHA, "The raters' labels", people, ["axis"])
    title = "Scorers' labels and people's"
    yield _labels(LABELS, KAPPA, title, scorers, ["scorer", "axis"])


def _labels(
    about: str, how: str, title: str, rows: Sequence[LabelAgreement], names: Sequence[str]
) -> Section:
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
                *(measured(one, "sample", one.documents, one.value)
                  if (one := by_name.get(name)) else NONE for name in shown),
                *map(correlation, (first.agreed, first.base_rate)),
                together(row.n for row in by_name.values()),
                together(row.skipped for row in by_name.values()),
            ]
        )  # fmt: skip
    heads = [*names, *map(_COEFFICIENTS.__getitem__, shown), "same", "commonest", "n", "skipped"]
    sides = "l" * len(names) + "r" * (len(shown) + 4)
    few = any(row.value is not None and only("sample", row.documents) for row in rows)
    table = Table(title, heads, cells, sides, lead=len(names))
    return Section(about, [how], [table], [FEW] if few else [])


ANALYSIS = Analysis(LabelAgreement, rows, section, place=101)
