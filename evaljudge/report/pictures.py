"""What the page draws beside the first screen: spreads, people against the judge, a heat map, and
the pictures that sections carry.

Values only, with places between 0 and 1: pictures.html.j2 draws them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import sqrt

from evaljudge.agreement import Agreement
from evaljudge.analysis.findings import Findings
from evaljudge.analysis.telling import BINS, MetRatings, Spread
from evaljudge.records import ANY_AXIS
from evaljudge.report.first import MOST_SYSTEMS, tick_label, ticks
from evaljudge.report.headlines import Headline, headlines
from evaljudge.sections import BarRow, Bars, Points, Section
from evaljudge.sections.figures import NONE, correlation, count, estimate, only
from evaljudge.text import counted

DRAWN = 25
"""Bins of a picture."""
WIDEST = 11.0
"""The radius of the largest circle."""
SHADES = 9
MOST_ROWS = 12
"""Of a picture of bars; the rest is in the tables."""
FEWEST = 5
"""Texts behind a point of the line of means."""


@dataclass(frozen=True, slots=True)
class Strip:
    name: str
    said: str
    shares: Sequence[float]
    """Of the fullest bin of all systems."""


@dataclass(frozen=True, slots=True)
class Strips:
    title: str
    rows: Sequence[Strip]
    ticks: Sequence[tuple[float, str]]


@dataclass(frozen=True, slots=True)
class Circle:
    x: float
    y: float
    radius: float
    said: str


@dataclass(frozen=True, slots=True)
class PeoplePicture:
    title: str
    x_ticks: Sequence[tuple[float, str]]
    y_ticks: Sequence[tuple[float, str]]
    cells: Sequence[Circle]
    means: Sequence[tuple[float, float]]
    """The mean rating for each score."""
    identity: tuple[float, float, float, float] | None
    """Where score and rating are equal; None where they are not on one scale."""


@dataclass(frozen=True, slots=True)
class HeatCell:
    figure: str
    said: str
    shade: str


NO_CELL = HeatCell(NONE, "not compared", "none")


@dataclass(frozen=True, slots=True)
class HeatMap:
    level: str
    axes: Sequence[str]
    rows: Sequence[tuple[str, Sequence[HeatCell]]]


def drawn_spreads(findings: Findings) -> list[tuple[Headline, Spread]]:
    """The scores of each answer of the first screen."""
    spreads = {(one.scorer, one.axis): one for one in findings.spreads}
    shown = ((one, (one.ranking.scorer, one.ranking.axis)) for one in headlines(findings))
    return [(one, spreads[key]) for one, key in shown if key in spreads]


def all_strips(findings: Findings) -> Iterator[Strips]:
    """Of each scorer and axis once, its systems in the order of the answer."""
    once = {(spread.scorer, spread.axis): (one, spread) for one, spread in drawn_spreads(findings)}
    for one, spread in once.values():
        yield strips(spread, [ranked.system for ranked in one.ranking.systems])


def strips(one: Spread, order: Sequence[str]) -> Strips:
    names = dict.fromkeys([*order, *one.systems])
    merged = {name: _merged(one, one.systems[name]) for name in names if name in one.systems}
    shown = list(merged)[:MOST_SYSTEMS]
    fullest = max(max(merged[name]) / sum(merged[name]) for name in shown)
    rows = [
        Strip(
            name,
            counted(sum(merged[name]), "text", "texts"),
            [n / sum(merged[name]) / fullest for n in merged[name]],
        )
        for name in shown
    ]
    return Strips(_title(one), rows, _ticks(one.low, one.high))


def _merged(one: Spread, counts: Sequence[int]) -> list[int]:
    """In fewer bins; where all scores are equal, in the middle, as their tick is."""
    size = BINS // DRAWN
    if one.low == one.high:
        return [sum(counts) if at == DRAWN // 2 else 0 for at in range(DRAWN)]
    return [sum(counts[at : at + size]) for at in range(0, BINS, size)]


def _title(one: Spread) -> str:
    return one.scorer if one.axis == ANY_AXIS else f"{one.scorer} on {one.axis}"


def _ticks(low: float, high: float) -> list[tuple[float, str]]:
    if low == high:
        return [(0.5, tick_label(low))]
    return [((tick - low) / (high - low), tick_label(tick)) for tick in ticks(low, high)]


def people_pictures(findings: Findings) -> Iterator[PeoplePicture]:
    for one, spread in drawn_spreads(findings):
        for met in spread.people:
            if one.axis in (met.axis, ANY_AXIS):
                yield people_picture(spread, met)


def people_picture(one: Spread, met: MetRatings) -> PeoplePicture:
    merged = dict[tuple[int, int], int]()
    for at, rating, n in met.counts:
        place = DRAWN // 2 if one.low == one.high else at * DRAWN // BINS, rating
        merged[place] = merged.get(place, 0) + n
    least, most = met.ratings[0], met.ratings[-1]

    def height(rating: float) -> float:
        return 0.5 if least == most else (rating - least) / (most - least)

    largest = max(merged.values())
    cells = [
        Circle(
            (at + 0.5) / DRAWN,
            height(met.ratings[rating]),
            WIDEST * sqrt(n / largest),
            f"{counted(n, 'text', 'texts')} rated {met.ratings[rating]:g}, "
            f"scored {one.low + (one.high - one.low) * (at + 0.5) / DRAWN:.3g}",
        )
        for (at, rating), n in sorted(merged.items())
    ]
    means = []
    for at in range(DRAWN):
        here = {r: n for (b, r), n in merged.items() if b == at}
        if sum(here.values()) >= FEWEST:
            mean = sum(met.ratings[r] * n for r, n in here.items()) / sum(here.values())
            means.append(((at + 0.5) / DRAWN, height(mean)))
    return PeoplePicture(
        title=f"{_title(one)}, people on {met.axis}",
        x_ticks=_ticks(one.low, one.high),
        y_ticks=_ticks(least, most),
        cells=cells,
        means=means,
        identity=_identity(one, least, most),
    )


def _identity(one: Spread, least: float, most: float) -> tuple[float, float, float, float] | None:
    low, high = max(one.low, least), min(one.high, most)
    if low >= high or one.high - one.low > 2 * (most - least):
        return None
    return (
        (low - one.low) / (one.high - one.low),
        (low - least) / (most - least),
        (high - one.low) / (one.high - one.low),
        (high - least) / (most - least),
    )


def heat_maps(findings: Findings) -> list[HeatMap]:
    """Spearman's coefficient of each scorer (down) on each axis (across), a map for each level."""
    found = [row for row in findings.agreement if row.coefficient == "spearman"]
    maps = []
    for level in dict.fromkeys(row.level for row in found):
        mine = {(row.scorer, row.axis): row for row in found if row.level == level}
        axes = list(dict.fromkeys(axis for _, axis in mine))
        rows = []
        for scorer in dict.fromkeys(scorer for scorer, _ in mine):
            cells = [
                _heat_cell(mine[scorer, axis]) if (scorer, axis) in mine else NO_CELL
                for axis in axes
            ]
            rows.append((scorer, cells))
        maps.append(HeatMap(level, axes, rows))
    return maps


def _heat_cell(row: Agreement) -> HeatCell:
    few = only(row.level, row.n)
    return HeatCell(correlation(row.value), estimate(row), _shade(row.value, few))


def _shade(value: float | None, few: str) -> str:
    """`plus7`, `minus2`; `none` where too few units say something."""
    if value is None or few:
        return "none"
    return f"{'plus' if value >= 0 else 'minus'}{round(abs(value) * SHADES)}"


def sampled_line(spreads: Sequence[Spread]) -> str:
    known = [sum(map(sum, one.systems.values())) for one in spreads if one.is_sample]
    return f"These figures are of a sample of {count(max(known))} texts." if known else ""


@dataclass(frozen=True, slots=True)
class PlacedBar:
    name: str
    figure: str
    at: float
    low: float | None
    high: float | None
    other: float | None


@dataclass(frozen=True, slots=True)
class PlacedBars:
    rows: Sequence[PlacedBar]
    ticks: Sequence[tuple[float, str]]
    zero: float
    hidden: int
    """Rows that are not drawn."""


@dataclass(frozen=True, slots=True)
class DrawnPicture:
    """A picture of a section; `bars`: None where it is one of points."""

    picture: Bars | Points
    section: tuple[int, str]
    """Its number and title."""
    label: str
    """The picture in words."""
    bars: PlacedBars | None


def of_sections(sections: Sequence[Section]) -> dict[str, list[DrawnPicture]]:
    """By heading, in the order of the sections."""
    found: dict[str, list[DrawnPicture]] = {}
    for number, section in enumerate(sections):
        for one in section.pictures:
            drawn = DrawnPicture(one, (number, section.title), _in_words(one), _placed_bars(one))
            found.setdefault(one.heading, []).append(drawn)
    return found


def _in_words(one: Bars | Points) -> str:
    if isinstance(one, Points):
        return f"{one.title}. {'; '.join(point.figure for point in one.points)}"
    shown = (f"{row.name}: {row.figure}" for row in one.rows[:MOST_ROWS])
    return f"{one.title}. {'; '.join(shown)}"


def _placed_bars(one: Bars | Points) -> PlacedBars | None:
    if isinstance(one, Points):
        return None
    rows = [_placed_bar(one, row) for row in one.rows[:MOST_ROWS]]
    is_share = (one.least, one.most) == (0, 1)
    marks = ticks(one.least, one.most)
    shown = [(_at(one, tick), f"{tick:.0%}" if is_share else tick_label(tick)) for tick in marks]
    return PlacedBars(rows, shown, _at(one, 0), len(one.rows) - len(rows))


def _placed_bar(one: Bars, row: BarRow) -> PlacedBar:
    low, high, other = (
        None if value is None else _at(one, value) for value in (row.low, row.high, row.other)
    )
    return PlacedBar(row.name, row.figure, _at(one, row.value), low, high, other)


def _at(one: Bars, value: float) -> float:
    return min(max((value - one.least) / (one.most - one.least), 0.0), 1.0)
