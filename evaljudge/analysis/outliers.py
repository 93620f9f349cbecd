"""Ratings that people hold to be wrong are left out of further tables, where a file names them.

    outliers: outliers.jsonl
    {"doc_id": "d1", "system": "A", "axis": "coherence", "why": "one rater mistook the document"}
    {"doc_id": "d7"}                                  every rating of every candidate of d7

All else in a report stays on all ratings. Which ratings are wrong is a person's decision, often
taken after the scores were seen, so agreement without them looks better than it is: the report
shows both.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from typing import Any

import numpy as np
from pydantic import Field

from evaljudge.agreement.rated import Rated
from evaljudge.analysis.findings import WithoutOutliers
from evaljudge.analysis.statistics import agreement_of
from evaljudge.analysis.tables import Tables
from evaljudge.config import Config, Name
from evaljudge.corpora.files import rows_of
from evaljudge.errors import UserError
from evaljudge.settings import Settings, read_settings


class Outlier(Settings):
    """A row of the file. A misspelt `system` would leave out all systems: unknown keys are
    refused, and null."""

    doc_id: str = Field(description="the document whose ratings are left out")
    system: Name = ""
    """Empty: all systems, or all axes."""
    axis: Name = ""
    why: str = ""


def with_outliers(config: Config, tables: Tables) -> dict[str, Any]:
    """What Findings holds of them; nothing, where no file is given."""
    if config.outliers is None:
        return {}
    outliers, rated = read_outliers(config.outliers), tables.as_rated()
    left, met = set_aside(rated, [(row.doc_id, row.system) for row in tables.rows], outliers)
    ratings, kept = (
        sum(int(np.isfinite(column).sum()) for column in part.human.values())
        for part in (rated, left)
    )
    found = WithoutOutliers(
        file=config.outliers,
        rows=len(outliers),
        unmet=len(outliers) - len(met),
        set_aside=ratings - kept,
        ratings=ratings,
        agreement=list(agreement_of(left, config.seed)) if kept < ratings else [],
    )
    return {"without_outliers": [found]}


def read_outliers(file: str) -> list[Outlier]:
    found = [read_settings(Outlier, row.fields, "", f"{row.place}: ") for row in rows_of(file)]
    if not found:
        raise UserError(f"{file}: holds no row")
    return found


def set_aside(
    rated: Rated, candidates: list[tuple[str, str]], outliers: list[Outlier]
) -> tuple[Rated, set[int]]:
    """Without the ratings that the outliers name, and which of the outliers name any."""
    assert len(candidates) == rated.documents.size, "a row for each"
    rows = defaultdict(list)
    for row, (doc_id, system) in enumerate(candidates):
        rows[doc_id].append((row, system))
    human, met = {axis: column.copy() for axis, column in rated.human.items()}, set[int]()
    for number, outlier in enumerate(outliers):
        for axis in human if not outlier.axis else {outlier.axis} & human.keys():
            named = [r for r, s in rows[outlier.doc_id] if outlier.system in ("", s)]
            if np.isfinite(rated.human[axis][named]).any():
                human[axis][named] = np.nan
                met.add(number)
    return replace(rated, human=human, raters={}), met
