"""What the page draws beside the first screen: spreads, people against the judge, a heat map, and
the pictures that sections carry.

Values only, with places between 0 and 1, by the names that pictures.html.j2 has for them.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from functools import partial
from math import sqrt
from typing import Any

from evaljudge.agreement import Agreement
from evaljudge.analysis.findings import Findings
from evaljudge.analysis.telling import BINS, BinnedRatings, Spread
from evaljudge.records import ANY_AXIS
from evaljudge.report.first import MOST_SYSTEMS, Headline, headlines, place_of, short_names, ticks
from evaljudge.report.lines import on_axis
from evaljudge.sections import Bars, Points, Section
from evaljudge.sections.figures import NONE, correlation, count, estimate, only
from evaljudge.text import counted

DRAWN = 25  # bins of a picture
WIDEST = 11.0  # the radius of the largest circle
SHADES = 9
MOST_ROWS = 12  # in a picture of bars; the rest is in the tables
FEWEST = 5  # texts behind a point of the line of means
Drawn = dict[str, Any]


def _drawn_spreads(findings: Findings) -> list[tuple[Headline, Spread]]:
    spreads = {(row.scorer, row.axis): row for row in findings.spreads}
    shown = ((row, (row.ranking.scorer, row.ranking.axis)) for row in headlines(findings))
    return [(row, spreads[key]) for row, key in shown if key in spreads]


def all_strips(findings: Findings) -> list[Drawn]:
    """Each scorer and axis once, its systems in the order of the answer; a bin's share is relative
    to the fullest bin of all systems."""
    once = {(bars.scorer, bars.axis): (row, bars) for row, bars in _drawn_spreads(findings)}
    return [_strips(bars, headline) for headline, bars in once.values()]


def _strips(bars: Spread, headline: Headline) -> Drawn:
    names = dict.fromkeys([*(ranked.system for ranked in headline.ranking.systems), *bars.systems])
    shown = [name for name in names if name in bars.systems][:MOST_SYSTEMS]
    bins = {name: [0] * DRAWN for name in shown}
    for name in shown:
        for at, n in enumerate(bars.systems[name]):
            bins[name][_bin(bars, at)] += n
    fullest = max(max(counts) / sum(counts) for counts in bins.values())
    short = short_names(bins)
    rows = [
        {
            "name": name,
            "short": short[name],
            "said": counted(sum(counts), "text", "texts"),
            "shares": [n / sum(counts) / fullest for n in counts],
        }
        for name, counts in bins.items()
    ]
    title = on_axis(bars.scorer, bars.axis)
    return {"title": title, "rows": rows, "ticks": ticks(bars.low, bars.high)}


def _bin(bars: Spread, at: int) -> int:
    return DRAWN // 2 if bars.low == bars.high else at * DRAWN // BINS


def people_pictures(findings: Findings) -> Iterator[Drawn]:
    for headline, spread in _drawn_spreads(findings):
        for rated in spread.people:
            if headline.axis in (rated.axis, ANY_AXIS):
                yield _people_picture(spread, rated, findings.rated_by)


def _people_picture(spread: Spread, rated: BinnedRatings, raters: str) -> Drawn:
    merged = Counter[tuple[int, int]]()
    for at, rating, n in rated.counts:
        merged[_bin(spread, at), rating] += n
    least, most = rated.ratings[0], rated.ratings[-1]
    wide, high = spread.high - spread.low, most - least

    def height(rating: float) -> float:
        return (rating - least) / high if high else 0.5

    cells = [
        {
            "x": (at + 0.5) / DRAWN,
            "y": height(rated.ratings[rating]),
            "radius": WIDEST * sqrt(n / max(merged.values())),
            "said": f"{counted(n, 'text', 'texts')} rated {rated.ratings[rating]:g}, "
            f"scored {spread.low + wide * (at + 0.5) / DRAWN:.3g}",
        }
        for (at, rating), n in sorted(merged.items())
    ]
    means = []
    for at in range(DRAWN):
        here = {rating: n for (bin_, rating), n in merged.items() if bin_ == at}
        if sum(here.values()) >= FEWEST:
            mean = sum(rated.ratings[rating] * n for rating, n in here.items()) / sum(here.values())
            means.append(((at + 0.5) / DRAWN, height(mean)))
    ends = max(spread.low, least), min(spread.high, most)
    is_one_scale = ends[0] < ends[1] and wide <= 2 * high
    return {
        "title": f"{on_axis(spread.scorer, spread.axis)}, {raters} on {rated.axis}",
        "x_ticks": ticks(spread.low, spread.high),
        "y_ticks": ticks(least, most),
        "cells": cells,
        "means": means,
        "identity": [p for end in ends for p in ((end - spread.low) / wide, height(end))]
        if is_one_scale
        else None,
    }


def heat_maps(findings: Findings) -> list[Drawn]:
    spearmans = [row for row in findings.agreement if row.coefficient == "spearman"]
    maps = []
    for level in dict.fromkeys(row.level for row in spearmans):
        rows = {(row.scorer, row.axis): row for row in spearmans if row.level == level}
        axes = list(dict.fromkeys(axis for _, axis in rows))
        scorers = {name: [_heat_cell(rows.get((name, axis))) for axis in axes] for name, _ in rows}
        maps.append({"level": level, "axes": axes, "scorers": scorers})
    return maps


def _heat_cell(row: Agreement | None) -> Drawn:
    """A cell with its shade: `plus7` or `minus2`, and `none` where too few units say something."""
    if row is None:
        return {"figure": NONE, "said": "not compared", "shade": "none"}
    shade = "none"
    if row.value is not None and not only(row.level, row.n):
        shade = f"{'plus' if row.value >= 0 else 'minus'}{round(abs(row.value) * SHADES)}"
    return {"figure": correlation(row.value), "said": estimate(row), "shade": shade}


def sampled_line(spreads: Sequence[Spread]) -> str:
    sizes = [sum(map(sum, spread.systems.values())) for spread in spreads if spread.is_sample]
    return f"These figures are of a sample of {count(max(sizes))} texts." if sizes else ""


def of_sections(sections: Sequence[Section]) -> dict[str, list[Drawn]]:
    by_heading: dict[str, list[Drawn]] = {}
    for number, section in enumerate(sections):
        for picture in section.pictures:
            drawn = asdict(picture) | _placed(picture)
            drawn["section"] = (number, section.title)
            by_heading.setdefault(picture.heading, []).append(drawn)
    return by_heading


def _placed(picture: Bars | Points) -> Drawn:
    if isinstance(picture, Points):
        return {"label": f"{picture.title}. {'; '.join(point.figure for point in picture.points)}"}
    shown, at = picture.rows[:MOST_ROWS], partial(place_of, low=picture.least, high=picture.most)
    marks = ticks(picture.least, picture.most)
    if (picture.least, picture.most) == (0, 1):
        marks = [(place, f"{place:.0%}") for place, _ in marks]
    ends, short = ("low", "high", "other"), short_names(row.name for row in shown)
    return {
        "label": f"{picture.title}. {'; '.join(f'{row.name}: {row.figure}' for row in shown)}",
        "rows": [
            {"name": row.name, "short": short[row.name], "figure": row.figure, "at": at(row.value)}
            | {end: at(getattr(row, end)) for end in ends}
            for row in shown
        ],
        "ticks": marks,
        "zero": at(0),
        "hidden": len(picture.rows) - len(shown),
    }
