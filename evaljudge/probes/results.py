"""What a probe found: tables for a terminal and for Markdown, rows for JSON, a figure.

table(["axis", "votes"], [["fluency", "2,200"]])
-> axis     votes      | axis    | votes |
   fluency  2,200      | ------- | ----: |
                       | fluency | 2,200 |
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from math import isfinite
from typing import Any, Generic, TypeVar

from evaljudge.sections import Table
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

    def __repr__(self) -> str:
        return as_text(self).rstrip("\n")

    def write(self, out: AnyPath) -> None:
        """NAME.md, NAME.json and NAME.svg, to a path or URI."""
        place = Place(as_path(out, "out"))
        place.write(f"{self.name}.md", as_markdown(self))
        place.write(f"{self.name}.json", as_json(self))
        place.write(f"{self.name}.svg", self.draw())


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    """The first column has names, the others figures."""
    return Table("", heads, rows, "l" + "r" * (len(heads) - 1), lead=1)


def as_text(result: ProbeResult[Any]) -> str:
    from evaljudge.report.screen import on_screen

    blocks = [f"{result.title}\n{one_line(result.about, LONG)}"]
    for found in result.tables:
        text = on_screen(found, LEAST_NAME)
        blocks.append(f"{one_line(found.title)}\n{text}" if found.title else text)
    return "\n\n".join([*blocks, *result.notes]) + "\n"


def as_markdown(result: ProbeResult[Any]) -> str:
    from evaljudge.report.markdown import table_markdown

    blocks = [f"# {result.title}", markdown(result.about, LONG)]
    for found in result.tables:
        blocks += [f"## {markdown(found.title)}"] if found.title else []
        blocks.append(table_markdown(found))
    notes = [markdown(note, LONG) for note in result.notes]
    return "\n\n".join([*blocks, f"![{result.title}]({result.name}.svg)", *notes]) + "\n"


def as_json(result: ProbeResult[Any]) -> str:
    rows = [{key: _or_null(value) for key, value in asdict(row).items()} for row in result.rows]
    return json.dumps(rows, indent=1, allow_nan=False) + "\n"


def print_and_write(result: ProbeResult[Any], out: str | None) -> None:
    print(as_text(result), end="")
    if out:
        result.write(out)
        print(f"\nwritten    {Place(out).uri}/{result.name}.md, .json, .svg")


def _or_null(value: Any) -> Any:
    return None if isinstance(value, float) and not isfinite(value) else value
