"""The agreement tables for a terminal: at most 100 columns.

Sample level: within documents
scorer     axis     Spearman           Kendall (tau-b)    Pearson              n
synthetic  fluency  0.44 [0.31, 0.55]  0.38 [0.27, 0.49]  0.45 [0.33, 0.56]  100
"""

from __future__ import annotations

from collections.abc import Sequence

from evaljudge.report.figures import SAMPLED, estimate
from evaljudge.report.findings import Findings
from evaljudge.report.levels import COEFFICIENTS, SAMPLED_NOTE, Level, levels, nothing
from evaljudge.report.plain import columns, fitted, one_line

WIDEST = 100
MOST_ROWS = 20
_GAP = "  "


def agreement_text(findings: Findings) -> str:
    """All coefficients; on more than MOST_ROWS rows Spearman's only, its levels side by side."""
    found = levels(findings)
    if not found:
        return f"{nothing(findings)}\n"
    short = sum(len(level.rows) for level in found) <= MOST_ROWS
    blocks = [_level(level) for level in found] if short else [_spearman(found)]
    if any(level.sampled for level in found):
        blocks.append(f"{SAMPLED} {SAMPLED_NOTE}")
    return "\n\n".join(blocks) + "\n"


def _level(level: Level) -> str:
    rows = [
        [row.scorer, row.axis, *(estimate(row.estimates.get(c)) for c in COEFFICIENTS), row.n]
        for row in level.rows
    ]
    return f"{level.title}\n{_table(['scorer', 'axis', *COEFFICIENTS.values(), 'n'], rows)}"


def _spearman(found: Sequence[Level]) -> str:
    told = {
        (row.scorer, row.axis, level.name): estimate(row.estimates.get("spearman"))
        for level in found
        for row in level.rows
    }
    names = [level.name for level in found]
    rows = [
        [scorer, axis, *(told.get((scorer, axis, name), estimate(None)) for name in names)]
        for scorer, axis in dict.fromkeys((scorer, axis) for scorer, axis, _ in told)
    ]
    return f"Spearman's correlation at each level\n{_table(['scorer', 'axis', *names], rows)}"


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """The figures are shown whole; the names (the first two columns) share what they leave."""
    table = [[one_line(cell) for cell in line] for line in (heads, *rows)]
    widths = [max(map(columns, column)) for column in zip(*table, strict=True)]
    scorer, axis, *figures = widths
    left = WIDEST - sum(figures) - len(_GAP) * (len(widths) - 1)
    axis = min(axis, max(left - scorer, left // 3))
    widths = [min(scorer, left - axis), axis, *figures]
    lines = [_GAP.join(map(fitted, line, widths)).rstrip() for line in table]
    return "\n".join(lines)
