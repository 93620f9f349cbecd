"""An empty figure and its way to SVG: the same to the byte for the same values.

    svg(6.0, 4.0, lambda figure: figure.add_subplot().plot([1, 2], [3, 4]))  ->  "<?xml …"

Text stays text in the file. A name from a corpus is one line of it, never mathematics.
"""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING

from evaljudge.text import one_line

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LONGEST_NAME = 40


def svg(width: float, height: float, paint: Callable[[Figure], object]) -> str:
    """In inches; matplotlib's own defaults and our rules, whatever the user's settings are."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    written = io.StringIO()
    with mpl.rc_context(), warnings.catch_warnings():
        mpl.rcdefaults()
        _set_rules()
        # The reader's fonts show the text, not those of this machine.
        warnings.filterwarnings("ignore", "Glyph .* missing from", UserWarning)
        figure = Figure(figsize=(width, height), layout="constrained")
        paint(figure)
        figure.savefig(written, format="svg", metadata={"Date": None, "Creator": None})
    return written.getvalue()


def _set_rules() -> None:
    import matplotlib as mpl

    mpl.rc("svg", hashsalt="evaljudge", fonttype="none")
    mpl.rc("text", parse_math=False)
    mpl.rc("axes.spines", top=False, right=False)
    mpl.rc("axes", titlesize=10.0)
    mpl.rc("font", size=9.0)


def shown(name: str, longest: int = LONGEST_NAME) -> str:
    """Of a scorer, an axis, an input. A leading `_` would hide it from a legend."""
    line = one_line(name, longest)
    return f" {line}" if line.startswith("_") else line


def grid_lines(axes: Axes) -> None:
    axes.grid(visible=True, color="#dddddd", linewidth=0.6)
    axes.set_axisbelow(True)
