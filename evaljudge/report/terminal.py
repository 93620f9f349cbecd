"""What agrees with people, for a terminal.

Spearman's correlation at each level
scorer     axis     sample                system                summary
synthetic  fluency  0.441 [0.312, 0.553]  0.802 [0.671, 0.913]  0.401 [0.273, 0.514]†
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from evaljudge.analysis.findings import Findings
from evaljudge.report.levels import Level, intervals, levels, nothing
from evaljudge.report.screen import on_screen, wrapped
from evaljudge.report.sections import sections_in_short
from evaljudge.sections import Section, Table
from evaljudge.sections.figures import FEW, NONE, SAMPLED, SAMPLED_NOTE, estimate


def agreement_text(findings: Findings) -> str:
    """Spearman's at each level; then what else was found, in short."""
    found = levels(findings)
    blocks = [*_spearman(found), wrapped(intervals(findings))] if found else [nothing(findings)]
    for section in sections_in_short(findings):
        blocks += _section(section)
    return "\n\n".join(blocks) + "\n"


def _spearman(found: Sequence[Level]) -> Iterator[str]:
    told = {
        (row.scorer, row.axis, level.name): estimate(row.estimates.get("spearman"))
        for level in found
        for row in level.rows
    }
    names = [level.name for level in found]
    rows = [
        [scorer, axis, *(told.get((scorer, axis, name), NONE) for name in names)]
        for scorer, axis in dict.fromkeys((scorer, axis) for scorer, axis, _ in told)
    ]
    table = Table("", ["scorer", "axis", *names], rows, "ll" + "r" * len(names), lead=2)
    yield f"Spearman's correlation at each level\n{on_screen(table)}"
    if any("spearman" in level.sampled for level in found):
        yield f"{SAMPLED} {SAMPLED_NOTE}"
    if any(level.is_few for level in found):
        yield wrapped(FEW)


def _section(section: Section) -> Iterator[str]:
    first, *others = map(on_screen, section.tables)
    yield f"{section.title}\n{first}"
    yield from others
    yield "\n".join(map(wrapped, [*section.about, *section.notes]))
