"""What mean rating would people give all texts, from those that were drawn to be rated?

Ratings that come from the corpus or from plain rows are left out: how these texts were chosen is
not known.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass

import numpy as np

from evaljudge.agreement.rated import Floats
from evaljudge.analyses import Analysis, Findings, RunFrame, Section
from evaljudge.decisions.sampling import weighted_mean
from evaljudge.records import ANY_SYSTEM
from evaljudge.sections.figures import bounded, tabled

TITLE = "People's ratings of drawn texts"
ABOUT = (
    "Mean ratings of all texts and of each system's, corrected for how the rated texts were drawn. "
    "Intervals: 95%, documents as clusters; none of fewer than 6 documents. Worth: texts drawn "
    "with equal probabilities that would weigh as much."
)
IN_SHORT = "The mean of all texts, corrected for how they were drawn; the report has each system's."


@dataclass(frozen=True, slots=True)
class LabelledMean:
    """People's mean rating of all texts, or of one system's, from those that were drawn for
    rating; corrected for how they were drawn."""

    axis: str
    system: str  # ANY_SYSTEM: all texts
    value: float
    low: float | None
    high: float | None
    n: int
    documents: int
    effective: float


def rows(run: RunFrame) -> Iterator[LabelledMean]:
    grid = run.grid
    documents = np.broadcast_to(
        np.arange(len(grid.documents))[:, None], (len(grid.documents), len(grid.systems))
    )
    for axis in sorted(grid.probabilities.keys() & grid.human.keys()):
        probabilities = grid.probabilities[axis]
        labels = np.where(np.isfinite(probabilities), grid.human[axis], np.nan)
        yield from _mean(axis, ANY_SYSTEM, labels, probabilities, documents)
        for column, system in enumerate(grid.systems):
            at = slice(column, column + 1)
            yield from _mean(axis, system, labels[:, at], probabilities[:, at], documents[:, at])


def _mean(
    axis: str, system: str, human: Floats, probabilities: Floats, documents: np.ndarray
) -> Iterator[LabelledMean]:
    mean = weighted_mean(human.ravel(), probabilities.ravel(), documents.ravel())
    if mean is not None:
        yield LabelledMean(axis, system, **asdict(mean))


def section(findings: Findings, in_short: bool) -> Iterator[Section]:
    rows = [row for row in findings["labelled"] if row.system == ANY_SYSTEM or not in_short]
    columns = {
        "axis": "axis",
        "system": lambda row: "all texts" if row.system == ANY_SYSTEM else row.system,
        "mean": bounded,
        "texts": "n",
        "documents": "documents",
        "worth": lambda row: round(row.effective),
    }
    about, title = (IN_SHORT, "") if in_short else (ABOUT, "Mean ratings")
    yield Section(TITLE, [about], [tabled(title, rows, 2, columns)])


ANALYSIS = Analysis(LabelledMean, rows, section, place=80)
