"""What a probe found: tables for a terminal and for Markdown, rows for JSON, a figure.

table(["scorer", "value"], [["rouge1", "0.594"], ["chrf", marked("0.738")]])
-> scorer  value      | scorer |     value |
   rouge1  0.594      | ------ | --------: |
   chrf    0.738*     | rouge1 |     0.594 |
                      | chrf   | **0.738** |
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from hashlib import blake2b
from math import isfinite
from typing import Any, Generic, TypeVar

from evaljudge.sections import Placed, Table
from evaljudge.sections.figures import NONE
from evaljudge.settings import AnyPath, as_path
from evaljudge.storage import Place
from evaljudge.text import LONG, markdown, one_line

LEAST_NAME = 36
Row = TypeVar("Row")


@dataclass(frozen=True, slots=True, repr=False)
class ProbeResult(Generic[Row]):
    """`rows` are dataclasses; `draw` makes the figure as SVG, and loads matplotlib."""

    name: str
    title: str
    about: str
    tables: Sequence[Table]
    notes: Sequence[str]
    rows: Sequence[Row]
    draw: Callable[[], str]
    warnings: Sequence[str] = ()
    axis: str = ""
    """The one that the probe looks at; files of other axes are left alone."""

    @property
    def file(self) -> str:
        """The name of its files."""
        return f"{self.name}-{in_names(self.axis)}" if self.axis else self.name

    def __repr__(self) -> str:
        return as_text(self).rstrip("\n")

    def write(self, out: AnyPath) -> None:
        """NAME.md, NAME.json and NAME.svg, to a path or URI."""
        place = Place(as_path(out, "out"))
        place.write(f"{self.file}.md", as_markdown(self))
        place.write(f"{self.file}.json", as_json(self))
        place.write(f"{self.file}.svg", self.draw())


def table(
    heads: Sequence[str], rows: Sequence[Sequence[str]], names: int = 1, title: str = ""
) -> Table:
    """The first `names` columns are names, the others figures."""
    return Table(title, heads, rows, "l" * names + "r" * (len(heads) - names), lead=names)


def pivoted(
    rows: Sequence[Row], names: Sequence[str], across: str
) -> tuple[list[str], dict[tuple[str, ...], list[Row | None]]]:
    """The columns, one for each value of the field `across`; and the lines, one for each value of
    the fields `names`, with the row in every column, or None."""
    found = {
        (tuple(getattr(row, name) for name in names), str(getattr(row, across))): row
        for row in rows
    }
    columns = list(dict.fromkeys(column for _, column in found))
    lines = dict.fromkeys(line for line, _ in found)
    return columns, {line: [found.get((line, column)) for column in columns] for line in lines}


def pivot_table(
    rows: Sequence[Row], names: Sequence[str], across: str, cell: Callable[[Row], str],
    title: str = "",
) -> Table:  # fmt: skip
    columns, lines = pivoted(rows, names, across)
    cells = [
        [*line, *(NONE if row is None else cell(row) for row in found)]
        for line, found in lines.items()
    ]
    return table([*names, *columns], cells, len(names), title)


def marked(figure: str) -> Placed:
    """Markdown shows it bold, a terminal with a star."""
    return Placed(figure, "best")


def as_text(result: ProbeResult[Any]) -> str:
    from evaljudge.report.screen import on_screen

    blocks = [f"{result.title}\n{one_line(result.about, LONG)}"]
    for found in result.tables:
        text = on_screen(_with_stars(found), LEAST_NAME)
        blocks.append(f"{one_line(found.title)}\n{text}" if found.title else text)
    return "\n\n".join([*blocks, *result.notes]) + "\n"


def as_markdown(result: ProbeResult[Any]) -> str:
    from evaljudge.report.markdown import table_markdown

    blocks = [f"# {result.title}", markdown(result.about, LONG)]
    for found in result.tables:
        blocks += [f"## {markdown(found.title)}"] if found.title else []
        blocks.append(table_markdown(found))
    notes = [markdown(note, LONG) for note in result.notes]
    return "\n\n".join([*blocks, f"![{result.title}]({result.file}.svg)", *notes]) + "\n"


def as_json(result: ProbeResult[Any]) -> str:
    rows = [{key: _or_null(value) for key, value in asdict(row).items()} for row in result.rows]
    return json.dumps(rows, indent=1, allow_nan=False) + "\n"


def print_and_write(result: ProbeResult[Any], out: str | None) -> None:
    for warning in result.warnings:
        print(f"warning: {one_line(warning)}", file=sys.stderr, flush=True)
    print(as_text(result), end="")
    if out:
        result.write(out)
        print(f"\nwritten    {Place(out).uri}/{result.file}.md, .json, .svg")


def in_names(axis: str) -> str:
    """An axis as a part of a file's name; a digest tells apart those that would look alike."""
    plain = re.sub(r"[^\w.-]", "_", axis)
    return (
        plain if plain == axis else f"{plain}-{blake2b(axis.encode(), digest_size=3).hexdigest()}"
    )


def _or_null(value: Any) -> Any:
    return None if isinstance(value, float) and not isfinite(value) else value


def _with_stars(table: Table) -> Table:
    """As a terminal shows marked figures."""
    rows = [
        [f"{cell}*" if isinstance(cell, Placed) else cell for cell in row] for row in table.rows
    ]
    return replace(table, rows=rows)
