"""How do axes go together, people's own and each scorer's?"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations, islice

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
    # people's first, so that all follow the order of people's axes
    rows: list[AxisPair] = [row for row in findings["axes"] if row.coefficient == "spearman"]
    rows.sort(key=lambda row: row.of != HUMAN)
    if in_short:
        tables = [_pairs([row for row in rows if row.level == "summary"])]
        yield Section(f"{AXES} (all texts pooled)", [], tables, [AXES_ABOUT])
        return
    order = _axes_of(rows)
    tables = []
    for level, of in dict.fromkeys((level, r.of) for level in LEVELS for r in rows):
        shared = [row for row in rows if (row.level, row.of) == (level, of)]
        if shared:
            names = sorted(_axes_of(shared), key=order.index)
            tables.append(_matrix(f"{level.capitalize()} level: {_shown(of)}", shared, names))
    yield Section(AXES, [AXES_ABOUT], tables, notes_on(rows))


def _pairs(rows: Sequence[AxisPair]) -> Table:
    values = {(row.of, frozenset((row.axis, row.other))): correlation(row.value) for row in rows}
    whose = list(dict.fromkeys(row.of for row in rows))
    cells = [
        [*pair, *(values.get((of, frozenset(pair)), NONE) for of in whose)]
        for pair in combinations(_axes_of(rows), 2)
        if any((of, frozenset(pair)) in values for of in whose)
    ]
    heads = ["axis", "other axis", *map(_shown, whose)]
    lead = 3 if HUMAN in whose else 2  # people's column beside every scorer's
    return Table("", heads, cells, "ll" + "r" * len(whose), lead)


def _axes_of(rows: Sequence[AxisPair]) -> list[str]:
    return list(dict.fromkeys(name for row in rows for name in (row.axis, row.other)))


def _shown(whose: str) -> str:
    return "people" if whose == HUMAN else whose


def _matrix(title: str, rows: Sequence[AxisPair], names: Sequence[str]) -> Table:
    figures = {(name, name): "1" for name in names}
    for row in rows:
        figures[row.axis, row.other] = figures[row.other, row.axis] = estimate(row)
    cells = [[axis, *(figures.get((axis, other), NONE) for other in names)] for axis in names]
    return Table(title, ["axis", *names], cells, "l" + "r" * len(names))


ANALYSIS = Analysis(AxisPair, rows, section, place=90)
