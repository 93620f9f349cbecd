"""How far do scores agree with people without the ratings that a file sets aside?

    {"doc_id": "d1", "system": "A", "axis": "coherence", "why": "one rater mistook the document"}
    {"doc_id": "d7"}                                  every rating of every candidate of d7

All else in a report stays on all ratings.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from pydantic import Field

from evaljudge.agreement import Agreement
from evaljudge.agreement.rated import Rated
from evaljudge.analyses import Analysis, Findings, RunFrame, Section
from evaljudge.analyses.agreement import agreement_of, levels_of, spearman_table
from evaljudge.config import Name
from evaljudge.corpora.files import rows_of
from evaljudge.errors import UserError
from evaljudge.sections.figures import notes_on, tabled
from evaljudge.settings import Settings, read_settings
from evaljudge.text import counted

OUTLIERS = (
    "All other tables are on every rating. Which ratings are wrong is a person's decision; taken "
    "after the scores were seen, it favours agreement: report these figures only beside the "
    "others. No rating: rows of the file that name none of this run."
)


@dataclass(frozen=True, slots=True)
class WithoutOutliers:
    """The agreement where the ratings are left out that a file names; empty if it names none."""

    file: str
    rows: int
    unmet: int  # rows that name no rating of the run
    set_aside: int  # ratings
    ratings: int  # in all
    agreement: Sequence[Agreement]


class Outlier(Settings):
    """A row of the file. A misspelt `system` would leave out all systems: unknown keys are
    refused, and null."""

    doc_id: str = Field(description="the document whose ratings are left out")
    system: Name = ""  # empty: all systems, or all axes
    axis: Name = ""
    why: str = ""


def rows(run: RunFrame) -> Iterator[WithoutOutliers]:
    if run.config is None or run.config.outliers is None:
        return
    outliers, rated = read_outliers(run.config.outliers), run.rated
    left, matched = set_aside(rated, outliers)
    ratings, kept = _ratings(rated), _ratings(left)
    agreement = list(agreement_of(left, run.seed)) if kept < ratings else []
    yield WithoutOutliers(
        file=run.config.outliers,
        rows=len(outliers),
        unmet=len(outliers) - len(matched),
        set_aside=ratings - kept,
        ratings=ratings,
        agreement=agreement,
    )


def read_outliers(file: str) -> list[Outlier]:
    outliers = [read_settings(Outlier, row.fields, "", f"{row.place}: ") for row in rows_of(file)]
    if not outliers:
        raise UserError(f"{file}: holds no row")
    return outliers


def set_aside(rated: Rated, outliers: list[Outlier]) -> tuple[Rated, set[int]]:
    rows = defaultdict(list)
    for row, (doc_id, system) in enumerate(rated.texts):
        rows[doc_id].append((row, system))
    human, matched = {axis: column.copy() for axis, column in rated.human.items()}, set[int]()
    for number, outlier in enumerate(outliers):
        for axis in human if not outlier.axis else {outlier.axis} & human.keys():
            named = [r for r, s in rows[outlier.doc_id] if outlier.system in ("", s)]
            if np.isfinite(rated.human[axis][named]).any():
                human[axis][named] = np.nan
                matched.add(number)
    return replace(rated, human=human, raters={}), matched


def _ratings(rated: Rated) -> int:
    return sum(int(np.count_nonzero(np.isfinite(column))) for column in rated.human.values())


def section(findings: Findings, in_short: bool) -> Iterator[Section]:
    files: Sequence[WithoutOutliers] = findings["without_outliers"]
    columns = {"file": "file", "rows": "rows", "no rating": "unmet"}
    columns |= {"set aside": "set_aside", "of ratings": "ratings"}
    tables = [tabled("What is set aside", files, 1, columns)]
    for outliers in files:
        levels = levels_of(outliers.agreement, findings.within_documents)
        if in_short:
            tables.append(spearman_table("Spearman's", levels))
        else:
            number = counted(outliers.set_aside, "rating", "ratings")
            title = f"Without {number} that {outliers.file} sets aside"
            tables += [level.table(f"{title}: {level.name} level") for level in levels]
    number = counted(sum(outliers.set_aside for outliers in files), "rating", "ratings")
    notes = notes_on(row for outliers in files for row in outliers.agreement)
    yield Section(f"Without {number} that a file sets aside", [OUTLIERS], tables, notes)


ANALYSIS = Analysis(WithoutOutliers, rows, section, place=10)
