"""The figures of the probes as SVG: legible with 20 scorers; equal values give equal bytes.

intervals([Interval("rouge1", 0.59, 0.35, 0.78, False)], "spearman with relevance")

Text stays text in the file. A name from a corpus is shown as one line, never as mathematics.
"""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from evaljudge.text import one_line

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LONGEST_NAME = 40
_MARKED, _PLAIN = "#c1440e", "#2b5d8a"


@dataclass(frozen=True, slots=True)
class Interval:
    label: str
    value: float
    low: float | None
    high: float | None
    marked: bool


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


def _shown(name: str) -> str:
    """The name of a scorer, an axis or an input. A leading `_` would hide it from a legend."""
    line = one_line(name, LONGEST_NAME)
    return f" {line}" if line.startswith("_") else line


def _grid_lines(axes: Axes) -> None:
    axes.grid(visible=True, color="#dddddd", linewidth=0.6)
    axes.set_axisbelow(True)
