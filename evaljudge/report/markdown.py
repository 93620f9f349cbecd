"""agreement.md: how much was scored, and how far it agrees with people.

## Sample level: within documents

| scorer    | axis    |             Spearman | … | Pairwise accuracy    |   n | skipped |
| --------- | ------- | -------------------: | … | -------------------: | --: | ------: |
| synthetic | fluency | 0.441 [0.312, 0.553] | … | 0.672 [0.641, 0.704] |  98 |       2 |
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from evaljudge.analyses import sections
from evaljudge.analyses.agreement import INTERVALS, level_table, levels, nothing
from evaljudge.analysis.findings import Coverage, Findings
from evaljudge.report import lines
from evaljudge.sections import Cell, Place, Placed, Section, Table, figures
from evaljudge.text import LONG, columns, fitted, markdown

# Markdown has no underlining; GitHub lets through `ins`, which it underlines, but not `u`.
_PLACES: dict[Place, tuple[str, str]] = {"best": ("**", "**"), "second": ("<ins>", "</ins>")}


def agreement_markdown(findings: Findings) -> str:
    blocks = [
        f"# Agreement with human ratings: {markdown(findings.run)}",
        _about(findings),
        *_coverage(findings),
        *_warnings(findings),
        *_agreement(findings),
        *(block for section in sections(findings) for block in section_blocks(section)),
        *_signatures(findings),
    ]
    return "\n\n".join(blocks) + "\n"


def _about(findings: Findings) -> str:
    facts = lines.facts(findings).items()
    return "\n".join(f"- {name}: {markdown(value)}" for name, value in facts)


def _coverage(findings: Findings) -> Iterator[str]:
    yield "## Coverage"
    yield f"**{lines.floor_line(findings)}.**"
    if findings.coverage:
        heads = ["scorer", "axis", "scored", "unscored", "share", "reasons"]
        yield _table(heads, [_coverage_row(row) for row in findings.coverage], "llrrrl")


def _coverage_row(row: Coverage) -> list[str]:
    reasons = [f"{markdown(reason)} × {figures.count(n)}" for reason, n in lines.reasons(row)]
    return [
        markdown(row.scorer),
        markdown(row.axis),
        figures.count(row.scored),
        figures.count(row.unscored),
        figures.ratio(row.scored, row.expected),
        "; ".join(reasons),
    ]


def _warnings(findings: Findings) -> Iterator[str]:
    if findings.warnings:
        yield "## Warnings"
        yield "\n".join(f"- {markdown(warning, LONG)}" for warning in findings.warnings)


def _agreement(findings: Findings) -> Iterator[str]:
    found = levels(findings)
    if not found:
        yield "## Agreement"
        yield nothing(findings)
        return
    for level in found:
        yield f"## {level.title}"
        yield table_markdown(level_table("", level))
        yield from level.notes
    yield "## What the levels mean"
    for level in found:
        yield f"**{level.title}.** {level.meaning[0]}\n{level.meaning[1]}"
    yield INTERVALS


def section_blocks(section: Section) -> Iterator[str]:
    yield f"## {section.title}"
    yield from section.about
    for table in section.tables:
        yield f"### {markdown(table.title)}"
        yield table_markdown(table)
    yield from section.notes


def table_markdown(table: Table) -> str:
    rows = [list(map(_shown, row, table.sides)) for row in table.rows]
    return _table(list(map(markdown, table.heads)), rows, table.sides)


def _shown(cell: Cell, side: str) -> str:
    """Words made harmless; our own figures as they are, the best bold, the second underlined."""
    if isinstance(cell, Placed):
        opening, closing = _PLACES[cell.place]
        return f"{opening}{cell.figure}{closing}{cell.beside}"
    if isinstance(cell, str):
        return markdown(cell) if side == "l" else cell
    return "; ".join(named.shown(markdown(named.name)) for named in cell)


def _signatures(findings: Findings) -> Iterator[str]:
    if findings.signatures:
        yield "## How the numbers were made"
        lines = findings.signatures.items()
        yield "\n".join(f"- {markdown(scorer)}: {markdown(line, LONG)}" for scorer, line in lines)


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]], sides: str) -> str:
    """Cells are padded, so that the table reads as well without being rendered."""
    table = [heads, *rows]
    widths = [max(3, *map(columns, column)) for column in zip(*table, strict=True)]
    rule = ["-" * (w - 1) + (":" if s == "r" else "-") for w, s in zip(widths, sides, strict=True)]
    lines = [[_cell(*cell) for cell in zip(row, widths, sides, strict=True)] for row in table]
    lines.insert(1, rule)
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _cell(text: str, width: int, side: str) -> str:
    return " " * (width - columns(text)) + text if side == "r" else fitted(text, width)
