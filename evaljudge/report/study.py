"""A study's sections in three media: study.md, a terminal's text, one HTML page.

    study_markdown([methods_section("SummEval", [], table)], ["100 documents"])
    ->  "# Methods compared\\n\\n100 documents\\n\\n## SummEval\\n…"

The best of a column is bold and the second underlined; a terminal shows 0.437¹ and 0.310². Names
of methods and axes come from configurations: strangers' words, as are, here, titles and sentences.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from evaljudge.report.markdown import section_blocks
from evaljudge.report.page import template
from evaljudge.report.screen import on_screen, wrapped
from evaljudge.sections import Cell, Place, Placed, Section, Table
from evaljudge.text import LONG, markdown, one_line

TITLE = "Methods compared"
PLACES = "Bold: the best of its column; underlined: the second."
PLACES_ON_SCREEN = "¹ The best of its column; ² the second."

_RAISED: dict[Place, str] = {"best": "¹", "second": "²"}
_STUDY = Path(__file__).with_name("study.html.j2")


def study_markdown(sections: Sequence[Section], lead: Sequence[str]) -> str:
    blocks = [f"# {TITLE}", *(markdown(said, LONG) for said in lead)]
    for section in sections:
        told = _told(section, PLACES)
        harmless = replace(
            told,
            title=markdown(told.title),
            about=[markdown(said, LONG) for said in told.about],
            notes=[markdown(note, LONG) for note in told.notes],
        )
        blocks += section_blocks(harmless)
    return "\n\n".join(blocks) + "\n"


def study_text(sections: Sequence[Section], lead: Sequence[str]) -> str:
    blocks = [_paragraph(said) for said in lead]
    for section in sections:
        told = _told(section, PLACES_ON_SCREEN)
        blocks.append("\n".join([one_line(told.title), *map(_paragraph, told.about)]))
        blocks += [f"{one_line(t.title)}\n{on_screen(_raised(t))}" for t in told.tables]
        blocks.append("\n".join(map(_paragraph, told.notes)))
    return "\n\n".join(filter(None, blocks)) + "\n"


def study_page(sections: Sequence[Section], lead: Sequence[str]) -> str:
    layout = template()
    study = layout.environment.from_string(_STUDY.read_text(encoding="utf-8"))
    shown = [_on_one_line(_told(section, PLACES)) for section in sections]
    return study.render(layout=layout, title=TITLE, lead=lead, sections=shown)


def _told(section: Section, places: str) -> Section:
    """With what the medium's way to show places means, where there are any."""
    cells = [cell for table in section.tables for row in table.rows for cell in row]
    placed = any(isinstance(cell, Placed) for cell in cells)
    return replace(section, notes=[places, *section.notes]) if placed else section


def _raised(table: Table) -> Table:
    return replace(table, rows=[list(map(_raised_cell, row)) for row in table.rows])


def _raised_cell(cell: Cell) -> Cell:
    if isinstance(cell, Placed):
        return f"{cell.figure}{_RAISED[cell.place]}{cell.beside}"
    return cell


def _on_one_line(section: Section) -> Section:
    return replace(
        section,
        title=one_line(section.title),
        about=[one_line(said, LONG) for said in section.about],
        notes=[one_line(note, LONG) for note in section.notes],
    )


def _paragraph(said: str) -> str:
    return wrapped(one_line(said, LONG))
