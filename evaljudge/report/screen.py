"""A table as a terminal shows it: at most 100 columns, whatever the names are.

axis     level   best (Spearman)  cannot be told from it  told from it
fluency  sample  geval (0.441)    words; synthetic        chrF (p 0.012); BLEU (p 0.003) +4

Figures are shown whole. Columns of words give way, the widest first: a name is cut, a list of
names is counted on. What still does not fit is shown in parts, the leading columns repeated.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence

from evaljudge.sections import Cell, Named, Table
from evaljudge.text import columns, fitted, one_line

WIDEST = 100
WIDEST_NAME = 24  # in a list, and above a column of figures
LEAST_WORDS = 14  # what a column of words keeps beside many columns
LEAST_LEAD = 40  # where it is the only one: names by which rows are known
_GAP = "  "


def on_screen(table: Table, least: int | None = None) -> str:
    """`least`: the columns of a terminal that every column of words keeps, if it needs them."""
    return "\n\n".join(map(_lines, _parts(table, least)))


def wrapped(sentence: str) -> str:
    return textwrap.fill(sentence, WIDEST)


def _parts(table: Table, kept: int | None) -> Iterator[Table]:
    """As many columns at a time as fit."""
    sided = zip(_widths(table), table.sides, strict=True)
    only_lead = table.sides == "l" + "r" * (len(table.sides) - 1)
    words = kept or (LEAST_LEAD if only_lead else LEAST_WORDS)
    least = [min(width, words) if side == "l" else width for width, side in sided]
    lead = list(range(table.lead))
    chosen: list[int] = []
    for column in range(table.lead, len(least)):
        if chosen and _total(least[c] for c in [*lead, *chosen, column]) > WIDEST:
            yield _only(table, [*lead, *chosen])
            chosen = []
        chosen.append(column)
    yield _only(table, [*lead, *chosen])


def _only(table: Table, chosen: Sequence[int]) -> Table:
    heads = [table.heads[c] for c in chosen]
    rows = [[row[c] for c in chosen] for row in table.rows]
    return Table(table.title, heads, rows, "".join(table.sides[c] for c in chosen), table.lead)


def _lines(table: Table) -> str:
    widths = _shared(_widths(table), table)
    lines = [_heads(table), *([*map(_cell, row, widths)] for row in table.rows)]
    return "\n".join(_GAP.join(map(fitted, line, widths)).rstrip() for line in lines)


def _shared(widths: list[int], table: Table) -> list[int]:
    """Widths that fit: a head is cut only where all columns of words are down to theirs."""
    words = [column for column, side in enumerate(table.sides) if side == "l"]
    heads = list(map(columns, _heads(table)))
    while _total(widths) > WIDEST:
        widths[max(words, key=lambda c: (widths[c] > heads[c], widths[c]))] -= 1
    return widths


def _total(widths: Iterable[int]) -> int:
    """With the gaps between them."""
    each = list(widths)
    return sum(each) + len(_GAP) * (len(each) - 1)


def _widths(table: Table) -> list[int]:
    lines = [_heads(table), *([*map(_cell, row)] for row in table.rows)]
    return [max(map(columns, column)) for column in zip(*lines, strict=True)]


def _heads(table: Table) -> list[str]:
    return [
        one_line(head) if side == "l" else _short(head)
        for head, side in zip(table.heads, table.sides, strict=True)
    ]


def _cell(cell: Cell, width: int | None = None) -> str:
    return one_line(cell) if isinstance(cell, str) else _listed(cell, width)


def _listed(names: Sequence[Named], width: int | None) -> str:
    """As many whole names as fit, but one in any case, and how many others there are."""
    each = [named.shown(_short(named.name)) for named in names]
    for kept in range(len(each), 0, -1):
        more = f" +{len(each) - kept}" if kept < len(each) else ""
        shown = "; ".join(each[:kept]) + more
        if width is None or columns(shown) <= width:
            break
    return shown if kept > 1 or width is None else _cut_to(width, names[0], more)


def _cut_to(width: int, named: Named, more: str) -> str:
    """The name is cut; the remark on it stays."""
    room = width - columns(named.shown("") + more)
    return named.shown(_short(named.name, max(room, 2))) + more


def _short(name: str, width: int = WIDEST_NAME) -> str:
    return fitted(one_line(name), min(width, WIDEST_NAME)).rstrip()
