"""What these scripts share: a corpus with its ratings and scores as grids, and their correlation.

A grid has a row for each document and a column for each system; NaN is no score or no rating.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Mapping, Sequence

import numpy as np

from evaljudge.agreement import COEFFICIENTS, Correlation
from evaljudge.agreement.coefficients import correlations, quotient, row_correlations
from evaljudge.agreement.pairs import Floats, exponent_of
from evaljudge.agreement.system import settled_means
from evaljudge.corpora import open_corpus, source_of
from evaljudge.corpora.scores import read_all_given
from evaljudge.metrics import make_metrics, read_metrics
from evaljudge.metrics.measuring import measure_here
from evaljudge.metrics.protocol import Unscored
from evaljudge.records import Case
from evaljudge.report.screen import on_screen
from evaljudge.sections import Table

Grids = Mapping[str, Floats]


def arguments(about: str | None, given: Sequence[str] | None, **more: object) -> Namespace:
    """The options of all scripts, and those of one, which have these defaults."""
    parser = ArgumentParser(description=(about or "").split("\n")[0])
    parser.add_argument("--cases", required=True, nargs="+")
    known = {"format": "generic", "sources": None, "metrics": "", "axis": "relevance", "level":
             "system", "coefficient": "spearman", "seed": 0}  # fmt: skip
    for name, value in (known | more).items():
        kind = int if isinstance(value, int) else str
        parser.add_argument(f"--{name.replace('_', '-')}", type=kind, default=value)
    parser.add_argument("--scores", nargs="*", default=[])
    return parser.parse_args(given)


def read(asked: Namespace) -> list[Case]:
    with open_corpus(source_of(asked.cases, asked.format, asked.sources, None)) as corpus:
        return list(corpus)


def grid(cases: Sequence[Case], value: Mapping[tuple[str, str], float | None]) -> Floats:
    """From values by document and system."""
    systems = list(dict.fromkeys(c.system for case in cases for c in case.candidates))
    rows = [[value.get((case.document.doc_id, system)) for system in systems] for case in cases]
    return np.array(rows, dtype=np.float64)


def rated(cases: Sequence[Case], axis: str) -> Floats:
    return grid(cases, {(case.document.doc_id, c.system): c.ratings.get(axis)
                        for case in cases for c in case.candidates})  # fmt: skip


def measured(cases: Sequence[Case], metrics: str, seed: int) -> dict[str, Floats]:
    made = make_metrics(read_metrics(metrics))
    return {
        name: grid(cases, {
            (case.document.doc_id, c.system): None if isinstance(value, Unscored) else value
            for case, values in zip(cases, found, strict=True)
            for c, value in zip(case.candidates, values, strict=True)
        })
        for name, found in measure_here(made, cases, seed).items()
    }  # fmt: skip


def scored(cases: Sequence[Case], asked: Namespace) -> dict[str, Floats]:
    """The metrics that are asked for, and given scores of the axis or of no axis."""
    given, _ = read_all_given(asked.scores)
    own = {name: grid(cases, values) for (name, axis), values in given.items()
           if axis in ("*", asked.axis)}  # fmt: skip
    return (measured(cases, asked.metrics, asked.seed) if asked.metrics else {}) | own


def comparable(scores: Grids) -> dict[str, Floats]:
    """NaN where not all of them have a score."""
    shared = np.all([np.isfinite(found) for found in scores.values()], axis=0)
    return {name: np.where(shared, found, np.nan) for name, found in scores.items()}


def means(found: Floats, weights: Floats) -> Floats:
    """(subsets, systems): each system's mean over weighted documents; NaN where it has none."""
    present = np.isfinite(found)
    counts, filled = weights @ present, np.where(present, found, 0.0)
    typical = quotient(weights @ np.abs(filled), counts)
    return settled_means(quotient(weights @ filled, counts), typical)


def scaled(found: Floats) -> Floats:
    """Divided by a power of two so that none exceeds 1."""
    divided: Floats = np.ldexp(found, -exponent_of(found))
    return divided


def correlation(x: Floats, y: Floats, level: str, coefficient: Correlation) -> float:
    """The value that `evaljudge agree` has; NaN where it is undefined."""
    both, index = np.isfinite(x) & np.isfinite(y), COEFFICIENTS.index(coefficient)
    x, y = scaled(np.where(both, x, np.nan)), scaled(np.where(both, y, np.nan))
    if level == "summary":
        return float(correlations(x[both], y[both])[index])
    if level == "system":
        every = np.ones((1, len(x)))
        return float(row_correlations(means(x, every), means(y, every))[index, 0])
    by_document = row_correlations(x, y)[index]
    return float(np.nanmean(by_document)) if np.isfinite(by_document).any() else np.nan


def show(heads: Sequence[str], rows: Sequence[Sequence[object]], names: int = 1) -> None:
    """A table whose first columns are names."""
    cells = [[f"{cell:.3f}" if isinstance(cell, float) else str(cell) for cell in row]
             for row in rows]  # fmt: skip
    align = "l" * names + "r" * (len(heads) - names)
    print(on_screen(Table("", list(heads), cells, align, lead=names), 36))
