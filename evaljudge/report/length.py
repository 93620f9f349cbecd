"""What remains of the agreement with length held fixed.

| scorer | axis    |    Spearman |   with length held fixed | score and length | … |   n |
| ------ | ------- | ----------: | -----------------------: | ---------------: | - | --: |
| rouge1 | fluency |       0.410 |   0.031 [-0.040, 0.101]  |            0.702 | … | 100 |
"""

from __future__ import annotations

from collections.abc import Sequence

from evaljudge.agreement import LengthHeld
from evaljudge.analysis.findings import Findings
from evaljudge.sections import BarRow, Bars, Section, Table
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
READING = (
    "The open circle is Spearman's correlation with people; the dot is what remains of it with "
    "length held fixed, with its 95% interval. A dot near 0 far from its circle is a scorer that "
    "may only measure length. The largest changes come first."
)
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
    shown = [one for one in tables if one.rows]
    return Section(TITLE, [ABOUT, INTERVALS], shown, notes, _pictures(rows))


def _pictures(rows: Sequence[LengthHeld]) -> list[Bars]:
    """One for each axis: within documents, or of all texts where no document has enough."""
    known = [row for row in rows if row.value is not None and row.spearman is not None]
    level = "sample" if any(row.level == "sample" for row in known) else "summary"
    axes = dict.fromkeys(row.axis for row in known)
    return [
        Bars(
            "Length",
            f"Agreement on {axis}, {level} level",
            READING,
            sorted(
                (_bar(row) for row in known if (row.axis, row.level) == (axis, level)),
                key=lambda bar: -abs(bar.value - (bar.other or 0.0)),
            ),
            least=-1.0,
            is_change=True,
        )
        for axis in axes
    ]


def _bar(row: LengthHeld) -> BarRow:
    assert row.value is not None
    low, high = (None, None) if only(row.level, row.n) else (row.low, row.high)
    figure = f"{correlation(row.spearman)} → {estimate(row)}"
    return BarRow(row.scorer, row.value, figure, low, high, row.spearman)


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
