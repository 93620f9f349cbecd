"""How many documents a system-level correlation needs (Gigant et al. 2024, figure 1; Deutsch et al.
2022): its mean and 95% band over random subsets, from few documents to all.

    scorer      10                    50                    100
    importance  0.519 [0.222, 0.764]  0.636 [0.444, 0.788]  0.676

By default a subset consists of rated documents, and both scores and ratings are averaged over it.
With `all_documents` the ratings are averaged over all rated documents, whatever the size, and the
scores over a subset of all documents that every scorer scored, rated or not. This shows what a
metric gains from documents that nobody has to rate.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from evaljudge.agreement import COEFFICIENTS, Correlation
from evaljudge.agreement.coefficients import row_correlations
from evaljudge.agreement.pairs import Codes, Floats
from evaljudge.probes.matrix import ScoreMatrix, means, scaled, spread
from evaljudge.probes.plots import curves, lines
from evaljudge.probes.results import ProbeResult, pivot_table
from evaljudge.sections.figures import bracketed

BAND = (2.5, 97.5)


@dataclass(frozen=True, slots=True)
class Subsets:
    """The settings: subsets of `steps` sizes, each drawn `draws` times without replacement."""

    axis: str
    coefficient: Correlation
    steps: int = 10
    draws: int = 100
    seed: int = 0
    all_documents: bool = False


@dataclass(frozen=True, slots=True)
class SizeRow:
    """`draws`: the subsets where the correlation is defined."""

    scorer: str
    documents: int
    value: float | None
    low: float | None
    high: float | None
    draws: int


def sizes(matrix: ScoreMatrix, subsets: Subsets) -> list[SizeRow]:
    columns = matrix.comparable(subsets.axis)
    human = scaled(matrix.grid(matrix.rated(subsets.axis)))
    grids = {name: scaled(matrix.grid(column)) for name, column in columns.items()}
    usable = np.isfinite(next(iter(grids.values())))  # comparable: the same for all
    if not subsets.all_documents:
        usable &= np.isfinite(human)
        human = np.where(usable, human, np.nan)
    documents = np.flatnonzero(usable.any(axis=1))
    found: dict[str, list[SizeRow]] = {name: [] for name in grids}
    for size in _sizes(documents.size, subsets.steps):
        chosen = _drawn_subsets(len(human), documents, size, subsets)
        ratings = means(human, np.ones_like(chosen) if subsets.all_documents else chosen)
        for name, grid in grids.items():
            scores = means(np.where(usable, grid, np.nan), chosen)
            correlations = _correlations(scores, ratings, subsets.coefficient)
            found[name].append(SizeRow(name, size, *spread(correlations, BAND)))
    return [row for rows in found.values() for row in rows]


def sizes_study(rows: Sequence[SizeRow], subsets: Subsets, about: str) -> ProbeResult[SizeRow]:
    y_title = f"{subsets.coefficient} with {subsets.axis} (system level)"
    return ProbeResult(
        name="sizes",
        title="System-level correlation against the number of documents",
        about=about,
        tables=[pivot_table(rows, ["scorer"], "documents", _estimate)],
        notes=[f"Mean and 95% band of {subsets.draws} random subsets of so many documents."],
        rows=rows,
        draw=lambda: lines({"": curves(rows, "documents")}, "documents", y_title),
    )


def _sizes(documents: int, steps: int) -> list[int]:
    """From a `steps`th of the documents, but at least two, to all."""
    found = np.linspace(documents / steps, documents, steps).round().astype(int)
    return [int(size) for size in np.unique(np.maximum(found, min(2, documents)))]


def _drawn_subsets(total: int, documents: Codes, size: int, subsets: Subsets) -> Floats:
    """(draws, documents): 1 where drawn. All documents can be drawn in one way only."""
    stream = np.random.default_rng((subsets.seed, size))
    chosen = np.zeros((subsets.draws if size < documents.size else 1, total))
    for row in chosen:
        row[stream.choice(documents, size, replace=False)] = 1.0
    return chosen


def _correlations(x: Floats, y: Floats, coefficient: Correlation) -> Floats:
    """A system without a score or without a rating in a subset is left out of it."""
    both = np.isfinite(x) & np.isfinite(y)
    x, y = np.where(both, x, np.nan), np.where(both, y, np.nan)
    found: Floats = row_correlations(x, y)[COEFFICIENTS.index(coefficient)]
    return found


def _estimate(row: SizeRow) -> str:
    band = (row.low, row.high) if row.draws > 1 else (None, None)
    return bracketed(row.value, *band)
