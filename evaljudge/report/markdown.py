"""agreement.md: how much was scored, and how far it agrees with people."""

from collections.abc import Iterator, Sequence

from evaljudge.analyses import sections
from evaljudge.analyses.agreement import INTERVALS, levels, nothing
from evaljudge.analysis.findings import Findings
from evaljudge.report import lines
from evaljudge.sections import Cell, Place, Placed, Section, Table, figures
from evaljudge.text import LONG, columns, fitted, markdown

# Markdown has no underlining; GitHub lets through `ins`, which it underlines, but not `u`.
_PLACES: dict[Place, tuple[str, str]] = {"best": ("**", "**"), "second": ("<ins>", "</ins>")}


def agreement_markdown(findings: Findings) -> str:
    facts = lines.facts(findings).items()
    blocks = [
        f"# Agreement with human ratings: {markdown(findings.run)}",
        "\n".join(f"- {name}: {markdown(value)}" for name, value in facts),
        "## Coverage",
        f"**{lines.floor_line(findings)}.**",
        *([_coverage(findings)] if findings.coverage else []),
    ]
    if findings.warnings:
        listed = (f"- {markdown(warning, LONG)}" for warning in findings.warnings)
        blocks += ["## Warnings", "\n".join(listed)]
    blocks += _agreement(findings)
    blocks += (block for section in sections(findings) for block in section_blocks(section))
    if findings.signatures:
        made = findings.signatures.items()
        listed = (f"- {markdown(scorer)}: {markdown(line, LONG)}" for scorer, line in made)
        blocks += ["## How the numbers were made", "\n".join(listed)]
    return "\n\n".join(blocks) + "\n"


def _coverage(findings: Findings) -> str:
    columns: figures.Columns = {
        "scorer": lambda row: markdown(row.scorer),
        "axis": lambda row: markdown(row.axis),
        "scored": "scored",
        "unscored": "unscored",
        "share": lambda row: figures.ratio(row.scored, row.expected),
        "reasons": lambda row: "; ".join(
            f"{markdown(reason)} × {figures.count(n)}" for reason, n in lines.reasons(row)
        ),
    }
    table = figures.tabled("", findings.coverage, 2, columns)
    return _table(table.heads, [list(map(str, row)) for row in table.rows], "llrrrl")


def _agreement(findings: Findings) -> Iterator[str]:
    shown = levels(findings)
    if not shown:
        yield "## Agreement"
        yield nothing(findings)
        return
    for level in shown:
        yield f"## {level.title}"
        yield table_markdown(level.table())
        yield from level.notes
    yield "## What the levels mean"
    for level in shown:
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
