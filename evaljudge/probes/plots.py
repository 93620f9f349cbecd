"""The figures of the probes as SVG: legible with 20 scorers; equal values give equal bytes.

intervals([Interval("rouge1", 0.59, 0.35, 0.78, False)], "spearman with relevance")
lines({"RAND-3": {"rouge1": [(0, 0.59, 0.55, 0.61), (50, 0.46, 0.41, 0.52)]}},
      "documents with replaced references", "spearman with relevance")
boxes({"rouge1": {"human": [0.18, 0.22, 0.28, 0.34, 0.44]}}, "input")
heat_maps({"complementarity": [[0.0, 0.28], [0.28, 0.0]]}, ["importance", "rouge1"],
          ["importance", "rouge1"], "scorer", (0.0, 1.0))

Text stays text in the file. A name from a corpus is shown as one line, never as mathematics.
"""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil, nan
from typing import TYPE_CHECKING, Any

from evaljudge.sections.figures import correlation
from evaljudge.text import one_line

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LONGEST_NAME, LONGEST_BY_HEAT_MAP = 40, 24
_MARKED, _PLAIN = "#c1440e", "#2b5d8a"
_COLOURS, _DASHES = 10, ("-", "--", ":", "-.")
_BOXES_ABREAST = 4
_BOX = ("whislo", "q1", "med", "q3", "whishi")
_DARK = 0.55  # the share of the colours' range beyond which numbers are written in white
Square = Sequence[Sequence[float | None]]
Points = Sequence[tuple[float, float | None, float | None, float | None]]
"""(x, value, low, high), in order of x; a point without a value is a gap."""


@dataclass(frozen=True, slots=True)
class Interval:
    label: str
    value: float
    low: float | None
    high: float | None
    marked: bool


def curves(rows: Sequence[Any], x: str) -> dict[str, Points]:
    """By scorer, the points of rows that have a value with its low and high at x."""
    scorers = dict.fromkeys(row.scorer for row in rows)
    return {
        name: [(getattr(r, x), r.value, r.low, r.high) for r in rows if r.scorer == name]
        for name in scorers
    }


def intervals(rows: Sequence[Interval], x_title: str) -> str:
    """One dot with its interval per row, the first at the top."""

    def paint(figure: Figure) -> None:
        axes = figure.add_subplot()
        _grid_lines(axes)
        for place, row in enumerate(rows):
            colour = _MARKED if row.marked else _PLAIN
            if row.low is not None and row.high is not None:
                axes.hlines(place, row.low, row.high, color=colour, linewidth=1.4)
            axes.plot([row.value], [place], "o", color=colour, markersize=5)
        axes.set_yticks(range(len(rows)), [_shown(row.label) for row in rows])
        axes.set_ylim(len(rows) - 0.5, -0.5)
        axes.set_xlabel(one_line(x_title))
        axes.set_ylabel("scorer")

    return _svg(7.5, 1.2 + 0.24 * len(rows), paint)


def lines(panels: Mapping[str, Mapping[str, Points]], x_title: str, y_title: str) -> str:
    """Panels of named lines side by side, with one scale and one legend."""

    def paint(figure: Figure) -> None:
        every = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
        for axes, (title, drawn) in zip(every, panels.items(), strict=True):
            _grid_lines(axes)
            axes.set_title(title)
            axes.set_xlabel(one_line(x_title))
            for place, (name, points) in enumerate(drawn.items()):
                _line(axes, name, points, place)
        every[0].set_ylabel(one_line(y_title))
        handles, labels = every[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside right upper", frameon=False)

    names = max(map(len, panels.values()))
    return _svg(3.6 * len(panels) + 2.4, max(3.6, 0.9 + 0.2 * names), paint)


def boxes(
    panels: Mapping[str, Mapping[str, Sequence[float]]], x_title: str, y_title: str = "",
    abreast: int = _BOXES_ABREAST,
) -> str:  # fmt: skip
    """A panel per scorer or option, each with a scale of its own, or one scale with `y_title` for
    all. A box is of five numbers, the outer two its whiskers, the middle one its median."""
    down, across = ceil(len(panels) / abreast), min(len(panels), abreast)

    def paint(figure: Figure) -> None:
        every = figure.subplots(down, across, squeeze=False, sharey=bool(y_title)).flatten()
        for axes, (title, drawn) in zip(every, panels.items(), strict=False):
            _grid_lines(axes)
            axes.set_title(_shown(title))
            axes.set_ylabel("" if y_title else "value")
            axes.bxp(
                [{"label": _shown(name)} | dict(zip(_BOX, five, strict=True))
                 for name, five in drawn.items()],
                showfliers=False, medianprops={"color": _MARKED},
            )  # fmt: skip
            axes.tick_params(axis="x", rotation=60)
        for axes in every[len(panels) :]:
            axes.set_visible(False)
        figure.supxlabel(one_line(x_title), fontsize=9)
        figure.supylabel(one_line(y_title), fontsize=9)

    return _svg(3.0 * across + 0.6, 3.1 * down + 0.4, paint)


def heat_maps(
    squares: Mapping[str, Square], rows: Sequence[str], columns: Sequence[str], x_title: str,
    limits: tuple[float, float],
) -> str:  # fmt: skip
    """Tables of numbers side by side as coloured fields, each with its number in it."""

    def paint(figure: Figure) -> None:
        every = figure.subplots(1, len(squares), sharey=True, squeeze=False)[0]
        colours = "RdBu_r" if limits[0] < 0 else "viridis_r"
        for axes, (title, square) in zip(every, squares.items(), strict=True):
            values = [[nan if value is None else value for value in line] for line in square]
            image = axes.imshow(values, cmap=colours, vmin=limits[0], vmax=limits[1], aspect="auto")
            axes.set_title(title)
            axes.set_xlabel(x_title)
            axes.set_xticks(range(len(columns)), shown[1], rotation=90)
            axes.set_yticks(range(len(rows)), shown[0])
            _write_numbers(axes, square, limits)
        every[0].set_ylabel("scorer")
        figure.colorbar(image, ax=every.tolist(), shrink=0.8)

    shown = [[_shown(name, LONGEST_BY_HEAT_MAP) for name in names] for names in (rows, columns)]
    return _svg((0.6 + 0.46 * len(columns)) * len(squares) + 3.2, 2.4 + 0.3 * len(rows), paint)


def _svg(width: float, height: float, paint: Callable[[Figure], object]) -> str:
    """In inches, with matplotlib's defaults and our rules whatever the user's settings are."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    written = io.StringIO()
    with mpl.rc_context(), warnings.catch_warnings():
        mpl.rcdefaults()
        mpl.rc("svg", hashsalt="evaljudge", fonttype="none")
        mpl.rc("text", parse_math=False)
        mpl.rc("axes.spines", top=False, right=False)
        mpl.rc("axes", titlesize=10.0)
        mpl.rc("font", size=9.0)
        # The reader's fonts will show the text, so that this machine may lack them.
        warnings.filterwarnings("ignore", "Glyph .* missing from", UserWarning)
        figure = Figure(figsize=(width, height), layout="constrained")
        paint(figure)
        figure.savefig(written, format="svg", metadata={"Date": None, "Creator": None})
    return written.getvalue()


def _line(axes: Axes, name: str, points: Points, place: int) -> None:
    """Colours repeat after ten; then the dashes differ."""
    xs, value, low, high = (
        [nan if number is None else number for number in column]
        for column in zip(*points, strict=True)
    )
    colour, dash = f"C{place % _COLOURS}", _DASHES[place // _COLOURS % len(_DASHES)]
    axes.plot(xs, value, dash, color=colour, label=_shown(name), marker="o", markersize=3)
    axes.fill_between(xs, low, high, color=colour, alpha=0.12, linewidth=0)


def _write_numbers(axes: Axes, square: Square, limits: tuple[float, float]) -> None:
    low, high = limits
    for down, line in enumerate(square):
        for across, value in enumerate(line):
            if value is not None:
                along = abs(value) / high if low < 0 else (value - low) / (high - low)
                colour = "white" if along > _DARK else "black"
                axes.text(across, down, correlation(value), ha="center", va="center",
                          color=colour, fontsize=7)  # fmt: skip


def _shown(name: str, longest: int = LONGEST_NAME) -> str:
    """The name of a scorer, an axis or an input. A leading `_` would hide it from a legend."""
    line = one_line(name, longest)
    return f" {line}" if line.startswith("_") else line


def _grid_lines(axes: Axes) -> None:
    axes.grid(visible=True, color="#dddddd", linewidth=0.6)
    axes.set_axisbelow(True)
