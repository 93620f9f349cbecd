"""What a probe found: tables for a terminal and for Markdown, rows for JSON, a figure.

ProbeTable(["scorer", "value"], [["rouge1", "0.594"], ["chrf", "0.738"]], marked={(1, 1)})
-> scorer  value      | scorer |     value |
   rouge1  0.594      | ------ | --------: |
   chrf    0.738*     | rouge1 |     0.594 |
                      | chrf   | **0.738** |

A terminal gets at most 100 columns: a wider table is parted into blocks of columns, names repeated.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any

from evaljudge.storage import Place
from evaljudge.text import LONG, columns, fitted, markdown, one_line

WIDEST = 100
WIDEST_NAME = 36
_GAP = "  "
NONE = "–"
PLACES = 3  # as published numbers are compared


@dataclass(frozen=True, slots=True)
class ProbeTable:
    """The first `names` columns are names, the others figures; `marked`: (row, column)."""

    heads: Sequence[str]
    rows: Sequence[Sequence[str]]
    names: int = 1
    marked: Collection[tuple[int, int]] = ()
    title: str = ""


@dataclass(frozen=True, slots=True)
class ProbeResult:
    name: str
    title: str
    about: str
    tables: Sequence[ProbeTable]
    notes: Sequence[str]
    rows: Sequence[Mapping[str, Any]]
    draw: Callable[[], str]
    """The figure as SVG; matplotlib is loaded then."""


def as_text(result: ProbeResult) -> str:
    blocks = [f"{result.title}\n{one_line(result.about, LONG)}"]
    for table in result.tables:
        text = "\n\n".join(_text_table(block) for block in _blocks(_plain(table)))
        blocks.append(f"{one_line(table.title)}\n{text}" if table.title else text)
    return "\n\n".join([*blocks, *result.notes]) + "\n"


def as_markdown(result: ProbeResult) -> str:
    blocks = [f"# {result.title}", markdown(result.about, LONG)]
    for table in result.tables:
        blocks += [f"## {markdown(table.title)}"] if table.title else []
        blocks.append(_markdown_table(table))
    notes = [markdown(note, LONG) for note in result.notes]
    return "\n\n".join([*blocks, f"![{result.title}]({result.name}.svg)", *notes]) + "\n"


def as_json(result: ProbeResult) -> str:
    rows = [{key: _or_null(value) for key, value in row.items()} for row in result.rows]
    return json.dumps(rows, indent=1, allow_nan=False) + "\n"


def number(value: float | None) -> str:
    if value is None or not isfinite(value):
        return NONE
    return f"{round(value, PLACES) + 0.0:.{PLACES}f}"  # + 0.0: no minus before 0.000


def print_and_write(result: ProbeResult, out: str | None) -> None:
    print(as_text(result), end="")
    if out:
        place = Place(out)
        place.write(f"{result.name}.md", as_markdown(result))
        place.write(f"{result.name}.json", as_json(result))
        place.write(f"{result.name}.svg", result.draw())
        print(f"\nwritten    {place.uri}/{result.name}.md, .json, .svg")


def _or_null(value: Any) -> Any:
    return None if isinstance(value, float) and not isfinite(value) else value


def _plain(table: ProbeTable) -> ProbeTable:
    """As a terminal shows it: names cut short, marks as stars."""
    rows = [
        [
            fitted(one_line(cell), WIDEST_NAME).rstrip()
            if column < table.names
            else one_line(cell) + ("*" if (row, column) in table.marked else "")
            for column, cell in enumerate(line)
        ]
        for row, line in enumerate(table.rows)
    ]
    return ProbeTable([one_line(head, WIDEST_NAME) for head in table.heads], rows, table.names)


def _blocks(table: ProbeTable) -> Iterator[ProbeTable]:
    widths = _widths(table)
    named = sum(widths[: table.names]) + len(_GAP) * table.names
    chosen: list[int] = []
    for column in range(table.names, len(table.heads)):
        wider = named + sum(widths[c] + len(_GAP) for c in [*chosen, column]) - len(_GAP)
        if chosen and wider > WIDEST:
            yield _only(table, chosen)
            chosen = []
        chosen.append(column)
    yield _only(table, chosen)


def _only(table: ProbeTable, chosen: Sequence[int]) -> ProbeTable:
    kept = [*range(table.names), *chosen]
    rows = [[line[column] for column in kept] for line in table.rows]
    return ProbeTable([table.heads[column] for column in kept], rows, table.names)


def _text_table(table: ProbeTable) -> str:
    widths = _widths(table)
    return "\n".join(
        _GAP.join(map(fitted, line, widths)).rstrip() for line in [table.heads, *table.rows]
    )


def _markdown_table(table: ProbeTable) -> str:
    rows = [
        [
            markdown(cell) if column < table.names else _bold(cell, (row, column) in table.marked)
            for column, cell in enumerate(line)
        ]
        for row, line in enumerate(table.rows)
    ]
    shown = ProbeTable([markdown(head) for head in table.heads], rows, table.names)
    widths = [max(3, width) for width in _widths(shown)]
    lines = [[_cell(*c, shown) for c in zip(enumerate(line), widths, strict=True)]
             for line in [shown.heads, *shown.rows]]  # fmt: skip
    lines.insert(1, [
        "-" * (width - 1) + ("-" if column < shown.names else ":")
        for column, width in enumerate(widths)
    ])  # fmt: skip
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _cell(placed: tuple[int, str], width: int, table: ProbeTable) -> str:
    column, text = placed
    return fitted(text, width) if column < table.names else " " * (width - columns(text)) + text


def _bold(text: str, marked: bool) -> str:
    return f"**{text}**" if marked else text


def _widths(table: ProbeTable) -> list[int]:
    return [max(map(columns, column)) for column in zip(table.heads, *table.rows, strict=True)]
