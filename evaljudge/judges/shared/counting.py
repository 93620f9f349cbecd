"""What judges count over a whole run, in memory that does not grow with the corpus.

    add(total, {"checked": 1, "sizes": Counter([11])})      sums of one shard, added to those before
    sizes(Counter({11: 2, 4: 1}))  ->  Sizes(of=3, median=11.0, least=4, most=11)

Sums are numbers, arrays, lists and Counters by name. Sizes are counted by their value, so that
medians are exact. Reasons are counted without what they quote, and at most MOST_KINDS are kept
apart. A judge's row is made of the sums of all shards, and its tables of rows.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from functools import partial
from math import sqrt
from operator import attrgetter
from statistics import median
from typing import Any, Self

from evaljudge.judges.collector import Found, JudgeFindings, SeenShard
from evaljudge.sections import BarRow, Table
from evaljudge.sections.figures import NONE, cell, count, percent

OTHERS = "other reasons"  # counts every reason beyond the first MOST_KINDS
MOST_KINDS = 200
LONGEST_KIND = 300
Sums = dict[Any, Any]
"""Numbers, arrays, lists and Counters by name; or such sums by their axis."""


def add(total: Sums, more: Mapping[Any, Any]) -> None:
    for name, amount in more.items():
        if name not in total:
            total[name] = deepcopy(amount)
        elif type(amount) is dict:
            add(total[name], amount)
        else:
            total[name] += amount


@dataclass
class SumCollector:
    """Adds up what `count` says of each shard, which must not grow with the corpus; `report` reads
    the sums. By itself it counts nothing, and reports nothing."""

    count: Callable[[SeenShard], Sums] = lambda shard: {}
    report: Callable[[Sums, Found], JudgeFindings] = lambda sums, found: JudgeFindings()
    sums: Sums = field(default_factory=dict)

    def see(self, shard: SeenShard) -> None:
        add(self.sums, self.count(shard))

    def __iadd__(self, other: SumCollector) -> Self:
        add(self.sums, other.sums)
        return self

    def __getstate__(self) -> dict[str, Any]:
        """The sums alone: the driver's collector, which workers' are added to, has the rest."""
        return {"sums": self.sums}

    def findings(self, found: Found) -> JudgeFindings:
        return self.report(self.sums, found)


Cells = str | tuple[str, str | Callable[[Any], Any]]
"""A column: its head, and a row's field or a function of the row; or both in one name."""


def table(title: str, rows: Iterable[Any], *columns: Cells, words: int = 2, lead: int = 2) -> Table:
    """The first columns are `words`, the others figures."""
    named = [(column, column) if isinstance(column, str) else column for column in columns]
    getters = [how if callable(how) else attrgetter(how) for _, how in named]
    cells = [[cell(getter(row)) for getter in getters] for row in rows]
    sides = "l" * words + "r" * (len(named) - words)
    return Table(title, [head for head, _ in named], cells, sides, lead=min(words, lead))


@dataclass(frozen=True, slots=True)
class Sizes:
    """Count, median, minimum and maximum; None when the count is 0."""

    of: int
    median: float | None
    least: int | None
    most: int | None


def size_columns(head: str, field: str) -> list[Cells]:
    """Three columns of a row's sizes: the median, below its head, the minimum and the maximum."""

    def written(part: str, form: str, row: Any) -> str:
        value = getattr(getattr(row, field), part)
        return NONE if value is None else format(value, form)

    parts = {head: ("median", ",.1f"), "fewest": ("least", ","), "most": ("most", ",")}
    return [(name, partial(written, *part)) for name, part in parts.items()]


def sizes(counted: Counter[int]) -> Sizes:
    """`counted`: how often each size occurs."""
    if not counted.total():
        return Sizes(0, None, None, None)
    middle = float(median(counted.elements()))
    return Sizes(counted.total(), middle, min(counted), max(counted))


def wilson(share: float, n: float, reach: float = 1.96) -> tuple[float, float]:
    """Wilson's interval of a share of n independent cases: 0.1 of 50 -> (0.043, 0.214)."""
    scale = n + reach**2
    middle = (n * share + reach**2 / 2) / scale
    margin = reach * sqrt(n * share * (1 - share) + reach**2 / 4) / scale
    return max(0.0, middle - margin), min(1.0, middle + margin)


def share_bar(name: str, part: int, of: int, mark: float | None = None) -> BarRow:
    """A share in a picture, with Wilson's interval; `mark`: a second mark."""
    share = part / of
    return BarRow(name, share, f"{percent(share)} of {count(of)}", *wilson(share, of), other=mark)


class Reasons(Counter[str]):
    """Once MOST_KINDS are seen, every new kind counts as OTHERS."""

    def __iadd__(self, other: Mapping[str, int]) -> Self:  # type: ignore[override, misc]
        for reason, times in other.items():
            kind = re.sub("“.*”", "“…”", reason, flags=re.DOTALL)[:LONGEST_KIND]
            self[kind if kind in self or len(self) < MOST_KINDS else OTHERS] += times
        return self
