"""A section of the report as plain values, before Markdown, a page or a terminal writes it.

Table(title="Sample level: people", heads=["axis", "fluency"], sides="lr",
      rows=[["coherence", "0.512 [0.431, 0.590]"]])
Table(…, rows=[[[Named("chrF", "0.735")], [Named("BLEU", "p 0.012"), Named("METEOR")]]])

A cell on the left side holds words from outside, or a list of names, each with a remark; a cell on
the right holds a figure of our own. The writer of a table escapes the words.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal


@dataclass(frozen=True, slots=True)
class Named:
    """A name from outside, and our own remark on it: `chrF (p 0.012)`."""

    name: str
    remark: str = ""

    def shown(self, name: str) -> str:
        """With its name as the writer shows it."""
        return f"{name} ({self.remark})" if self.remark else name


Place = Literal["best", "second"]


class Placed(str):
    """A figure of our own that has a place in its column: Placed("0.437", "best", " [0.38, 0.49]").

    Its text is the whole cell; a writer that knows of places shows this one's on the figure.
    """

    figure: str
    place: Place
    beside: str

    def __new__(cls, figure: str, place: Place, beside: str = "") -> Placed:
        made = super().__new__(cls, figure + beside)
        made.figure, made.place, made.beside = figure, place, beside
        return made


Cell = str | Sequence[Named]


@dataclass(frozen=True, slots=True)
class Table:
    """`sides`: l for words, r for figures; words come first."""

    title: str
    heads: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    sides: str
    lead: int = 1  # columns that a terminal repeats where a wide table is shown in parts


@dataclass(frozen=True, slots=True)
class Section:
    """`about` and `notes` are our own sentences, before and after the tables."""

    title: str
    about: Sequence[str]
    tables: Sequence[Table]
    notes: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class View:
    """Single texts with what a judge says of each; the page alone shows them.

    `template` holds two macros: `legend()` says what the marks mean, `text(one)` shows one of the
    texts. Both may use `shared.words(text)`, which shows strangers' words and nothing else.
    """

    title: str
    template: Path
    texts: Sequence[Any]
    candidates: int
    """How many the run has."""


def merged(sections: Iterable[Section]) -> list[Section]:
    """Sections of one title as one, and in it tables of one title and the same columns."""
    found: dict[str, Section] = {}
    for section in sections:
        known = found.get(section.title)
        found[section.title] = _both(known, section) if known else section
    return list(found.values())


def _both(one: Section, other: Section) -> Section:
    tables = {(table.title, *table.heads): table for table in one.tables}
    for table in other.tables:
        known = tables.get((table.title, *table.heads), replace(table, rows=[]))
        new = [row for row in table.rows if row not in known.rows]
        tables[table.title, *table.heads] = replace(known, rows=[*known.rows, *new])
    about = dict.fromkeys([*one.about, *other.about])
    notes = dict.fromkeys([*one.notes, *other.notes])
    return Section(one.title, list(about), list(tables.values()), list(notes))
