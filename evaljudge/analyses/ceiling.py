"""How far do people agree with each other?

| axis    | level  |             Spearman |   n | skipped | raters |
| ------- | ------ | -------------------: | --: | ------: | -----: |
| fluency | sample | 0.612 [0.553, 0.664] | 100 |       0 |      3 |
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from evaljudge.agreement import Ceiling, ceiling
from evaljudge.analyses import Analysis, RunFrame
from evaljudge.analyses.agreement import sampled_note
from evaljudge.analysis.findings import Findings
from evaljudge.sections import Section, Table
from evaljudge.sections.figures import count, estimate

PEOPLE = "How far people agree"
CEILING = (
    "One rater against the mean of the others, averaged over the raters: "
    "no scorer can be expected far above it. Skipped: candidates with a single rating."
)


def rows(run: RunFrame) -> Iterator[Ceiling]:
    rated = run.compared
    for axis in sorted(rated.raters):
        for one in ceiling(rated.documents, rated.systems, rated.table(axis), seed=run.seed):
            yield replace(one, axis=axis)


def section(findings: Findings, in_short: bool) -> Iterator[Section]:
    found: list[Ceiling] = [row for row in findings["ceiling"] if row.coefficient == "spearman"]
    heads = ["axis", "level", "Spearman", "n", "skipped", "raters"]
    cells = [
        [row.axis, row.level, estimate(row), *map(count, (row.n, row.skipped, row.raters))]
        for row in found
    ]
    table = Table("One rater and the others", heads, cells, "llrrrr")
    yield Section(PEOPLE, [CEILING], [table], sampled_note(found))


ANALYSIS = Analysis(Ceiling, rows, section, place=100)
