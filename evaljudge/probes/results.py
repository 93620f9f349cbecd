"""What a probe found: tables for a terminal, for Markdown and as a page, rows for JSON, a figure as
SVG, in which equal values give equal bytes and a name from a corpus is one line, never mathematics.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from html import escape
from math import isfinite
from typing import Any, Generic, NamedTuple, TypeVar

from evaljudge.agreement import Measured
from evaljudge.sections import Section, Table
from evaljudge.sections.figures import tabled
from evaljudge.settings import AnyPath, as_path
from evaljudge.storage import Place
from evaljudge.text import LONG, columns, markdown, one_line

LONGEST_NAME = 40
_MARKED, _PLAIN = "#c1440e", "#2b5d8a"
_ROW, _WIDTH = 22, 420
Row = TypeVar("Row")


class Dot(NamedTuple):
    label: str
    found: Measured
    is_marked: bool = False


@dataclass(frozen=True, slots=True, repr=False)
class ProbeResult(Generic[Row]):
    name: str
    title: str
    about: str
    tables: Sequence[Table]
    notes: Sequence[str]
    rows: Sequence[Row]
    dots: Sequence[Dot]
    measure: str  # what the dots are, as the figure says it

    def __repr__(self) -> str:
        return as_text(self).rstrip("\n")

    def write(self, out: AnyPath) -> None:
        place = Place(as_path(out, "out"))
        place.write(f"{self.name}.md", as_markdown(self))
        place.write(f"{self.name}.html", as_html(self))
        place.write(f"{self.name}.json", as_json(self))
        place.write(f"{self.name}.svg", drawn(self.dots, self.measure))


def by_scale(rows: Sequence[Any], columns: Mapping[str, Any], sides: str) -> list[Table]:
    tables = []
    for at in dict.fromkeys((row.scorer, row.axis) for row in rows):
        part = [row for row in rows if (row.scorer, row.axis) == at]
        tables.append(replace(tabled(", ".join(at), part, 1, columns), sides=sides))
    return tables


def as_text(result: ProbeResult[Any]) -> str:
    from evaljudge.report.screen import on_screen

    blocks = [f"{result.title}\n{one_line(result.about, LONG)}"]
    for table in result.tables:
        text = on_screen(table)
        blocks.append(f"{one_line(table.title)}\n{text}" if table.title else text)
    return "\n\n".join([*blocks, *result.notes]) + "\n"


def as_markdown(result: ProbeResult[Any]) -> str:
    from evaljudge.report.lines import table_markdown

    blocks = [f"# {result.title}", markdown(result.about, LONG)]
    for table in result.tables:
        blocks += [f"## {markdown(table.title)}"] if table.title else []
        blocks.append(table_markdown(table))
    notes = [markdown(note, LONG) for note in result.notes]
    return "\n\n".join([*blocks, f"![{result.title}]({result.name}.svg)", *notes]) + "\n"


def as_html(result: ProbeResult[Any]) -> str:
    from evaljudge.report.study import study_page

    section = Section("Results", [], result.tables, result.notes)
    return study_page([section], [result.about], result.title)


def as_json(result: ProbeResult[Any]) -> str:
    def plain(value: Any) -> Any:
        return None if isinstance(value, float) and not isfinite(value) else value

    rows = [{key: plain(value) for key, value in asdict(row).items()} for row in result.rows]
    return json.dumps(rows, indent=1, allow_nan=False) + "\n"


def print_and_write(result: ProbeResult[Any], out: str | None) -> None:
    print(as_text(result), end="")
    if out:
        result.write(out)
        print(f"\nwritten    {Place(out).uri}/{result.name}.html, .md, .json, .svg")


def drawn(dots: Sequence[Dot], measure: str) -> str:
    """A row for each dot, the first at the top, above a scale of round numbers."""
    from evaljudge.report.first import ticks

    rows = [(one_line(dot.label, LONGEST_NAME), dot) for dot in dots if dot.found.value is not None]
    ends = [end for _, (_, found, _) in rows for end in (found.value, found.low, found.high)]
    known = [end for end in ends if end is not None] or [0.0, 1.0]
    low, high = min(known), max(known)
    left = 30 + 7 * max((columns(name) for name, _ in rows), default=0)
    bottom = _ROW * len(rows) + 6

    def x(value: float) -> float:
        return left + _WIDTH * ((value - low) / (high - low) if low < high else 0.5)

    shapes = list[str]()
    for share, label in ticks(low, high):
        at = left + _WIDTH * share
        shapes.append(f'<path d="M{at:.1f},0V{bottom}" stroke="#ddd"/>')
        shapes.append(f'<text x="{at:.1f}" y="{bottom + 16}" text-anchor="middle">{label}</text>')
    for place, (name, (_, found, is_marked)) in enumerate(rows):
        y, colour = _ROW * place + _ROW // 2, _MARKED if is_marked else _PLAIN
        shapes.append(f'<text x="{left - 14}" y="{y + 4}" text-anchor="end">{escape(name)}</text>')
        if found.low is not None and found.high is not None:
            reach = f"M{x(found.low):.1f},{y}H{x(found.high):.1f}"
            shapes.append(f'<path d="{reach}" stroke="{colour}" stroke-width="1.6"/>')
        shapes.append(f'<circle cx="{x(found.value or 0):.1f}" cy="{y}" r="3.5" fill="{colour}"/>')
    shapes.append(f'<text x="{left}" y="{bottom + 36}">{escape(one_line(measure))}</text>')
    size = f'viewBox="0 0 {left + _WIDTH + 30} {bottom + 44}" width="{left + _WIDTH + 30}"'
    style = 'font-family="sans-serif" font-size="12" style="background: white"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} {style}>'
    return "\n".join(['<?xml version="1.0" encoding="UTF-8"?>', head, *shapes, "</svg>\n"])
