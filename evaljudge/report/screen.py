"""A table as a terminal shows it: within its width, whatever the names are.

axis     level   best (Spearman)  cannot be told from it  told from it
fluency  sample  geval (0.441)    words; synthetic        chrF (p 0.012); BLEU (p 0.003) +4

Output that goes to a file or to another program has no width: nothing is cut or wrapped there. As
for other programs, the variable COLUMNS sets a width, wherever the output goes.

In a table that is too wide, figures are shown whole. Columns of words give way, the widest first: a
name is cut, a list of names is counted on. What still does not fit is shown in parts, the leading
columns repeated.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from math import inf

from evaljudge.sections import Cell, Named, Table
from evaljudge.text import columns, fitted, one_line

NARROWEST = 80  # a narrower terminal wraps the lines itself
WIDEST_PROSE = 100  # of a sentence on a terminal
WIDEST_NAME = 24  # of a table that is too wide: in a list, and above a column of figures
LEAST_WORDS = 14  # what a column of words keeps beside many columns
LEAST_LEAD = 40  # where it is the only one: names by which rows are known
_GAP = "  "
_COUNTED_ON = re.compile(r" \+\d+(?=  |$)", re.MULTILINE)


def width() -> float:
    """The columns that there are for a line of output."""
    if sys.stdout.isatty() or os.environ.get("COLUMNS", "").isdecimal():
        return max(NARROWEST, shutil.get_terminal_size().columns)
    return inf


def on_screen(table: Table, least: int | None = None) -> str:
    """`least`: the columns of a terminal that every column of words keeps, if it needs them."""
    if fits(table):
        return whole(table)
    return "\n\n".join(map(_lines, _parts(table, least)))


def fits(table: Table) -> bool:
    return _total(_widest(_whole(table))) <= width()


def whole(table: Table) -> str:
    """As wide as it is."""
    lines = _whole(table)
    return _aligned(lines, _widest(lines))


def counts_on(table: Table) -> bool:
    """Whether a list of names is counted on, as there is no room for all of them."""
    has_lists = any(not isinstance(cell, str) for row in table.rows for cell in row)
    return has_lists and _COUNTED_ON.search(on_screen(table)) is not None


def wrapped(sentence: str) -> str:
    room = width()
    return sentence if room == inf else textwrap.fill(sentence, min(int(room), WIDEST_PROSE))


def _parts(table: Table, kept: int | None) -> Iterator[Table]:
    """As many columns at a time as fit."""
    sided = zip(_widths(table), table.sides, strict=True)
    only_lead = table.sides == "l" + "r" * (len(table.sides) - 1)
    words = kept or (LEAST_LEAD if only_lead else LEAST_WORDS)
    least = [min(wide, words) if side == "l" else wide for wide, side in sided]
    lead = list(range(table.lead))
    chosen: list[int] = []
    for column in range(table.lead, len(least)):
        if chosen and _total(least[c] for c in [*lead, *chosen, column]) > width():
            yield _only(table, [*lead, *chosen])
            chosen = []
        chosen.append(column)
    yield _only(table, [*lead, *chosen])


def _only(table: Table, chosen: Sequence[int]) -> Table:
    heads = [table.heads[c] for c in chosen]
    rows = [[row[c] for c in chosen] for row in table.rows]
    return Table(table.title, heads, rows, "".join(table.sides[c] for c in chosen), table.lead)


def _whole(table: Table) -> list[list[str]]:
    return [[*map(one_line, table.heads)], *([*map(_cell, row)] for row in table.rows)]


def _lines(table: Table) -> str:
    widths = _shared(_widths(table), table)
    return _aligned([_heads(table), *([*map(_cell, row, widths)] for row in table.rows)], widths)


def _aligned(lines: Iterable[Sequence[str]], widths: Sequence[int]) -> str:
    return "\n".join(_GAP.join(map(fitted, line, widths)).rstrip() for line in lines)


def _shared(widths: list[int], table: Table) -> list[int]:
    """Widths that fit: a head is cut only where all columns of words are down to theirs."""
    words = [column for column, side in enumerate(table.sides) if side == "l"]
    heads = list(map(columns, _heads(table)))
    while _total(widths) > width():
        widths[max(words, key=lambda c: (widths[c] > heads[c], widths[c]))] -= 1
    return widths


def _total(widths: Iterable[int]) -> int:
    """With the gaps between them."""
    each = list(widths)
    return sum(each) + len(_GAP) * (len(each) - 1)


def _widths(table: Table) -> list[int]:
    return _widest([_heads(table), *([*map(_short_cell, row)] for row in table.rows)])


def _widest(lines: Iterable[Sequence[str]]) -> list[int]:
    return [max(map(columns, column)) for column in zip(*lines, strict=True)]


def _heads(table: Table) -> list[str]:
    return [
        one_line(head) if side == "l" else _short(head)
        for head, side in zip(table.heads, table.sides, strict=True)
    ]


def _cell(cell: Cell, width: int | None = None) -> str:
    """Of a list, as many whole names as fit `width`."""
    if isinstance(cell, str):
        return one_line(cell)
    return _joined(cell, one_line) if width is None else _listed(cell, width)


def _short_cell(cell: Cell) -> str:
    return one_line(cell) if isinstance(cell, str) else _joined(cell, _short)


def _joined(names: Sequence[Named], shown: Callable[[str], str]) -> str:
    return "; ".join(named.shown(shown(named.name)) for named in names)


def _listed(names: Sequence[Named], width: int) -> str:
    """As many whole names as fit, but one in any case, and how many others there are."""
    for kept in range(len(names), 0, -1):
        more = f" +{len(names) - kept}" if kept < len(names) else ""
        shown = _joined(names[:kept], _short) + more
        if columns(shown) <= width:
            break
    return shown if kept > 1 else _cut_to(width, names[0], more)


def _cut_to(width: int, named: Named, more: str) -> str:
    """The name is cut; the remark on it stays."""
    room = width - columns(named.shown("") + more)
    return named.shown(_short(named.name, max(room, 2))) + more


def _short(name: str, width: int = WIDEST_NAME) -> str:
    return fitted(one_line(name), min(width, WIDEST_NAME)).rstrip()
