"""Does a scorer follow quality, or something else? (Gigant et al. 2024, table 2, after Durmus et
al. 2022): its summary-level correlation with human axes, and with properties that say nothing about
quality (fragments.py): coverage, density, compression, and the length in words.

    scorer      fluency  relevance  coverage  density  compression  length
    importance  0.121    0.321      0.278     0.349*   -0.466*      0.461*

Correlates are marked if the scorer follows them more closely (by absolute value) than the human
axis it is meant for: its own, or the one asked for. They are correlated on the candidates rated on
that axis.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from evaljudge.agreement import Correlation
from evaljudge.agreement.pairs import Floats
from evaljudge.probes.fragments import Correlates, correlates, words
from evaljudge.probes.matrix import ScoreMatrix, correlation
from evaljudge.probes.plots import heat_maps
from evaljudge.probes.results import ProbeResult, marked, pivot_table, pivoted
from evaljudge.records import ANY_AXIS, Case
from evaljudge.sections.figures import correlation as figure
from evaljudge.text import one_line

SHOWN: tuple[Correlation, ...] = ("pearson", "spearman")
CORRELATES = Correlates._fields


@dataclass(frozen=True, slots=True)
class SpuriousRow:
    """`exceeds`: the scorer follows the correlate more closely than the axis it is meant for."""

    scorer: str
    property: str
    spurious: bool
    coefficient: Correlation
    value: float | None
    n: int
    exceeds: bool = False


def spurious(matrix: ScoreMatrix, axis: str) -> list[SpuriousRow]:
    matrix.rated(axis)
    found = _correlates(matrix.cases)
    return [
        row
        for scorer in matrix.scores
        for coefficient in SHOWN
        for row in _of_scorer(matrix, scorer, axis, found, coefficient)
    ]


def spurious_study(rows: Sequence[SpuriousRow], axis: str, about: str) -> ProbeResult[SpuriousRow]:
    by_kind = sorted(rows, key=lambda row: row.spurious)
    shown = {how.capitalize(): [r for r in by_kind if r.coefficient == how] for how in SHOWN}
    return ProbeResult(
        name="spurious",
        title="Spurious correlates",
        about=about,
        tables=[
            pivot_table(found, ["scorer"], "property", _cell, title)
            for title, found in shown.items()
        ],
        notes=[
            f"Marked: what a scorer follows more closely, by absolute value, than the human axis\n"
            f"it is for (its own, or {one_line(axis)}). Summary level."
        ],
        rows=rows,
        draw=partial(_drawn, shown),
    )


def _drawn(shown: Mapping[str, Sequence[SpuriousRow]]) -> str:
    squares = {}
    for title, rows in shown.items():
        properties, lines = pivoted(rows, ["scorer"], "property")
        squares[title] = [[row.value if row else None for row in line] for line in lines.values()]
    scorers = [name for (name,) in lines]
    return heat_maps(squares, scorers, properties, "human axis or correlate", (-1.0, 1.0))


def _of_scorer(
    matrix: ScoreMatrix, scorer: str, axis: str, found: Mapping[str, Floats], how: Correlation
) -> Iterator[SpuriousRow]:
    column, own = matrix.scores[scorer], matrix.axes[scorer]
    for name, human in matrix.human.items():
        if own in (ANY_AXIS, name):
            shown = f"{name} (rated)" if name in CORRELATES else name
            yield SpuriousRow(scorer, shown, False, how, *_correlated(matrix, column, human, how))
    meant = matrix.human.get(axis if own == ANY_AXIS else own)
    if meant is None:
        return
    goal, _ = _correlated(matrix, column, meant, how)
    rated = np.where(np.isfinite(meant), column, np.nan)
    for name, values in found.items():
        value, n = _correlated(matrix, rated, values, how)
        exceeds = value is not None and abs(value) > abs(goal or 0.0)
        yield SpuriousRow(scorer, name, True, how, value, n, exceeds)


def _correlated(
    matrix: ScoreMatrix, x: Floats, y: Floats, how: Correlation
) -> tuple[float | None, int]:
    value = correlation(matrix.grid(x), matrix.grid(y), "summary", how)
    return None if np.isnan(value) else value, int(np.sum(np.isfinite(x) & np.isfinite(y)))


def _correlates(cases: Sequence[Case]) -> dict[str, Floats]:
    """A column for each, by name."""
    found = [
        one
        for case in cases
        for one in correlates(words(case.document.source), [words(c.text) for c in case.candidates])
    ]
    return dict(zip(CORRELATES, np.array(found).T, strict=True))


def _cell(row: SpuriousRow) -> str:
    return marked(figure(row.value)) if row.exceeds else figure(row.value)
