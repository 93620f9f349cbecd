"""What remains of the agreement with length held fixed.

| scorer | axis    |    Spearman |   with length held fixed | score and length | … |   n |
| ------ | ------- | ----------: | -----------------------: | ---------------: | - | --: |
| rouge1 | fluency |       0.410 |   0.031 [-0.040, 0.101]  |            0.702 | … | 100 |
"""

from __future__ import annotations

from collections.abc import Sequence

from evaljudge.agreement import LengthHeld
from evaljudge.analysis.findings import Findings
from evaljudge.sections import Section, Table
from evaljudge.sections.figures import FEW, SAMPLED, correlation, count, estimate, only

TITLE = "Agreement with length held fixed"
ABOUT = (
    "Spearman's partial correlation of scores and ratings, given the texts' numbers of words: a "
    "scorer that only measures length keeps next to nothing of its agreement. What people rightly "
    "like about longer texts is taken away, too."
)
INTERVALS = (
    "In brackets: 95% intervals over documents (Student's t at sample level, a jackknife at "
    "summary level, both on Fisher's scale)."
)
ORDERED = (
    "In order: documents (summary level: 1 for all texts) whose scores are in the order of the "
    "lengths, or in the opposite one, so that nothing is left to correlate. They are left out, as "
    "are documents of fewer than four texts."
)
SAMPLE = "The values are those of a seeded sample of documents."
_TITLES = {"sample": "Sample level: within documents", "summary": "Summary level: all texts pooled"}


def length_held_fixed(findings: Findings, in_short: bool = False) -> Section:
    """Nothing in short: warnings name those whose agreement vanishes."""
    rows = [] if in_short else findings.lengths
    tables = [_table(title, rows, level) for level, title in _TITLES.items()]
    notes = [ORDERED]
    if any(row.sampled for row in rows):
        notes.append(f"{SAMPLED} {SAMPLE}")
    if any(row.value is not None and only(row.level, row.n) for row in rows):
        notes.append(FEW)
    return Section(TITLE, [ABOUT, INTERVALS], [one for one in tables if one.rows], notes)


def _table(title: str, rows: Sequence[LengthHeld], level: str) -> Table:
    heads = ["scorer", "axis", "Spearman", "with length held fixed"]
    heads += ["score and length", "rating and length", "n", "in order"]
    cells = [
        [
            *(row.scorer, row.axis),
            correlation(row.spearman),
            estimate(row),
            *map(correlation, (row.with_length, row.people_with_length)),
            *map(count, (row.n, row.in_order)),
        ]
        for row in rows
        if row.level == level
    ]
    return Table(title, heads, cells, "ll" + "r" * (len(heads) - 2), lead=2)
