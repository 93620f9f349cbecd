"""What mean rating would people give all texts, from those that were drawn to be rated?

Ratings that come from the corpus or from plain rows are left out: how these texts were chosen is
not known.
"""

from collections.abc import Iterator
from dataclasses import replace

from evaljudge.analyses import Analysis, Findings, RunFrame, Section
from evaljudge.analysis.labelling import WeightedMean, weighted_mean
from evaljudge.records import ANY_SYSTEM
from evaljudge.sections.figures import bounded, tabled

TITLE = "People's ratings of drawn texts"
ABOUT = (
    "Mean ratings of all texts and of each system's, corrected for how the rated texts were drawn. "
    "Intervals: 95%, documents as clusters; none of fewer than 6 documents, or where nearly all "
    "ratings are equal. Worth: texts drawn with equal probabilities that would weigh as much."
)
IN_SHORT = "The mean of all texts, corrected for how they were drawn; the report has each system's."


def rows(run: RunFrame) -> Iterator[WeightedMean]:
    grid = run.grid
    whose = [(ANY_SYSTEM, slice(None)), *((s, slice(n, n + 1)) for n, s in enumerate(grid.systems))]
    for axis in sorted(grid.probabilities.keys() & grid.human.keys()):
        for system, at in whose:
            mean = weighted_mean(grid.human[axis][:, at], grid.probabilities[axis][:, at])
            if mean is not None:
                yield replace(mean, axis=axis, system=system)


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


ANALYSIS = Analysis(WeightedMean, rows, section, place=80)
