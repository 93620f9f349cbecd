"""How do axes go together, people's own and each scorer's?"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice

from evaljudge.agreement import LEVELS, AxisPair, among
from evaljudge.agreement.rated import MOST_AXES
from evaljudge.analyses import Analysis, Findings, RunFrame, Section
from evaljudge.records import HUMAN
from evaljudge.sections import Table
from evaljudge.sections.figures import NONE, correlation, estimate, notes_on

AXES = "Axes among themselves"
AXES_ABOUT = (
    "Spearman's correlation between two axes of the same texts. "
    "A scorer whose own axes agree with each other much more than people's do is scoring one thing."
)


def rows(run: RunFrame) -> Iterator[AxisPair]:
    rated = run.compared
    several = {HUMAN: dict(sorted(rated.human.items()))}
    several |= {scorer: rated.axes_of(scorer) for scorer, _ in rated.scores}
    for whose, columns in several.items():
        if len(columns) > 1:
            few = dict(islice(columns.items(), MOST_AXES))
            for pair in among(rated.documents, rated.systems, few, seed=run.seed):
                yield replace(pair, of=whose)


def section(findings: Findings, in_short: bool) -> Iterator[Section]:
    rows: list[AxisPair] = [row for row in findings["axes"] if row.coefficient == "spearman"]
    rows.sort(key=lambda row: row.of != HUMAN)  # people's column first
    tables = [
        _table(level, [row for row in rows if row.level == level], in_short)
        for level in (LEVELS[-1:] if in_short else LEVELS)
    ]
    if in_short:
        yield Section(f"{AXES} (all texts pooled)", [], tables, [AXES_ABOUT])
    else:
        yield Section(AXES, [AXES_ABOUT], tables, notes_on(rows))


def _table(level: str, rows: Sequence[AxisPair], in_short: bool) -> Table:
    by_pair: dict[tuple[str, ...], dict[str, str]] = {}
    for row in rows:
        figure = correlation(row.value) if in_short else estimate(row)
        by_pair.setdefault(tuple(sorted((row.axis, row.other))), {})[row.of] = figure
    whose = dict.fromkeys(row.of for row in rows)
    cells = [[*pair, *(of_pair.get(of, NONE) for of in whose)] for pair, of_pair in by_pair.items()]
    heads = ["axis", "other axis", *("people" if of == HUMAN else of for of in whose)]
    lead = 3 if HUMAN in whose else 2  # people's column beside every scorer's
    return Table(f"{level.capitalize()} level", heads, cells, "ll" + "r" * len(whose), lead)


ANALYSIS = Analysis(AxisPair, rows, section, place=90)
