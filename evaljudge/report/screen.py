"""A table as a terminal shows it: within its width, whatever the names are.

axis     level   best (Spearman)  not significantly lower  significantly lower
fluency  sample  geval (0.441)    words; synthetic         chrF (p 0.012); BLEU (p 0.003) +4

Output that goes to a file or to another program has no width, unless COLUMNS sets one: nothing is
cut or wrapped there. In a table that is too wide, figures are shown whole. Columns of words give
way, the widest first; what still does not fit is shown in parts, the leading columns repeated.
"""

import os
import re
import shutil
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from math import inf

from evaljudge.sections import Cell, Named, Table
from evaljudge.text import LONG, columns, fitted, one_line

NARROWEST = 80  # a narrower terminal wraps the lines itself
WIDEST_PROSE = 100  # for a sentence on a terminal
WIDEST_NAME = 24  # in a table that is too wide: in a list, and above a column of figures
LEAST_WORDS = 14  # what a column of words keeps beside many columns
LEAST_LEAD = 40  # where it is the only one: names by which rows are known
_GAP = "  "
_whole = partial(one_line, longest=LONG)
COUNTED_ON = re.compile(r" \+\d+(?=  |$)", re.MULTILINE)  # a list of names without room for all


def width() -> float:
    if sys.stdout.isatty() or os.environ.get("COLUMNS", "").isdecimal():
        return max(NARROWEST, shutil.get_terminal_size().columns)
    return inf


def wrapped(sentence: str) -> str:
    room = width()
    return sentence if room == inf else textwrap.fill(sentence, min(int(room), WIDEST_PROSE))


def on_screen(table: Table) -> str:
    lines = _cells(table, _whole)
    widths = _widest(lines)
    if _total(widths) <= width():
        return _aligned(lines, widths)
    return "\n\n".join(map(_lines, _parts(table)))


def _parts(table: Table) -> Iterator[Table]:
    only_lead = table.sides == "l" + "r" * (len(table.sides) - 1)
    words = LEAST_LEAD if only_lead else LEAST_WORDS
    sided = zip(_widest(_cells(table, _short)), table.sides, strict=True)
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
    sides = "".join(table.sides[c] for c in chosen)
    return replace(table, heads=heads, rows=rows, sides=sides)


def _lines(table: Table) -> str:
    """The table in widths that fit: a heading is cut only where all its words' columns are full."""
    heads, *_ = lines = _cells(table, _short)
    widths = _widest(lines)
    words = [column for column, side in enumerate(table.sides) if side == "l"]
    while _total(widths) > width():
        widths[max(words, key=lambda c: (widths[c] > columns(heads[c]), widths[c]))] -= 1
    rows = [
        [
            _whole(cell) if isinstance(cell, str) else _listed(cell, room)
            for cell, room in zip(row, widths, strict=True)
        ]
        for row in table.rows
    ]
    return _aligned([heads, *rows], widths)


def _aligned(lines: Iterable[Sequence[str]], widths: Sequence[int]) -> str:
    return "\n".join(_GAP.join(map(fitted, line, widths)).rstrip() for line in lines)


def _total(widths: Iterable[int]) -> int:
    each = list(widths)
    return sum(each) + len(_GAP) * (len(each) - 1)


def _widest(lines: Iterable[Sequence[str]]) -> list[int]:
    return [max(map(columns, column)) for column in zip(*lines, strict=True)]


def _cells(table: Table, named: Callable[[str], str]) -> list[list[str]]:
    """Its lines, the heads first; `named`: how heads of figures and names in lists are shown."""
    sided = zip(table.heads, table.sides, strict=True)
    heads = [_whole(head) if side == "l" else named(head) for head, side in sided]
    return [heads, *([_words(cell, named) for cell in row] for row in table.rows)]


def _words(cell: Cell, shown: Callable[[str], str]) -> str:
    if isinstance(cell, str):
        return _whole(cell)
    return "; ".join(named.shown(shown(named.name)) for named in cell)


def _listed(names: Sequence[Named], room: int) -> str:
    """As many whole names as fit, and how many others there are. At least one name is shown: it is
    cut, and the remark on it stays."""
    for kept in range(len(names), 0, -1):
        more = f" +{len(names) - kept}" if kept < len(names) else ""
        shown = _words(names[:kept], _short) + more
        if columns(shown) <= room:
            break
    if kept > 1:
        return shown
    left = room - columns(names[0].shown("") + more)
    return names[0].shown(_short(names[0].name, max(left, 2))) + more


def _short(name: str, longest: int = WIDEST_NAME) -> str:
    return fitted(one_line(name), min(longest, WIDEST_NAME)).rstrip()
