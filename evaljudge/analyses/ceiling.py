"""How far do people agree with each other, and which rater does not?"""

from collections.abc import Iterator
from dataclasses import replace
from math import inf

from evaljudge.agreement import Ceiling, ceiling
from evaljudge.analyses import Analysis, Findings, RunFrame, Section
from evaljudge.sections.figures import estimate, notes_on, tabled

PEOPLE = "How far people agree"
CEILING = (
    "One rater against the mean of the others, averaged over the raters: how well a person does. A "
    "scorer is compared with the mean of all raters, which is surer than one rater, so it may do "
    "better. Skipped: texts with a single rating."
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
    columns = {"axis": "axis", "level": "level", "rater": "rater", "Spearman": estimate, "n": "n"}
    own = [row for row in spearmans if row.rater and row.level != "system"]
    own.sort(key=lambda row: (row.axis, row.level, inf if row.value is None else row.value))
    each = tabled("Each rater and the others", own, 3, columns)
    columns = {name: what for name, what in columns.items() if name != "rater"}
    columns |= {"skipped": "skipped", "raters": "raters"}
    means = [row for row in spearmans if not row.rater]
    table = tabled("One rater and the others", means, 2, columns, lead=1)
    yield Section(PEOPLE, [CEILING, EACH] if own else [CEILING], [table, each], notes_on(spearmans))


ANALYSIS = Analysis(Ceiling, rows, section, place=100)
