"""A section of the report as plain values, before Markdown, a page or a terminal writes it.

Table(title="Sample level: people", heads=["axis", "fluency"], sides="lr",
      rows=[["coherence", "0.512 [0.431, 0.590]"]])
Table(…, rows=[[[Named("chrF", "0.735")], [Named("BLEU", "p 0.012"), Named("METEOR")]]])

A cell on the left side holds words from outside, or a list of names, each with a remark; a cell on
the right holds a figure of our own. The writer of a table escapes the words.
"""

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
        return f"{name} ({self.remark})" if self.remark else name


Place = Literal["best", "second"]


class Placed(str):
    """A figure of our own that has a place in its column: Placed("0.437", "best", " [0.38, 0.49]").
    Its text is the whole cell."""

    figure: str
    place: Place
    beside: str

    def __new__(cls, figure: str, place: Place, beside: str = "") -> "Placed":
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
class BarRow:
    """A value with its interval; `other`: a second mark; `figure`: all of it as text."""

    name: str
    value: float
    figure: str
    low: float | None = None
    high: float | None = None
    other: float | None = None


@dataclass(frozen=True, slots=True)
class Bars:
    """A row for each value, in the page's gallery under `heading`; `reading` says how to read it.
    Values from 0 to 1 are shares. The page draws the first rows.

    With `is_change`, a row shows the way from its second mark to its value, in place of a bar.
    """

    heading: str
    title: str
    reading: str
    rows: Sequence[BarRow]
    least: float = 0.0
    most: float = 1.0
    is_change: bool = False


@dataclass(frozen=True, slots=True)
class Point:
    x: float
    y: float
    n: int
    low: float | None
    high: float | None
    figure: str


@dataclass(frozen=True, slots=True)
class Points:
    """Both axes go from 0 to 1; the diagonal is where they are equal."""

    heading: str
    title: str
    reading: str
    x: str
    y: str
    points: Sequence[Point]


Picture = Bars | Points


@dataclass(frozen=True, slots=True)
class Section:
    """`about` and `notes` are our own sentences, before and after the tables.

    The page alone draws `pictures`; what they show is also in the tables or in a file.
    """

    title: str
    about: Sequence[str]
    tables: Sequence[Table]
    notes: Sequence[str] = ()
    pictures: Sequence[Picture] = ()


@dataclass(frozen=True, slots=True)
class View:
    """What a judge says of one text, in its own form; the page alone shows it.

    `template` holds two macros: `legend()` says what the marks mean, `text(one)` shows the text.
    Both may use `shared.words(text)`, which shows strangers' words and nothing else.
    """

    template: Path
    text: Any


def merged(sections: Iterable[Section]) -> list[Section]:
    """Sections of one title as one, and in it tables of one title and the same columns; bars that
    differ in nothing but their rows are one picture."""
    by_title: dict[str, Section] = {}
    for section in sections:
        existing = by_title.get(section.title)
        by_title[section.title] = _both(existing, section) if existing else section
    return list(by_title.values())


def _both(left: Section, right: Section) -> Section:
    tables = {(table.title, *table.heads): table for table in left.tables}
    for table in right.tables:
        existing = tables.get((table.title, *table.heads), replace(table, rows=[]))
        new = [row for row in table.rows if row not in existing.rows]
        tables[table.title, *table.heads] = replace(existing, rows=[*existing.rows, *new])
    about = dict.fromkeys([*left.about, *right.about])
    notes = dict.fromkeys([*left.notes, *right.notes])
    pictures = _as_one([*left.pictures, *right.pictures])
    return Section(left.title, list(about), list(tables.values()), list(notes), pictures)


def _as_one(pictures: Iterable[Picture]) -> tuple[Picture, ...]:
    joined: list[Picture] = []
    rows: dict[Bars, list[BarRow]] = {}
    for picture in pictures:
        if isinstance(picture, Points):
            joined.append(picture)
            continue
        frame = replace(picture, rows=())
        if frame not in rows:
            rows[frame] = []
            joined.append(replace(picture, rows=rows[frame]))
        rows[frame] += picture.rows
    return tuple(joined)
