"""How far do scores agree with people without the ratings that a file sets aside?

    outliers: outliers.jsonl
    {"doc_id": "d1", "system": "A", "axis": "coherence", "why": "one rater mistook the document"}
    {"doc_id": "d7"}                                  every rating of every candidate of d7

All else in a report stays on all ratings. Which ratings are wrong is a person's decision, often
taken after the scores were seen, so agreement without them looks better than it is: the report
shows both.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from evaljudge.agreement import Agreement
from evaljudge.agreement.rated import Rated
from evaljudge.analyses import Analysis, RunFrame
from evaljudge.analyses.agreement import (
    agreement_of,
    level_table,
    levels_of,
    sampled_note,
    spearman_table,
)
from evaljudge.analysis.findings import Findings
from evaljudge.corpora.files import rows_of
from evaljudge.corpora.rows import Row
from evaljudge.errors import UserError, unknown
from evaljudge.sections import Section, Table
from evaljudge.sections.figures import count

OUTLIERS = (
    "All other tables are on every rating. Which ratings are wrong is a person's decision; taken "
    "after the scores were seen, it favours agreement: report these figures beside the others, "
    "never alone. No rating: rows of the file that name none of this run."
)


@dataclass(frozen=True, slots=True)
class WithoutOutliers:
    """The agreement where the ratings are left out that a file names; empty if it names none."""

    file: str
    rows: int
    unmet: int  # rows that name no rating of the run
    set_aside: int  # ratings
    ratings: int  # that there are in all
    agreement: Sequence[Agreement]


KEYS = ("doc_id", "system", "axis", "why")
Candidate = tuple[str, str]
"""A document and a system."""


@dataclass(frozen=True, slots=True)
class Outlier:
    """A row of the file; None stands for all systems, or all axes."""

    doc_id: str
    system: str | None = None
    axis: str | None = None


def rows(run: RunFrame) -> Iterator[WithoutOutliers]:
    if run.config is None or run.config.outliers is None:
        return
    outliers, rated = read_outliers(run.config.outliers), run.rated
    left, met = set_aside(rated, [(row.doc_id, row.system) for row in run.tables.rows], outliers)
    ratings, kept = _ratings(rated), _ratings(left)
    agreement = list(agreement_of(left, run.seed)) if kept < ratings else []
    yield WithoutOutliers(
        file=run.config.outliers,
        rows=len(outliers),
        unmet=len(outliers) - len(met),
        set_aside=ratings - kept,
        ratings=ratings,
        agreement=agreement,
    )


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


def section(findings: Findings, in_short: bool) -> Iterator[Section]:
    """A table for each level and file; in short, Spearman's of all levels."""
    given: Sequence[WithoutOutliers] = findings["without_outliers"]
    tables = list[Table]()
    for one in given:
        found = levels_of(one.agreement, findings.within_documents)
        if in_short:
            tables.append(spearman_table("Spearman's", found))
        else:
            title = f"Without {_in_words(one.set_aside)} that {one.file} sets aside"
            tables += [level_table(f"{title}: {level.name} level", level) for level in found]
    title = f"Without {_in_words(sum(one.set_aside for one in given))} that a file sets aside"
    notes = sampled_note(row for one in given for row in one.agreement)
    yield Section(title, [OUTLIERS], [_files(given), *(t for t in tables if t.rows)], notes)


def _in_words(number: int) -> str:
    return f"{count(number)} rating{'' if number == 1 else 's'}"


def _files(found: Sequence[WithoutOutliers]) -> Table:
    heads = ["file", "rows", "no rating", "set aside", "of ratings"]
    cells = [
        [one.file, *map(count, (one.rows, one.unmet, one.set_aside, one.ratings))] for one in found
    ]
    return Table("What is set aside", heads, cells, "lrrrr")


ANALYSIS = Analysis(WithoutOutliers, rows, section, place=10)
