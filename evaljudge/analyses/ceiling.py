"""How far do people agree with each other?"""

from collections.abc import Iterator
from dataclasses import replace

from evaljudge.agreement import Ceiling, ceiling
from evaljudge.analyses import Analysis, Findings, RunFrame, Section
from evaljudge.sections.figures import estimate, notes_on, tabled

PEOPLE = "How far people agree"
CEILING = (
    "One rater against the mean of the others, averaged over the raters: "
    "no scorer can be expected far above it. Skipped: texts with a single rating."
)


def rows(run: RunFrame) -> Iterator[Ceiling]:
    rated = run.compared
    for axis in sorted(rated.raters):
        for limit in ceiling(rated.documents, rated.systems, rated.table(axis), seed=run.seed):
            yield replace(limit, axis=axis)


def section(findings: Findings, in_short: bool) -> Iterator[Section]:
    spearmans: list[Ceiling] = [row for row in findings["ceiling"] if row.coefficient == "spearman"]
    columns = {"axis": "axis", "level": "level", "Spearman": estimate}
    columns |= {name: name for name in ("n", "skipped", "raters")}
    table = tabled("One rater and the others", spearmans, 2, columns, lead=1)
    yield Section(PEOPLE, [CEILING], [table], notes_on(spearmans))


ANALYSIS = Analysis(Ceiling, rows, section, place=100)
