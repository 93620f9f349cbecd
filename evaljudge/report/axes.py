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

from evaljudge.agreement import AxisPair
from evaljudge.analysis.findings import Findings
from evaljudge.report.levels import LEVELS, of_documents, sampled_note
from evaljudge.sections import Section, Table
from evaljudge.sections.figures import NONE, correlation, estimate

TITLE = "Axes among themselves"
HUMAN = "human"
ABOUT = (
    "Spearman's correlation between two axes of the same candidates. "
    "A scorer whose own axes agree with each other much more than people's do is scoring one thing."
)


def axes(findings: Findings, in_short: bool = False) -> Section:
    """A matrix for each level and each of people and scorers; in short, all candidates pooled."""
    # people's first, so that all follow the order of people's axes
    rows = [row for row in findings.axes if row.coefficient == "spearman"]
    rows.sort(key=lambda row: row.of != HUMAN)
    if in_short:
        table = _pairs([row for row in rows if row.level == "summary"])
        tables = [table] if table.rows else []
        return Section(f"{TITLE} (all candidates pooled)", [], tables, [ABOUT])
    about = [ABOUT, *of_documents(findings)]
    return Section(TITLE, about, list(_matrices(rows)), sampled_note(rows))


def _pairs(rows: Sequence[AxisPair]) -> Table:
    """A row for each pair, a column each for people and scorers, so that what is to be compared
    stands side by side.
    """
    values = {(row.of, frozenset((row.axis, row.other))): correlation(row.value) for row in rows}
    whose = _whose(rows)
    cells = [
        [*pair, *(values.get((of, frozenset(pair)), NONE) for of in whose)]
        for pair in combinations(_axes_of(rows), 2)
        if any((of, frozenset(pair)) in values for of in whose)
    ]
    heads = ["axis", "other axis", *map(_shown, whose)]
    lead = 3 if HUMAN in whose else 2  # people's column beside every scorer's
    return Table("", heads, cells, "ll" + "r" * len(whose), lead)


def _whose(rows: Sequence[AxisPair]) -> list[str]:
    return list(dict.fromkeys(row.of for row in rows))


def _axes_of(rows: Sequence[AxisPair]) -> list[str]:
    return list(dict.fromkeys(name for row in rows for name in (row.axis, row.other)))


def _shown(of: str) -> str:
    return "people" if of == HUMAN else of


def _matrices(rows: Sequence[AxisPair]) -> Iterator[Table]:
    order = _axes_of(rows)
    for level in LEVELS:
        at_level = [row for row in rows if row.level == level]
        for of in _whose(at_level):
            title = f"{level.capitalize()} level: {_shown(of)}"
            own = [row for row in at_level if row.of == of]
            yield _matrix(title, own, sorted(_axes_of(own), key=order.index))


def _matrix(title: str, rows: Sequence[AxisPair], names: Sequence[str]) -> Table:
    found = {(row.axis, row.other): estimate(row) for row in rows}
    found |= {(other, axis): value for (axis, other), value in found.items()}
    found |= {(name, name): "1" for name in names}
    cells = [[axis, *(found.get((axis, other), NONE) for other in names)] for axis in names]
    return Table(title, ["axis", *names], cells, "l" + "r" * len(names))
