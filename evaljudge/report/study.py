"""A study's tables, and their three media: study.md, a terminal's text, one HTML page.

| method  |                    fluency |                    average |
| ------- | -------------------------: | -------------------------: |
| ours    |   **0.437** [0.380, 0.490] |   **0.402** [0.350, 0.450] |

The best of a column is bold and the second underlined; a terminal shows 0.437¹ and 0.310². Where
methods are defined on different documents, a second table has the documents behind each value, and
the value on those that all methods have in common.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

from evaljudge.agreement import Averaged, AveragedColumn, AveragedValue, Correlation, Level
from evaljudge.analyses.agreement import COEFFICIENTS
from evaljudge.report.lines import section_blocks
from evaljudge.report.page import environment, frame
from evaljudge.report.screen import on_screen, wrapped
from evaljudge.sections import Cell, Placed, Section, Table
from evaljudge.sections.figures import FEW, NONE, correlation, count, only, ratio, tabled
from evaljudge.text import LONG, SHORT, markdown, one_line

TITLE = "Methods compared"
PLACES = "Bold: the best of its column; underlined: the second."
PLACES_ON_SCREEN = "¹ The best of its column; ² the second."

AVERAGE = "average"
APART, UNTESTED = "‡", "°"
ALPHA = 0.05
INTERVALS = "In brackets: 95% intervals, Student's t over documents."
SPREAD = "±: the sample standard deviation over a method's trials, whose mean is given."
TESTED = (
    f"{APART} Told from the best of its column: Student's t of the documents' differences, "
    "two-sided, at 5% after Holm's correction for every two methods of the column. "
    "Without the mark a method may still be worse: there is too little here to say so."
)
LACKING = (
    f"{UNTESTED} Not tested against the best of its column, "
    "as where fewer than two documents are common to both."
)
DOCUMENTS = "Documents behind each value, and the value on those of all methods"
COMMON = (
    "n: the documents where a method is defined. On all: its value on the documents where every "
    "method of the column is. Compare methods by the latter: other documents may be easier."
)
COUNTED = ("asks", "prompt", "prefilled", "generated")
COUNTS = (
    "Asks: questions put to a model, without those that prepare (such as for references); prompt: "
    "the tokens of all their requests; prefilled: those of them that the prefix cache did not "
    "serve, and beside it what share this is of the first method's; generated: the tokens that "
    "came out. Agreement: the average of the first table. Like the first: the correlation of the "
    "method's scores with the first method's, within documents, averaged over axes."
)
SHARED = (
    "A question that methods of one run share is charged to the first of them: with `apart: true` "
    "each method of a study is a run of its own, and its cost is its own."
)
COARSE = (
    "Few different scores, which tie where ratings tie: {}. Correlations of ranks reward this, so "
    "such a method can stand above others without ordering texts better."
)
UNDEFINED = f"{NONE} No value: an average needs one on every axis, and a method one in every trial."


def study_markdown(sections: Sequence[Section], lead: Sequence[str]) -> str:
    blocks = [f"# {TITLE}", *(markdown(line, LONG) for line in lead)]
    for section in sections:
        blocks += section_blocks(_shown(section, PLACES, markdown))
    return "\n\n".join(blocks) + "\n"


def study_text(sections: Sequence[Section], lead: Sequence[str], *, full: bool = True) -> str:
    """Not `full`: the first section alone, of its table the average."""
    blocks = [wrapped(one_line(line, LONG)) for line in lead]
    for whole in sections if full else map(_averages, sections[:1]):
        section = _shown(whole, PLACES_ON_SCREEN, one_line)
        blocks.append("\n".join([section.title, *map(wrapped, section.about)]))
        for table in section.tables:
            rows = [[_raised(cell) for cell in row] for row in table.rows]
            blocks.append(f"{one_line(table.title)}\n{on_screen(replace(table, rows=rows))}")
        blocks.append("\n".join(map(wrapped, section.notes)))
    return "\n\n".join(filter(None, blocks)) + "\n"


def _averages(section: Section) -> Section:
    table, notes = section.tables[0], [note for note in section.notes if note != COMMON]
    if table.heads[-1] == AVERAGE:
        rows = [[row[0], row[-1]] for row in table.rows]
        table = Table(table.title, [table.heads[0], AVERAGE], rows, "lr")
    return replace(section, tables=[table], notes=notes)


def study_page(sections: Sequence[Section], lead: Sequence[str], title: str = TITLE) -> str:
    study = environment().get_template("study.html.j2")
    shown = [_shown(section, PLACES, one_line) for section in sections]
    return str(study.render(title=title, lead=lead, sections=shown, is_open=" open", **frame()))


def _shown(section: Section, places: str, line: Callable[[str, int], str]) -> Section:
    """The section as a medium shows it; the first note is what its marks of places mean."""
    cells = [cell for table in section.tables for row in table.rows for cell in row]
    placed = any(isinstance(cell, Placed) for cell in cells)
    return replace(
        section,
        title=line(section.title, SHORT),
        about=[line(sentence, LONG) for sentence in section.about],
        notes=[line(note, LONG) for note in [places] * placed + list(section.notes)],
    )


def _raised(cell: Cell) -> Cell:
    if not isinstance(cell, Placed):
        return cell
    return f"{cell.figure}{'¹' if cell.place == 'best' else '²'}{cell.beside}"


@dataclass(frozen=True, slots=True)
class PooledValue:
    method: str
    axis: str
    level: Level
    coefficient: Correlation
    trials: int
    n: int  # the fewest systems, or candidates, of a trial
    value: float | None  # None where a trial has none
    spread: float | None

    @property
    def cell(self) -> str:
        shown, few = correlation(self.value), only(self.level, self.n)
        if self.value is not None and few:
            return f"{shown} ({few})"
        return shown if self.spread is None else f"{shown} ± {correlation(self.spread)}"


@dataclass(frozen=True, slots=True)
class MethodCost:
    """What a method cost, summed over its axes and packs of prompts."""

    method: str
    agreement: float | None
    like_first: float | None
    asks: int
    prompt: int
    prefilled: int
    generated: int


@dataclass(frozen=True)
class _Figure:
    """A method in one column: what is shown, the mark at its end, and whether it rests on few."""

    one: AveragedValue
    cell: Cell
    p_holm: float | None  # beside the column's best; None for the best itself
    mark: str = ""
    is_few: bool = False


def methods_section(
    title: str, about: Sequence[str], averaged: Averaged, coarse: Sequence[str] = ()
) -> Section:
    """An average of a single axis would say it again. `coarse`: methods with few scores."""
    names = [*averaged.axes, *([AVERAGE] if len(averaged.axes) > 1 else [])]
    columns = dict(zip(names, averaged.columns, strict=False))
    rows = {
        method.name: [
            _figure(method.name, value, column)
            for value, column in zip(method.columns, columns.values(), strict=False)
        ]
        for method in averaged.methods
    }
    heads, sides = ["method", *columns], "l" + "r" * len(columns)
    cells: list[list[Cell]] = [[name, *(f.cell for f in row)] for name, row in rows.items()]
    caption = f"{COEFFICIENTS[averaged.coefficient]}, sample level"
    tables = [Table(caption, heads, cells, sides)]
    is_shared = all(  # the values of a column, the average's too, rest on the same documents
        value.n == column.common
        for method in averaged.methods
        for value, column in zip(method.columns, averaged.columns, strict=True)
        if value.value is not None
    )
    if not is_shared:
        tables.append(_documents(rows, columns))
    notes = list(_notes(list(chain(*rows.values())), columns, is_shared))
    if 0 < len(coarse) < len(rows) and averaged.coefficient != "pearson":
        notes.append(COARSE.format(", ".join(coarse)))
    return Section(title, about, tables, notes)


def pooled_section(title: str, values: Sequence[PooledValue]) -> Section:
    tables = []
    for level in dict.fromkeys(value.level for value in values):
        here = [value for value in values if value.level == level]
        axes = list(dict.fromkeys(value.axis for value in here))
        rows: dict[str, list[Cell]] = {}
        for value in here:
            rows.setdefault(value.method, [value.method]).append(value.cell)
        caption = f"{COEFFICIENTS[here[0].coefficient]}, {level} level"
        cells = list(rows.values())
        tables.append(Table(caption, ["method", *axes], cells, "l" + "r" * len(axes)))
    notes = [SPREAD] if any(value.spread is not None for value in values) else []
    return Section(title, (), tables, notes)


def costs_section(title: str, costs: Sequence[MethodCost]) -> Section:
    columns: dict[str, Any] = {"method": "method", **{name: name for name in COUNTED[:3]}}
    columns["of the first's"] = lambda cost: ratio(cost.prefilled, costs[0].prefilled)
    columns |= {"generated": "generated", "agreement": "agreement", "like the first": "like_first"}
    return Section(title, (), [tabled("Judging", costs, 1, columns)], [COUNTS, SHARED])


def _figure(method: str, value: AveragedValue, column: AveragedColumn) -> _Figure:
    """A value with its mark; with too few documents it has no place, interval or mark."""
    p_holm = {rival.name: rival.p_holm for rival in column.challengers}.get(method)
    shown, few = correlation(value.value), only("sample", value.n)
    if value.value is None:
        return _Figure(value, shown, p_holm)
    if few:
        return _Figure(value, f"{shown} ({few})", p_holm, is_few=True)
    is_best, mark = method in column.best, ""
    if not is_best:
        mark = UNTESTED if p_holm is None else APART if p_holm < ALPHA else ""
    beside = "" if value.spread is None else f" ± {correlation(value.spread)}"
    if value.low is not None and value.high is not None:
        beside += f" [{_bound(value.low)}, {_bound(value.high)}]"
    beside += mark
    if is_best or method in column.second:
        return _Figure(value, Placed(shown, "best" if is_best else "second", beside), p_holm, mark)
    return _Figure(value, shown + beside, p_holm, mark)


def _documents(
    rows: Mapping[str, Sequence[_Figure]], columns: Mapping[str, AveragedColumn]
) -> Table:
    heads = ["method"]
    for name, column in columns.items():
        heads += [f"{name}: n", f"{name}: on all {count(column.common)}"]
    cells = [
        [name, *(cell for f in row for cell in (count(f.one.n), correlation(f.one.common)))]
        for name, row in rows.items()
    ]
    return Table(DOCUMENTS, heads, cells, "l" + "r" * (len(heads) - 1))


def _bound(value: float) -> str:
    return f"{round(value, 2) + 0.0:.2f}"  # + 0.0: no minus before 0


def _notes(
    all_figures: Sequence[_Figure], columns: Mapping[str, AveragedColumn], is_shared: bool
) -> Iterator[str]:
    figures = [figure for figure in all_figures if not figure.is_few]
    holds = {
        INTERVALS: any(figure.one.low is not None for figure in figures),
        SPREAD: any(figure.one.spread is not None for figure in figures),
        TESTED: any(figure.p_holm is not None for figure in figures),
        LACKING: any(figure.mark == UNTESTED for figure in figures),
        UNDEFINED: any(figure.one.value is None for figure in figures),
        FEW: len(figures) < len(all_figures),
        COMMON: not is_shared,
    }
    yield from (note for note, is_needed in holds.items() if is_needed)
    if is_shared:
        shared = (f"{name} {count(column.common)}" for name, column in columns.items())
        yield f"n: all values of a column rest on the same documents: {', '.join(shared)}."
