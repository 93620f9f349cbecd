"""Methods x axes with averages, as papers print them: the best bold, the second underlined.

| method  |                    fluency |                    average |
| ------- | -------------------------: | -------------------------: |
| ours    |   **0.437** [0.380, 0.490] |   **0.402** [0.350, 0.450] |
| sampled | <ins>0.310</ins> ± 0.012 … | <ins>0.288</ins> ± 0.010 … |

Methods may be defined on different documents; where they are, a second table has the documents
behind each value, and the value on those that all methods have in common:

| method | fluency: n | fluency: on all 96 |
| ------ | ---------: | -----------------: |
| ours   |        100 |              0.441 |

Statistics come as plain values; `method_table` takes them from `evaljudge.agreement.averaged`, and
study.py writes the section.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from evaljudge.report.levels import COEFFICIENTS
from evaljudge.sections import Cell, Place, Placed, Section, Table
from evaljudge.sections.figures import FEW, NONE, correlation, count, only

if TYPE_CHECKING:
    from evaljudge.agreement import Averaged

AVERAGE = "average"
LEVEL = "sample"
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
DOCUMENTS = "Documents behind each value, and the value on those of all methods"
COMMON = (
    "n: the documents where a method is defined. On all: its value on the documents where every "
    "method with a value in the column is defined. Methods are to be compared by the latter: "
    "other documents may be easier."
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
    n: int | None = None  # documents
    common: float | None = None  # on the documents where all methods are defined


@dataclass(frozen=True, slots=True)
class MethodRow:
    name: str
    figures: Sequence[MethodFigure]  # one per axis, then the average


@dataclass(frozen=True, slots=True)
class MethodTable:
    coefficient: str
    axes: Sequence[str]
    rows: Sequence[MethodRow]
    common: Sequence[int] = ()  # documents where all methods are defined: per axis, of the average

    @property
    def shares_documents(self) -> bool:
        """Whether all values of a column rest on the same documents."""
        return all(
            figure.n == common
            for row in self.rows
            for figure, common in zip(row.figures, self.common, strict=False)
            if figure.value is not None
        )


def method_table(found: Averaged) -> MethodTable:
    rows = [MethodRow(method.name, _figures(found, at)) for at, method in enumerate(found.methods)]
    common = [column.common for column in found.columns]
    return MethodTable(found.coefficient, found.axes, rows, common)


def methods_section(title: str, about: Sequence[str], table: MethodTable) -> Section:
    """An average of a single axis would say it again, and is left out."""
    axes = list(table.axes)
    columns = [*axes, *([AVERAGE] if len(axes) > 1 else [])]
    heads = ["method", *columns]
    rows = [
        [row.name, *map(_cell, row.figures[: len(columns)])]
        for row in table.rows
    ]  # fmt: skip
    caption = f"{COEFFICIENTS.get(table.coefficient, table.coefficient)}, sample level"
    shown = Table(caption, heads, rows, "l" + "r" * (len(heads) - 1))
    tables = [shown] if table.shares_documents else [shown, _documents(table, columns)]
    return Section(title, about, tables, list(_notes(table, columns)))


def _documents(table: MethodTable, columns: Sequence[str]) -> Table:
    pairs = list(zip(columns, table.common, strict=False))
    heads = [head for name, n in pairs for head in (f"{name}: n", f"{name}: on all {count(n)}")]
    rows = [
        [
            row.name,
            *(
                cell
                for figure, _ in zip(row.figures, pairs, strict=False)
                for cell in (count(figure.n or 0), correlation(figure.common))
            ),
        ]
        for row in table.rows
    ]
    return Table(DOCUMENTS, ["method", *heads], rows, "l" + "r" * len(heads))


def _figures(found: Averaged, at: int) -> list[MethodFigure]:
    name = found.methods[at].name
    figures = []
    for column, one in zip(found.columns, found.methods[at].columns, strict=True):
        place: Place | None = (
            "best" if name in column.best else "second" if name in column.second else None
        )
        if only(LEVEL, one.n):
            place = None
        p = {rival.name: rival.p_holm for rival in column.challengers}.get(name)
        told = one.value, one.low, one.high, one.spread, place, p, one.n, one.common
        figures.append(MethodFigure(*told))
    return figures


def _cell(figure: MethodFigure) -> Cell:
    shown, beside = correlation(figure.value), _few(figure) or _beside(figure)
    return Placed(shown, figure.place, beside) if figure.place else shown + beside


def _few(figure: MethodFigure) -> str:
    """What stands in place of all else where the documents are too few."""
    few = "" if figure.n is None or figure.value is None else only(LEVEL, figure.n)
    return f" ({few})" if few else ""


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


def _notes(table: MethodTable, columns: Sequence[str]) -> Iterator[str]:
    figures = [figure for row in table.rows for figure in row.figures if not _few(figure)]
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
    if any(_few(figure) for row in table.rows for figure in row.figures):
        yield FEW
    if not table.shares_documents:
        yield COMMON
    elif table.common:
        told = (f"{name} {count(n)}" for name, n in zip(columns, table.common, strict=False))
        yield f"n: all values of a column rest on the same documents: {', '.join(told)}."
