"""Methods x axes with averages, as papers print them: the best bold, the second underlined.

| method  |                    fluency |                    average |
| ------- | -------------------------: | -------------------------: |
| ours    |   **0.437** [0.380, 0.490] |   **0.402** [0.350, 0.450] |
| sampled | <ins>0.310</ins> ± 0.012 … | <ins>0.288</ins> ± 0.010 … |

Statistics come as plain values; `method_table` takes them from `evaljudge.agreement.averaged`, and
study.py writes the section.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from evaljudge.report.figures import NONE, correlation
from evaljudge.report.levels import COEFFICIENTS
from evaljudge.report.tables import Cell, Place, Placed, Section, Table

if TYPE_CHECKING:
    from evaljudge.agreement import Averaged

AVERAGE = "average"
APART, UNTESTED = "‡", "°"
ALPHA = 0.05
INTERVALS = (
    "In brackets: 95% percentile bootstrap intervals; whole documents are resampled, "
    "the same for all methods and axes."
)
SPREAD = "±: the sample standard deviation over a method's trials, whose mean is given."
TESTED = (
    f"{APART} Told from the best of its column: a two-sided permutation test that turns the sign "
    "of whole documents' differences, at 5% after Holm's correction over the column's methods. "
    "Without the mark a method may still be worse: there is too little here to say so."
)
LACKING = (
    f"{UNTESTED} Not tested against the best of its column, "
    "as where fewer than two documents are common to both."
)
UNDEFINED = f"{NONE} No value: an average needs one on every axis, and a method one in every trial."


@dataclass(frozen=True, slots=True)
class MethodFigure:
    """A method in one column; None where undefined."""

    value: float | None
    low: float | None = None
    high: float | None = None
    spread: float | None = None  # over trials
    place: Place | None = None
    p_holm: float | None = None  # beside the column's best; None for the best itself


@dataclass(frozen=True, slots=True)
class MethodRow:
    name: str
    figures: Sequence[MethodFigure]  # one per axis, then the average


@dataclass(frozen=True, slots=True)
class MethodTable:
    coefficient: str
    axes: Sequence[str]
    rows: Sequence[MethodRow]


def method_table(found: Averaged) -> MethodTable:
    rows = [MethodRow(method.name, _figures(found, at)) for at, method in enumerate(found.methods)]
    return MethodTable(found.coefficient, found.axes, rows)


def methods_section(title: str, about: Sequence[str], table: MethodTable) -> Section:
    """An average of a single axis would say it again, and is left out."""
    axes = list(table.axes)
    heads = ["method", *axes, *([AVERAGE] if len(axes) > 1 else [])]
    rows = [
        [row.name, *map(_cell, row.figures[: len(heads) - 1])]
        for row in table.rows
    ]  # fmt: skip
    caption = f"{COEFFICIENTS.get(table.coefficient, table.coefficient)}, sample level"
    shown = Table(caption, heads, rows, "l" + "r" * (len(heads) - 1))
    return Section(title, about, [shown], list(_notes(table)))


def _figures(found: Averaged, at: int) -> list[MethodFigure]:
    name = found.methods[at].name
    figures = []
    for column, one in zip(found.columns, found.methods[at].columns, strict=True):
        place: Place | None = (
            "best" if name in column.best else "second" if name in column.second else None
        )
        ps = {challenger.name: challenger.p_holm for challenger in column.challengers}
        figures.append(MethodFigure(one.value, one.low, one.high, one.spread, place, ps.get(name)))
    return figures


def _cell(figure: MethodFigure) -> Cell:
    shown, beside = correlation(figure.value), _beside(figure)
    return Placed(shown, figure.place, beside) if figure.place else shown + beside


def _beside(figure: MethodFigure) -> str:
    spread = "" if figure.spread is None else f" ± {correlation(figure.spread)}"
    bounds = [figure.low, figure.high]
    interval = "" if None in bounds else f" [{', '.join(map(_bound, bounds))}]"
    return spread + interval + _mark(figure)


def _bound(value: float | None) -> str:
    return NONE if value is None else f"{round(value, 2) + 0.0:.2f}"  # + 0.0: no minus before 0


def _mark(figure: MethodFigure) -> str:
    if figure.value is None or figure.place == "best":
        return ""
    if figure.p_holm is None:
        return UNTESTED
    return APART if figure.p_holm < ALPHA else ""


def _notes(table: MethodTable) -> Iterator[str]:
    figures = [figure for row in table.rows for figure in row.figures]
    if any(figure.low is not None for figure in figures):
        yield INTERVALS
    if any(figure.spread is not None for figure in figures):
        yield SPREAD
    if any(figure.p_holm is not None for figure in figures):
        yield TESTED
    if UNTESTED in map(_mark, figures):
        yield LACKING
    if any(figure.value is None for figure in figures):
        yield UNDEFINED
