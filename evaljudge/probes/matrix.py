"""All scores and ratings of a corpus side by side, a row for each candidate; and how they agree.

    documents [0 0 1]  systems [0 1 0]
    scores {"rouge1": [.3 .4 .2], "synthetic/fluency": [3.1 nan 2.8]}  human {"fluency": [4 5 3]}

A scorer of one axis, or of none, is named `scorer`; a scorer of several axes, `scorer/axis`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np

from evaljudge.agreement import COEFFICIENTS, Correlation, Level
from evaljudge.agreement.coefficients import correlations, quotient, row_correlations
from evaljudge.agreement.pairs import Codes, Floats, exponent_of
from evaljudge.agreement.system import settled_means
from evaljudge.errors import UserError, unknown
from evaljudge.metrics.protocol import Unscored, Value
from evaljudge.records import ANY_AXIS, Candidate, Case

Given = Mapping[tuple[str, str], Mapping[tuple[str, str], float | None]]
Measure = Callable[[Sequence[Case]], Mapping[str, Sequence[Sequence[Value]]]]
"""By metric: for each case, a value for each candidate."""

FEWEST_SYSTEMS = 3


@dataclass(frozen=True, slots=True)
class ScoreMatrix:
    """Columns hold one number for each candidate, case after case; NaN if unscored or unrated."""

    cases: Sequence[Case]
    documents: Codes
    systems: Codes
    system_names: tuple[str, ...]
    scores: Mapping[str, Floats]
    axes: Mapping[str, str]
    """The axis of each scorer; ANY_AXIS where it has none."""
    human: Mapping[str, Floats]
    unread: Sequence[str] = ()
    """Columns of the cases that nothing reads: they may have been meant as ratings."""

    def rated(self, axis: str) -> Floats:
        if not self.human:
            unread = "".join(f"; {note}" for note in self.unread)
            raise UserError(f"no candidate of the cases has human ratings to agree with{unread}")
        if axis not in self.human:
            raise UserError(f"--axis: {unknown('human axis', axis, self.human)}")
        return self.human[axis]

    def against(self, axis: str) -> dict[str, Floats]:
        """The scorers to compare with this axis: those of the axis, and those without an axis."""
        meant = {ANY_AXIS, axis}
        found = {name: self.scores[name] for name in self.scores if self.axes[name] in meant}
        if not found:
            raise UserError(f"no scorer speaks of {axis!r}; there are {', '.join(self.scores)}")
        return found

    def comparable(self, axis: str) -> dict[str, Floats]:
        """The same scorers, with NaN for candidates that not all of them scored."""
        found = self.against(axis)
        shared = np.all([np.isfinite(column) for column in found.values()], axis=0)
        if not np.any(shared & np.isfinite(self.rated(axis))):
            raise UserError(
                f"no candidate has a rating of {axis!r} and a score of each of {', '.join(found)}"
            )
        return {name: np.where(shared, column, np.nan) for name, column in found.items()}

    def grid(self, column: Floats) -> Floats:
        """(documents, systems); also NaN where a system wrote nothing for a document."""
        found = np.full((len(self.cases), len(self.system_names)), np.nan)
        found[self.documents, self.systems] = column
        return found


def score_matrix(
    cases: Sequence[Case], given: Given, measured: Mapping[str, Floats]
) -> ScoreMatrix:
    """From given scores, by (scorer, axis), and scores measured here, by metric."""
    names = tuple(dict.fromkeys(c.system for case in cases for c in case.candidates))
    if len(names) < FEWEST_SYSTEMS:
        raise UserError(f"a study needs {FEWEST_SYSTEMS} systems to compare; found {len(names)}")
    if not given and not measured:
        raise UserError("nothing to study: name --metrics, or --scores that were given")
    places = {name: code for code, name in enumerate(names)}
    labels = dict(zip(given, _labels(list(given)), strict=True))
    for name, times in Counter([*labels.values(), *measured]).items():
        if times > 1:
            raise UserError(f"scorer {name!r} is there twice, in --scores or in --metrics")
    columns = {labels[key]: _given_column(cases, values) for key, values in given.items()}
    for name, column in columns.items():
        if not np.any(np.isfinite(column)):
            raise UserError(f"scorer {name!r}: no score given belongs to a candidate of the cases")
    return ScoreMatrix(
        cases=cases,
        documents=np.repeat(np.arange(len(cases)), [len(case.candidates) for case in cases]),
        systems=np.array([places[c.system] for _, c in _candidates(cases)], dtype=np.intp),
        system_names=names,
        scores={**measured, **columns},
        axes={**dict.fromkeys(measured, ANY_AXIS), **{labels[key]: key[1] for key in given}},
        human=_ratings(cases),
    )


def measured_columns(measure: Measure, cases: Sequence[Case]) -> dict[str, Floats]:
    return columns_of(measure(cases))


def columns_of(measured: Mapping[str, Sequence[Sequence[Value]]]) -> dict[str, Floats]:
    return {
        name: np.array([np.nan if isinstance(v, Unscored) else v for v in chain(*by_case)])
        for name, by_case in measured.items()
    }


def _labels(keys: Sequence[tuple[str, str]]) -> Iterator[str]:
    axes = Counter(scorer for scorer, _ in keys)
    for scorer, axis in keys:
        yield scorer if axes[scorer] == 1 or axis == ANY_AXIS else f"{scorer}/{axis}"


def _given_column(cases: Sequence[Case], values: Mapping[tuple[str, str], float | None]) -> Floats:
    found = (values.get((case.document.doc_id, c.system)) for case, c in _candidates(cases))
    return np.array([np.nan if value is None else value for value in found])


def _ratings(cases: Sequence[Case]) -> dict[str, Floats]:
    axes = dict.fromkeys(axis for _, c in _candidates(cases) for axis in c.ratings)
    return {
        axis: np.array([c.ratings.get(axis, np.nan) for _, c in _candidates(cases)])
        for axis in axes
    }


def _candidates(cases: Sequence[Case]) -> Iterator[tuple[Case, Candidate]]:
    return ((case, candidate) for case in cases for candidate in case.candidates)


def correlation(x: Floats, y: Floats, level: Level, coefficient: Correlation) -> float:
    """Of two grids (documents × systems, NaN where absent); NaN where it is undefined.

    correlation([[1, 2, 3], [1, 3, 2]], [[1, 2, 3], [1, 2, 3]], "sample", "spearman") -> 0.75

    The same values as those of evaljudge.agreement, without an interval and at a fraction of the
    cost: a probe asks for thousands.
    """
    both = np.isfinite(x) & np.isfinite(y)
    x, y = scaled(np.where(both, x, np.nan)), scaled(np.where(both, y, np.nan))
    index = COEFFICIENTS.index(coefficient)
    if level == "summary":
        return float(correlations(x[both], y[both])[index])
    if level == "system":
        everything = np.ones((1, len(x)))
        return float(row_correlations(means(x, everything), means(y, everything))[index, 0])
    by_document = row_correlations(x, y)[index]
    defined = by_document[np.isfinite(by_document)]
    return float(defined.mean()) if defined.size else np.nan


def spread(
    coefficients: Floats, band: tuple[float, float]
) -> tuple[float | None, float | None, float | None, int]:
    """The mean and two percentiles of those that are defined, and how many these are."""
    defined = coefficients[np.isfinite(coefficients)]
    if not defined.size:
        return None, None, None, 0
    low, high = np.percentile(defined, band)
    return float(defined.mean()), float(low), float(high), defined.size


def means(grid: Floats, weights: Floats) -> Floats:
    """(subsets, systems): each system's mean over weighted documents; NaN where it has none."""
    present = np.isfinite(grid)
    counts = weights @ present
    filled = np.where(present, grid, 0.0)
    typical = quotient(weights @ np.abs(filled), counts)
    return settled_means(quotient(weights @ filled, counts), typical)


def scaled(grid: Floats) -> Floats:
    """Divided by a power of two so that none exceeds 1."""
    found: Floats = np.ldexp(grid, -exponent_of(grid))
    return found
