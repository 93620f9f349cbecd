"""How far do people agree with each other, and which rater does not?"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import inf

from evaljudge.agreement import Ceiling, ceiling
from evaljudge.analyses import Analysis, Findings, RunFrame, Section
from evaljudge.sections import Table
from evaljudge.sections.figures import estimate, notes_on, tabled

PEOPLE = "How far people agree"
CEILING = (
    "One rater against the mean of the others, averaged over the raters: "
    "no scorer can be expected far above it. Skipped: texts with a single rating."
)
EACH = "Each rater beside the mean of the others: who agrees least with them comes first."


def rows(run: RunFrame) -> Iterator[Ceiling]:
    rated = run.compared
    for axis in sorted(rated.raters):
        texts, names = (rated.documents, rated.systems), run.raters.get(axis, ())
        for limit in ceiling(*texts, rated.table(axis), names=names, seed=run.seed):
            yield replace(limit, axis=axis)


def section(findings: Findings, in_short: bool) -> Iterator[Section]:
    spearmans: list[Ceiling] = [row for row in findings["ceiling"] if row.coefficient == "spearman"]
    columns = {"axis": "axis", "level": "level", "Spearman": estimate}
    columns |= {name: name for name in ("n", "skipped", "raters")}
    means = [row for row in spearmans if not row.rater]
    tables = [tabled("One rater and the others", means, 2, columns, lead=1), _each(spearmans)]
    about = [CEILING, EACH] if tables[1].rows else [CEILING]
    yield Section(PEOPLE, about, tables, notes_on(spearmans))


def _each(rows: Sequence[Ceiling]) -> Table:
    """Each named rater, the one who agrees least with the others first."""
    own = {(row.axis, row.rater, row.level): row for row in rows if row.rater}
    both = [
        (row, own[axis, rater, "summary"])
        for (axis, rater, level), row in own.items()
        if level == "sample"
    ]
    values = {two: next((row.value for row in two if row.value is not None), inf) for two in both}
    both.sort(key=lambda two: (two[0].axis, values[two]))
    columns = {
        "axis": lambda two: two[0].axis,
        "rater": lambda two: two[0].rater,
        "sample": lambda two: estimate(two[0]),
        "documents": lambda two: two[0].n,
        "summary": lambda two: estimate(two[1]),
        "texts": lambda two: two[1].n,
    }
    return tabled("Each rater and the mean of the others", both, 2, columns)


ANALYSIS = Analysis(Ceiling, rows, section, place=100)
