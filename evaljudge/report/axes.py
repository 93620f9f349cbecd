"""How axes go together: those of people, and those of each scorer.

Sample level: people
| axis      |            coherence |              fluency |
| --------- | -------------------: | -------------------: |
| coherence |                    1 | 0.512 [0.431, 0.590] |
| fluency   | 0.512 [0.431, 0.590] |                    1 |
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

from evaljudge.analysis.findings import AxisRow, Findings
from evaljudge.report.levels import LEVELS, of_documents
from evaljudge.sections import Section, Table
from evaljudge.sections.figures import NONE, SAMPLED, SAMPLED_NOTE, correlation, estimate

TITLE = "Axes among themselves"
HUMAN = "human"
ABOUT = (
    "Spearman's correlation between two axes of the same candidates. "
    "A scorer whose own axes agree with each other much more than people's do is scoring one thing."
)


def axes(findings: Findings) -> Section:
    """A matrix for each level and each of people and scorers."""
    rows = _spearman(findings)
    tables = list(_matrices(rows))
    sampled = any(row.sampled for row in rows)
    notes = [f"{SAMPLED} {SAMPLED_NOTE}"] if sampled else []
    return Section(TITLE, [ABOUT, *of_documents(findings)], tables, notes)


def axes_in_short(findings: Findings) -> Section:
    """All candidates pooled: a row for each pair, a column each for people and scorers, so that
    what is to be compared stands side by side.
    """
    pooled = [row for row in _spearman(findings) if row.level == "summary"]
    values = {(row.of, frozenset((row.axis, row.other))): correlation(row.value) for row in pooled}
    whose, names = _whose(pooled), _axes_of(pooled)
    rows = [
        [*pair, *(values.get((of, frozenset(pair)), NONE) for of in whose)]
        for pair in combinations(names, 2)
        if any((of, frozenset(pair)) in values for of in whose)
    ]
    heads = ["axis", "other axis", *map(_named, whose)]
    sides = "ll" + "r" * len(whose)
    lead = 3 if HUMAN in whose else 2  # people's column beside every scorer's
    table = Table("", heads, rows, sides, lead)
    return Section(f"{TITLE} (all candidates pooled)", [], [table] if rows else [], [ABOUT])


def _spearman(findings: Findings) -> list[AxisRow]:
    """People's first, so that all are told in the order of people's axes."""
    rows = [row for row in findings.axes if row.coefficient == "spearman"]
    return sorted(rows, key=lambda row: row.of != HUMAN)


def _whose(rows: Sequence[AxisRow]) -> list[str]:
    return list(dict.fromkeys(row.of for row in rows))


def _axes_of(rows: Sequence[AxisRow]) -> list[str]:
    return list(dict.fromkeys(name for row in rows for name in (row.axis, row.other)))


def _named(of: str) -> str:
    return "people" if of == HUMAN else of


def _matrices(rows: Sequence[AxisRow]) -> Iterator[Table]:
    order = _axes_of(rows)
    for level in LEVELS:
        at_level = [row for row in rows if row.level == level]
        for of in _whose(at_level):
            title = f"{level.capitalize()} level: {_named(of)}"
            own = [row for row in at_level if row.of == of]
            yield _matrix(title, own, sorted(_axes_of(own), key=order.index))


def _matrix(title: str, rows: Sequence[AxisRow], names: Sequence[str]) -> Table:
    told = {(row.axis, row.other): estimate(row) for row in rows}
    told |= {(other, axis): value for (axis, other), value in told.items()}
    told |= {(name, name): "1" for name in names}
    cells = [[axis, *(told.get((axis, other), NONE) for other in names)] for axis in names]
    return Table(title, ["axis", *names], cells, "l" + "r" * len(names))
