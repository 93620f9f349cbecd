"""What a probe found: tables for a terminal and for Markdown, rows for JSON, a figure as SVG, in
which equal values give equal bytes and a name from a corpus is one line, never mathematics."""

import io
import json
import warnings
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from math import isfinite
from typing import Any, Generic, NamedTuple, TypeVar

from evaljudge.agreement import Measured
from evaljudge.sections import Table
from evaljudge.settings import AnyPath, as_path
from evaljudge.storage import Place
from evaljudge.text import LONG, markdown, one_line

LEAST_NAME = 36
LONGEST_NAME = 40
_MARKED, _PLAIN = "#c1440e", "#2b5d8a"
Row = TypeVar("Row")


class Dot(NamedTuple):
    label: str
    found: Measured
    is_marked: bool = False


@dataclass(frozen=True, slots=True, repr=False)
class ProbeResult(Generic[Row]):
    name: str
    title: str
    about: str
    tables: Sequence[Table]
    notes: Sequence[str]
    rows: Sequence[Row]
    dots: Sequence[Dot]
    measure: str  # what the dots are, as the figure says it

    def __repr__(self) -> str:
        return as_text(self).rstrip("\n")

    def write(self, out: AnyPath) -> None:
        place = Place(as_path(out, "out"))
        place.write(f"{self.name}.md", as_markdown(self))
        place.write(f"{self.name}.json", as_json(self))
        place.write(f"{self.name}.svg", drawn(self.dots, self.measure))


def as_text(result: ProbeResult[Any]) -> str:
    from evaljudge.report.screen import on_screen

    blocks = [f"{result.title}\n{one_line(result.about, LONG)}"]
    for table in result.tables:
        text = on_screen(table, LEAST_NAME)
        blocks.append(f"{one_line(table.title)}\n{text}" if table.title else text)
    return "\n\n".join([*blocks, *result.notes]) + "\n"


def as_markdown(result: ProbeResult[Any]) -> str:
    from evaljudge.report.markdown import table_markdown

    blocks = [f"# {result.title}", markdown(result.about, LONG)]
    for table in result.tables:
        blocks += [f"## {markdown(table.title)}"] if table.title else []
        blocks.append(table_markdown(table))
    notes = [markdown(note, LONG) for note in result.notes]
    return "\n\n".join([*blocks, f"![{result.title}]({result.name}.svg)", *notes]) + "\n"


def as_json(result: ProbeResult[Any]) -> str:
    def plain(value: Any) -> Any:
        return None if isinstance(value, float) and not isfinite(value) else value

    rows = [{key: plain(value) for key, value in asdict(row).items()} for row in result.rows]
    return json.dumps(rows, indent=1, allow_nan=False) + "\n"


def print_and_write(result: ProbeResult[Any], out: str | None) -> None:
    print(as_text(result), end="")
    if out:
        result.write(out)
        print(f"\nwritten    {Place(out).uri}/{result.name}.md, .json, .svg")


def drawn(dots: Sequence[Dot], measure: str) -> str:
    """A row for each dot, the first at the top, whatever the user's settings of matplotlib are."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    rows = [(dot, dot.found.value) for dot in dots if dot.found.value is not None]
    labels = (one_line(dot.label, LONGEST_NAME) for dot, _ in rows)
    names = [f" {name}" if name.startswith("_") else name for name in labels]  # `_` would hide it
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
        figure = Figure(figsize=(7.5, 1.2 + 0.24 * len(rows)), layout="constrained")
        axes = figure.add_subplot()
        axes.grid(visible=True, color="#dddddd", linewidth=0.6)
        axes.set_axisbelow(True)
        for place, ((_, measured, is_marked), value) in enumerate(rows):
            colour = _MARKED if is_marked else _PLAIN
            if measured.low is not None and measured.high is not None:
                axes.hlines(place, measured.low, measured.high, color=colour, linewidth=1.4)
            axes.plot([value], [place], "o", color=colour, markersize=5)
        axes.set_yticks(range(len(rows)), names)
        axes.set_ylim(len(rows) - 0.5, -0.5)
        axes.set_xlabel(one_line(measure))
        axes.set_ylabel("scorer")
        figure.savefig(written, format="svg", metadata={"Date": None, "Creator": None})
    return written.getvalue()
