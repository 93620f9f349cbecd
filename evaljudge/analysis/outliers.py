"""Ratings that people hold to be wrong are left out of further tables, where a file names them.

    outliers: outliers.jsonl
    {"doc_id": "d1", "system": "A", "axis": "coherence", "why": "one rater mistook the document"}
    {"doc_id": "d7"}                                  every rating of every candidate of d7

All else in a report stays on all ratings. Which ratings are wrong is a person's decision, often
taken after the scores were seen, so agreement without them looks better than it is: the report
shows both.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from evaljudge.agreement.rated import Rated
from evaljudge.analysis.findings import WithoutOutliers
from evaljudge.analysis.statistics import agreement_of
from evaljudge.analysis.tables import Tables
from evaljudge.config import Config
from evaljudge.corpora.files import rows_of
from evaljudge.corpora.rows import Row
from evaljudge.errors import UserError, unknown

KEYS = ("doc_id", "system", "axis", "why")
Candidate = tuple[str, str]
"""A document and a system."""


@dataclass(frozen=True, slots=True)
class Outlier:
    """A row of the file; None stands for all systems, or all axes."""

    doc_id: str
    system: str | None = None
    axis: str | None = None


def with_outliers(config: Config, tables: Tables) -> dict[str, Any]:
    """What Findings holds of them; nothing, where no file is given."""
    if config.outliers is None:
        return {}
    outliers, rated = read_outliers(config.outliers), tables.as_rated()
    left, met = set_aside(rated, [(row.doc_id, row.system) for row in tables.rows], outliers)
    ratings, kept = _ratings(rated), _ratings(left)
    agreement = list(agreement_of(left, config.seed)) if kept < ratings else []
    found = WithoutOutliers(
        file=config.outliers,
        rows=len(outliers),
        unmet=len(outliers) - len(met),
        set_aside=ratings - kept,
        ratings=ratings,
        agreement=agreement,
    )
    return {"without_outliers": [found]}


def read_outliers(file: str) -> list[Outlier]:
    found = [_outlier(row) for row in rows_of(file)]
    if not found:
        raise UserError(f"{file}: holds no row")
    return found


def _outlier(row: Row) -> Outlier:
    """A misspelt `system` would leave out all systems: unknown keys are refused."""
    for key in row.fields:
        if key not in KEYS:
            raise UserError(f"{row.place}: {unknown('key', key, KEYS)}")
    for key in KEYS:
        if not isinstance(row.fields.get(key, ""), str):
            raise UserError(f"{row.place}: `{key}` must be a text; leave it out to mean all")
    if "doc_id" not in row.fields:
        raise UserError(f"{row.place}: needs `doc_id`, a text")
    return Outlier(row.fields["doc_id"], row.fields.get("system"), row.fields.get("axis"))


def set_aside(
    rated: Rated, candidates: Sequence[Candidate], outliers: Sequence[Outlier]
) -> tuple[Rated, set[int]]:
    """Without the ratings that the outliers name, and which of the outliers name any."""
    assert len(candidates) == rated.documents.size, "a row for each"
    named: dict[str, list[int]] = {}
    for number, outlier in enumerate(outliers):
        named.setdefault(outlier.doc_id, []).append(number)
    human = {axis: column.copy() for axis, column in rated.human.items()}
    met: set[int] = set()
    for row, (doc_id, system) in enumerate(candidates):
        for number in named.get(doc_id, ()):
            outlier = outliers[number]
            for axis in rated.human:
                names = outlier.system in (None, system) and outlier.axis in (None, axis)
                if names and np.isfinite(rated.human[axis][row]):
                    human[axis][row] = np.nan
                    met.add(number)
    return replace(rated, human=human, raters={}), met


def _ratings(rated: Rated) -> int:
    return sum(int(np.count_nonzero(np.isfinite(column))) for column in rated.human.values())
