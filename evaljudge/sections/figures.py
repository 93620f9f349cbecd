"""How numbers are written, the same in Markdown, on the page and in a terminal; and their rows."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from decimal import ROUND_FLOOR, Decimal
from html import escape
from itertools import chain
from operator import attrgetter
from typing import Any, SupportsIndex, TypeVar, cast, overload

from evaljudge.errors import UserError, unknown
from evaljudge.records import ANY_AXIS
from evaljudge.sections import Cell, Table
from evaljudge.text import columns, fitted, one_line

NONE = "–"
SAMPLED = "†"
SAMPLED_NOTE = "Its interval comes from a seeded sample of documents; the value is exact."
_ALPHA, _LEAST_P = 0.05, 0.001

FEWEST = {"sample": 6, "system": 5, "summary": 5}
"""The fewest units for a coefficient of the level: with fewer even a perfect one comes about by
chance more than once in twenty times. With four systems 2 of the 24 orders are perfect, up or down;
five documents all agree in sign in 2 of 32 cases."""
_UNITS = {"sample": "document", "system": "system", "summary": "text"}
FEW = (
    f"Only: with fewer than {FEWEST['sample']} documents, or {FEWEST['system']} systems or pooled "
    "texts, even perfect agreement can be chance (p above 0.05). Such a value says nothing "
    "and is shown without its interval, which stands in the JSON file."
)

FEW_DOCUMENTS = (
    f"Only: resampling fewer than {FEWEST['sample']} documents gives no interval that means "
    "anything, so values stand without one; no threshold chosen on so few can be relied on."
)


def axis_name(axis: str) -> str:
    return "all axes" if axis == ANY_AXIS else axis


def count(number: int) -> str:
    return f"{number:,}"


def percent(share: float | None, floor: float = 1.0) -> str:
    """Never rounded up to all or to the floor: what is under it looks so."""
    if share is None:
        return NONE
    way = ROUND_FLOOR if any(share < end <= round(share, 3) for end in (floor, 1.0)) else None
    return f"{Decimal(repr(share * 1.0)).quantize(Decimal('0.001'), way) * 100:.1f}%"


def ratio(part: int, whole: int) -> str:
    return percent(part / whole if whole else None)


def correlation(value: float | None) -> str:
    return NONE if value is None else f"{round(value, 3) + 0.0:.3f}"  # + 0.0: no minus before 0


def bracketed(
    value: float | None, low: float | None, high: float | None, sampled: bool = False
) -> str:
    if value is None or low is None or high is None:
        return correlation(value)
    mark = SAMPLED if sampled else ""
    return f"{correlation(value)} [{correlation(low)}, {correlation(high)}]{mark}"


def bounded(row: Any) -> str:
    """The same of what has a value, a low and a high; None where it is not known."""
    return NONE if row is None else bracketed(row.value, row.low, row.high)


def estimate(row: Any, name: str = "value") -> str:
    """The row's value called `name` with its interval; the row is at a level with n units."""
    if row is None:
        return NONE
    return measured(row, row.level, row.n, getattr(row, name), row.sampled)


def measured(row: Any, level: str, n: int, value: float | None, sampled: bool = False) -> str:
    """A value with the row's interval; of too few units with their number in its place."""
    if value is not None and (few := only(level, n)):
        return f"{correlation(value)} ({few})"
    return bracketed(value, row.low, row.high, sampled)


def notes_on(rows: Iterable[Any], sampled: str = SAMPLED_NOTE, value: str = "") -> list[str]:
    """What the marks of the rows' cells mean; `value`: the field that may rest on few units."""
    all_rows = list(rows)
    notes = [f"{SAMPLED} {sampled}"] if any(row.sampled for row in all_rows) else []
    if value:
        few = (getattr(row, value) is not None and only(row.level, row.n) for row in all_rows)
        notes += [FEW] if any(few) else []
    return notes


Columns = Mapping[str, Any]  # the field's name, or what makes a cell of a row, by heading


def tabled(title: str, rows: Iterable[Any], words: int, columns: Columns, lead: int = 0) -> Table:
    """A row for each of `rows`; the first `words` columns are words, which a terminal repeats."""
    getters = [attrgetter(c) if isinstance(c, str) else c for c in columns.values()]
    cells = [[cell(getter(row)) for getter in getters] for row in rows]
    sides = "l" * words + "r" * (len(columns) - words)
    return Table(title, list(columns), cells, sides, lead or words)


def cell(value: Any) -> Cell:
    """Words as they are, whole numbers with commas, others with three decimals."""
    if isinstance(value, int):
        return count(value)
    if value is None or isinstance(value, float):
        return correlation(value)
    return value if isinstance(value, str) else value or NONE


def only(level: str, n: int) -> str:
    """`only 3 systems`; empty where they are enough (see FEWEST)."""
    if n >= FEWEST[level]:
        return ""
    return f"only {count(n)} {_UNITS[level]}{'' if n == 1 else 's'}"


def probability(p: float | None) -> str:
    """Never rounded up to 5%: what tells two apart looks as if it does."""
    if p is None:
        return NONE
    if p <= _LEAST_P:
        return f"≤ {_LEAST_P}"
    rounded = round(p, 3)
    return f"{_ALPHA - 0.001 if p < _ALPHA <= rounded else rounded:.3f}"


def together(numbers: Iterable[int]) -> str:
    """`100`, or `100 / 100 / 98` where the coefficients rest on differently many."""
    shown = list(map(count, numbers))
    return shown[0] if len(set(shown)) == 1 else " / ".join(shown)


def short(number: float) -> str:
    return f"{number:.6g}"


R = TypeVar("R")
NO_ROWS = "There are no rows: nothing of this kind was found (of agreement: are there ratings?)."
MOST_SHOWN, SIMPLE = 50, (str, int, float)


class Rows(list[R]):
    """A list of dataclasses that shows itself as a table; parts of a part are columns, too
    (`fit.axis`), but what a part's `repr` leaves out is not. The first list of parts, such as
    the systems of a ranking, has a row for each, under its own names where no other has them."""

    @overload
    def __getitem__(self, at: SupportsIndex) -> R: ...
    @overload
    def __getitem__(self, at: slice) -> "Rows[R]": ...
    def __getitem__(self, at: Any) -> Any:
        found = super().__getitem__(at)
        return Rows(found) if isinstance(at, slice) else found

    def where(self, **wanted: Any) -> "Rows[R]":
        """The rows whose fields have these values: `where(axis="fluency", level="sample")`; of a
        list, one of them."""
        rows: list[R] = [*self]
        for name, value in wanted.items() if self else ():
            if not hasattr(self[0], name):
                names = [each.name for each in fields(cast(Any, self[0]))]
                raise UserError(f"where: {unknown('field', name, names)}")
            values = value if isinstance(value, list | tuple) else [value]
            there = {word for row in self if isinstance(word := getattr(row, name), str)}
            if strange := [v for v in values if isinstance(v, str) and there and v not in there]:
                raise UserError(f"where: {unknown(name, strange[0], there)}")
            rows = [row for row in rows if getattr(row, name) in values]
        return Rows(rows)

    def to_pandas(self) -> Any:
        import pandas as pd

        return pd.DataFrame(list(_each_part(self)))

    def __repr__(self) -> str:
        heads, rows, more = self._cells()
        lines = [[one_line(cell) for cell in line] for line in (heads, *rows)]
        widths = [max(map(columns, column)) for column in zip(*lines, strict=True)]
        said = "\n".join("  ".join(map(fitted, line, widths)).rstrip() for line in lines)
        return "\n".join(filter(None, [said, more])) if self else NO_ROWS

    __str__ = __repr__

    def _repr_html_(self) -> str:
        heads, rows, more = self._cells()
        said = f"<p>{more or NO_ROWS}</p>" if more or not self else ""
        return (html_table(heads, rows) if self else "") + said

    def _cells(self) -> tuple[list[str], list[list[str]], str]:
        """The heads, the rows that are shown, and how many more there are."""
        all_rows = list(_each_part(self))
        rows = all_rows[:MOST_SHOWN]
        simple = [[n for n, v in row.items() if v is None or isinstance(v, SIMPLE)] for row in rows]
        heads = list(dict.fromkeys(chain(*simple)))
        more = len(all_rows) - len(rows)
        cells = [[_cell(row.get(name)) for name in heads] for row in rows]
        return heads, cells, f"and {more:,} more rows" if more else ""


class InLines:
    """A notebook shows it as Python does."""

    def _repr_html_(self) -> str:
        return f"<pre>{escape(repr(self))}</pre>"


def html_table(heads: Sequence[str], rows: Iterable[Iterable[str]]) -> str:
    lines = [[f"<th>{escape(one_line(head))}</th>" for head in heads]]
    lines += [[f"<td>{escape(one_line(cell))}</td>" for cell in row] for row in rows]
    return f"<table>{''.join('<tr>' + ''.join(line) + '</tr>' for line in lines)}</table>"


def _cell(value: Any) -> str:
    return correlation(value) if value is None or isinstance(value, float) else str(value)


def _each_part(rows: Iterable[Any]) -> Iterator[dict[str, Any]]:
    for row in map(_flat, rows):
        of_many = (n for n, v in row.items() if isinstance(v, list | tuple) and v)
        several = next((name for name in of_many if is_dataclass(row[name][0])), None)
        others = _flat({name: value for name, value in row.items() if name != several})
        for part in row[several] if several else [{}]:
            own = _flat(part)
            yield others | {f"{several}.{n}" if n in others else n: v for n, v in own.items()}


def _flat(row: Any, before: str = "") -> dict[str, Any]:
    parts = row
    if is_dataclass(row):
        parts = {part.name: getattr(row, part.name) for part in fields(row) if part.repr}
    elif not isinstance(row, Mapping):
        return {before.removesuffix("."): row}
    flat = (_flat(value, f"{before}{name}.") for name, value in parts.items())
    return dict(chain.from_iterable(each.items() for each in flat))
