"""A study's sections in three media: study.md, a terminal's text, one HTML page.

    study_markdown([methods_section("SummEval", [], table)], ["100 documents"])
    ->  "# Methods compared\\n\\n100 documents\\n\\n## SummEval\\n…"

The best of a column is bold and the second underlined; a terminal shows 0.437¹ and 0.310². Names
of methods and axes come from configurations: strangers' words, as are, here, titles and sentences.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from evaljudge.report.markdown import section_blocks
from evaljudge.report.page import template
from evaljudge.report.screen import on_screen, wrapped
from evaljudge.sections import Place, Placed, Section, Table
from evaljudge.text import LONG, SHORT, markdown, one_line

TITLE = "Methods compared"
PLACES = "Bold: the best of its column; underlined: the second."
PLACES_ON_SCREEN = "¹ The best of its column; ² the second."

_RAISED: dict[Place, str] = {"best": "¹", "second": "²"}
_STUDY = Path(__file__).with_name("study.html.j2")


def study_markdown(sections: Sequence[Section], lead: Sequence[str]) -> str:
    blocks = [f"# {TITLE}", *(markdown(line, LONG) for line in lead)]
    for section in sections:
        blocks += section_blocks(_shown(section, PLACES, markdown))
    return "\n\n".join(blocks) + "\n"


def study_text(sections: Sequence[Section], lead: Sequence[str]) -> str:
    blocks = [wrapped(one_line(line, LONG)) for line in lead]
    for given in sections:
        section = _shown(given, PLACES_ON_SCREEN, one_line)
        blocks.append("\n".join([section.title, *map(wrapped, section.about)]))
        blocks += [f"{one_line(t.title)}\n{on_screen(_raised(t))}" for t in section.tables]
        blocks.append("\n".join(map(wrapped, section.notes)))
    return "\n\n".join(filter(None, blocks)) + "\n"


def study_page(sections: Sequence[Section], lead: Sequence[str]) -> str:
    layout = template()
    study = layout.environment.from_string(_STUDY.read_text(encoding="utf-8"))
    shown = [_shown(section, PLACES, one_line) for section in sections]
    return study.render(layout=layout, title=TITLE, lead=lead, sections=shown)


def _shown(section: Section, places: str, line: Callable[[str, int], str]) -> Section:
    """Its sentences as a medium shows them; the first note is what its marks of places mean."""
    cells = [cell for table in section.tables for row in table.rows for cell in row]
    placed = any(isinstance(cell, Placed) for cell in cells)
    return replace(
        section,
        title=line(section.title, SHORT),
        about=[line(sentence, LONG) for sentence in section.about],
        notes=[line(note, LONG) for note in [places] * placed + list(section.notes)],
    )


def _raised(table: Table) -> Table:
    rows = [
        [
            f"{cell.figure}{_RAISED[cell.place]}{cell.beside}" if isinstance(cell, Placed) else cell
            for cell in row
        ]
        for row in table.rows
    ]
    return replace(table, rows=rows)
