"""People's mean ratings from texts that were drawn for rating, corrected for how they were drawn.

    labelled_means(grid)
    -> [LabelledMean("fluency", "*", 3.42, 3.21, 3.63, n=200, documents=87, effective=141.2),
        LabelledMean("fluency", "BART", 3.91, …), …]

Ratings that come from the corpus or from plain rows are left out: how these texts were chosen is
not known.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict

import numpy as np

from evaljudge.agreement.rated import Floats
from evaljudge.analysis.findings import LabelledMean
from evaljudge.decisions.grid import Grid
from evaljudge.decisions.sampling import weighted_mean
from evaljudge.records import ANY_SYSTEM


def labelled_means(grid: Grid) -> Iterator[LabelledMean]:
    documents = np.broadcast_to(
        np.arange(len(grid.documents))[:, None], (len(grid.documents), len(grid.systems))
    )
    for axis in sorted(grid.probabilities.keys() & grid.human.keys()):
        probabilities = grid.probabilities[axis]
        known = np.where(np.isfinite(probabilities), grid.human[axis], np.nan)
        yield from _mean(axis, ANY_SYSTEM, known, probabilities, documents)
        for column, system in enumerate(grid.systems):
            one = slice(column, column + 1)
            yield from _mean(axis, system, known[:, one], probabilities[:, one], documents[:, one])


def _mean(
    axis: str, system: str, human: Floats, probabilities: Floats, documents: np.ndarray
) -> Iterator[LabelledMean]:
    found = weighted_mean(human.ravel(), probabilities.ravel(), documents.ravel())
    if found is not None:
        yield LabelledMean(axis, system, **asdict(found))
