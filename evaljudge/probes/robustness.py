"""How robust scorers are to bad references (Gigant et al. 2024, figures 2 and 6 to 8).

The references of k documents are replaced by three sentences of the source (see excerpts.py), while
k grows from none to all. The documents are drawn at random, several times.

    alteration  scorer      0      50     100
    LEAD-3      importance  0.676  0.676  0.676
    LEAD-3      rouge1      0.594  0.403  0.165

Texts are measured once for each alteration (RAND-3: for each draw) with every reference altered. At
each step, the replaced documents take those scores, and the others keep their original ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from evaljudge.agreement import Correlation, Level
from evaljudge.agreement.pairs import Codes, Floats
from evaljudge.analysis.mixes import Mix
from evaljudge.errors import UserError
from evaljudge.probes.excerpts import ALTERATIONS, Alteration, with_altered_references
from evaljudge.probes.matrix import Measure, ScoreMatrix, correlation, measured_columns, spread
from evaljudge.probes.plots import curves, lines
from evaljudge.probes.results import ProbeResult, pivot_table
from evaljudge.sections.figures import correlation as figure

Columns = Mapping[str, Floats]
LOWEST_AND_HIGHEST = (0.0, 100.0)


@dataclass(frozen=True, slots=True)
class Growth:
    """Which agreement is measured, and how the number of replaced references grows."""

    axis: str
    level: Level
    coefficient: Correlation
    steps: int = 11
    draws: int = 5
    seed: int = 0


@dataclass(frozen=True, slots=True)
class RobustnessRow:
    """Mean, lowest and highest correlation over the `draws` where it is defined."""

    alteration: Alteration
    scorer: str
    replaced: int
    value: float | None
    low: float | None
    high: float | None
    draws: int


def robustness(
    matrix: ScoreMatrix, measure: Measure, growth: Growth, mixes: Sequence[Mix] = ()
) -> list[RobustnessRow]:
    """Given scores cannot be measured again, so they stay as they are."""
    original = matrix.comparable(growth.axis)
    referenced = _referenced(matrix)
    counts = np.unique(np.linspace(0, referenced.size, growth.steps).round().astype(int))
    names = [*original, *(mix.name for mix in mixes)]
    rows = []
    for how in ALTERATIONS:
        found = np.array(
            [
                list(_path(matrix, growth, mixes, original, altered, order, counts))
                for order, altered in _draws(matrix, measure, how, growth, referenced)
            ]
        )  # (draws, steps, scorers)
        for index, name in enumerate(names):
            at_steps = zip(counts, found[:, :, index].T, strict=True)
            rows += [
                RobustnessRow(how, name, int(count), *spread(values, LOWEST_AND_HIGHEST))
                for count, values in at_steps
            ]
    return rows


def robustness_study(
    rows: Sequence[RobustnessRow], growth: Growth, about: str
) -> ProbeResult[RobustnessRow]:
    shown = pivot_table(rows, ["alteration", "scorer"], "replaced", lambda r: figure(r.value))
    return ProbeResult(
        name="robustness",
        title="Robustness to bad references",
        about=about,
        tables=[shown],
        notes=[
            f"Columns: documents whose references were replaced. Values: the mean\n"
            f"{growth.coefficient} correlation over {growth.draws} draws."
        ],
        rows=rows,
        draw=partial(_drawn, rows, growth),
    )


def _referenced(matrix: ScoreMatrix) -> Codes:
    found = [bool(case.document.references) for case in matrix.cases]
    if not any(found):
        raise UserError("no document of the cases has references: there is nothing to replace")
    return np.flatnonzero(found)


def _draws(
    matrix: ScoreMatrix, measure: Measure, how: Alteration, growth: Growth, referenced: Codes
) -> Iterator[tuple[Codes, Columns]]:
    altered: Columns = {}
    for draw in range(growth.draws):
        order = np.random.default_rng((growth.seed, draw)).permutation(referenced)
        if not altered or how == "RAND-3":
            stream = np.random.default_rng((growth.seed, draw, 1))
            cases = with_altered_references(matrix.cases, how, stream)
            altered = measured_columns(measure, cases)
        yield order, altered


def _path(
    matrix: ScoreMatrix, growth: Growth, mixes: Sequence[Mix],
    original: Columns, altered: Columns, order: Codes, counts: Codes,
) -> Iterator[list[float]]:  # fmt: skip
    """The correlations of all scorers and mixes at each number of replaced references."""
    human = matrix.grid(matrix.rated(growth.axis))
    for count in counts:
        replaced = np.isin(matrix.documents, order[:count])
        columns = {
            name: np.where(replaced & np.isfinite(column), altered.get(name, column), column)
            for name, column in original.items()
        }
        yield [
            correlation(matrix.grid(column), human, growth.level, growth.coefficient)
            for column in [*columns.values(), *(mix.of(columns) for mix in mixes)]
        ]


def _drawn(rows: Sequence[RobustnessRow], growth: Growth) -> str:
    panels = {
        str(how): curves([row for row in rows if row.alteration == how], "replaced")
        for how in ALTERATIONS
    }
    y_title = f"{growth.coefficient} with {growth.axis} ({growth.level} level)"
    return lines(panels, "documents with replaced references", y_title)
