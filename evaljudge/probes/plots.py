"""The figures of the studies, as SVG; legible with 20 scorers.

intervals([Interval("rouge1", 0.59, 0.35, 0.78, False)], "spearman with relevance")
lines({"RAND-3": [Line("rouge1", [(0, 0.59, 0.55, 0.61), (50, 0.46, 0.41, 0.52)])]},
      "documents with replaced references", "spearman with relevance")
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import ceil, nan
from typing import TYPE_CHECKING

from evaljudge.probes.canvas import grid_lines, shown, svg
from evaljudge.text import one_line

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MARKED, _PLAIN = "#c1440e", "#2b5d8a"
_COLOURS, _DASHES = 10, ("-", "--", ":", "-.")
_BOXES_ABREAST = 4


@dataclass(frozen=True, slots=True)
class Interval:
    label: str
    value: float
    low: float | None
    high: float | None
    marked: bool


@dataclass(frozen=True, slots=True)
class Line:
    """Points (x, value, low, high), in order of x; one without a value is a gap."""

    label: str
    points: Sequence[tuple[float, float | None, float | None, float | None]]


@dataclass(frozen=True, slots=True)
class Box:
    label: str
    low: float
    quarter: float
    median: float
    three_quarters: float
    high: float


def intervals(rows: Sequence[Interval], said: str) -> str:
    """One dot with its interval per row, the first at the top."""
    return svg(7.5, 1.2 + 0.24 * len(rows), partial(_intervals, rows, said))


def lines(panels: Mapping[str, Sequence[Line]], x_said: str, y_said: str) -> str:
    """Panels side by side with one scale and one legend."""
    names = max(map(len, panels.values()))
    size = 3.6 * len(panels) + 2.4, max(3.6, 0.9 + 0.2 * names)
    return svg(*size, partial(_lines, panels, x_said, y_said))


def boxes(panels: Mapping[str, Sequence[Box]], said: str) -> str:
    """A panel per scorer, each with a scale of its own."""
    down = ceil(len(panels) / _BOXES_ABREAST)
    across = min(len(panels), _BOXES_ABREAST)
    return svg(3.0 * across + 0.6, 3.1 * down + 0.4, partial(_boxes, panels, said, (down, across)))


def _intervals(rows: Sequence[Interval], said: str, figure: Figure) -> None:
    axes = figure.add_subplot()
    grid_lines(axes)
    for place, row in enumerate(rows):
        colour = _MARKED if row.marked else _PLAIN
        if row.low is not None and row.high is not None:
            axes.hlines(place, row.low, row.high, color=colour, linewidth=1.4)
        axes.plot([row.value], [place], "o", color=colour, markersize=5)
    axes.set_yticks(range(len(rows)), [shown(row.label) for row in rows])
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.set_xlabel(one_line(said))
    axes.set_ylabel("scorer")


def _lines(panels: Mapping[str, Sequence[Line]], x_said: str, y_said: str, figure: Figure) -> None:
    every = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
    for axes, (title, drawn) in zip(every, panels.items(), strict=True):
        grid_lines(axes)
        axes.set_title(title)
        axes.set_xlabel(one_line(x_said))
        for place, line in enumerate(drawn):
            _line(axes, line, place)
    every[0].set_ylabel(one_line(y_said))
    handles, labels = every[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside right upper", frameon=False)


def _line(axes: Axes, line: Line, place: int) -> None:
    """Colours repeat after ten; dashes tell the rounds apart."""
    xs, *ys = (
        [nan if number is None else number for number in column]
        for column in zip(*line.points, strict=True)
    )
    value, low, high = ys
    colour, dash = f"C{place % _COLOURS}", _DASHES[place // _COLOURS % len(_DASHES)]
    axes.plot(xs, value, dash, color=colour, label=shown(line.label), marker="o", markersize=3)
    axes.fill_between(xs, low, high, color=colour, alpha=0.12, linewidth=0)


def _boxes(
    panels: Mapping[str, Sequence[Box]], said: str, shape: tuple[int, int], figure: Figure
) -> None:
    every = figure.subplots(*shape, squeeze=False).flatten().tolist()
    for axes, (title, drawn) in zip(every, panels.items(), strict=False):
        grid_lines(axes)
        axes.set_title(shown(title))
        axes.set_ylabel("value")
        axes.bxp(
            [{"label": shown(box.label), "whislo": box.low, "q1": box.quarter, "med": box.median,
              "q3": box.three_quarters, "whishi": box.high} for box in drawn],
            showfliers=False, medianprops={"color": _MARKED},
        )  # fmt: skip
        axes.tick_params(axis="x", rotation=60)
    for axes in every[len(panels) :]:
        axes.set_visible(False)
    figure.supxlabel(one_line(said), fontsize=9)
