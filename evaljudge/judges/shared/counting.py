"""Counts over a whole run, in memory that does not grow with the corpus.

    sizes(Counter({11: 2, 4: 1}))  ->  Sizes(of=3, median=11.0, least=4, most=11)

    add(seen, {"no choice in “Both are …”": 1, "no choice in “I like …”": 1})
    ->  seen == {"no choice in “…”": 2}

Sizes are counted by their value, so that medians are exact. Reasons are counted without what they
quote, and at most MOST_KINDS of them are kept apart.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, fields
from itertools import islice
from math import sqrt
from statistics import mean
from typing import Self, TypeVar

from evaljudge.sections import BarRow
from evaljudge.sections.figures import NONE, count, percent

OTHERS = "other reasons"
"""Counts every reason beyond the first MOST_KINDS."""
MOST_KINDS = 200
LONGEST_KIND = 300


@dataclass
class Summed:
    """Its fields are numbers, Counters and other sums: `total += sums` adds field by field."""

    def __iadd__(self, other: Self) -> Self:
        for one in fields(self):
            mine = getattr(self, one.name)
            mine += getattr(other, one.name)
            setattr(self, one.name, mine)
        return self


@dataclass
class OfAxis:
    """The beginning of a row on one judge and axis."""

    judge: str
    axis: str


K = TypeVar("K")
S = TypeVar("S", bound=Summed)


def add_by_key(total: dict[K, S], more: Mapping[K, S]) -> None:
    """Add sums to those of the same key."""
    for key, sums in more.items():
        mine: Summed = total.setdefault(key, type(sums)())
        mine += sums


@dataclass(frozen=True, slots=True)
class Sizes:
    """Count, median, minimum and maximum; None when the count is 0."""

    of: int
    median: float | None
    least: int | None
    most: int | None


def sized(sizes: Sizes) -> list[str]:
    """The median, the minimum and the maximum, for a table."""
    if sizes.median is None or sizes.least is None or sizes.most is None:
        return [NONE] * 3
    return [f"{sizes.median:,.1f}", count(sizes.least), count(sizes.most)]


def sizes(counted: Counter[int]) -> Sizes:
    """`counted`: how often each size occurs."""
    known, of = sorted(counted), counted.total()
    if not of:
        return Sizes(0, None, None, None)
    in_order = (size for size in known for _ in range(counted[size]))
    middle = mean(islice(in_order, (of - 1) // 2, of // 2 + 1))
    return Sizes(of, float(middle), known[0], known[-1])


def wilson(share: float, n: float, reach: float = 1.96) -> tuple[float, float]:
    """Wilson's interval of a share of n independent cases: 0.1 of 50 -> (0.043, 0.214)."""
    of = n + reach**2
    middle = (n * share + reach**2 / 2) / of
    margin = reach * sqrt(n * share * (1 - share) + reach**2 / 4) / of
    return max(0.0, middle - margin), min(1.0, middle + margin)


def share_bar(name: str, part: int, of: int, mark: float | None = None) -> BarRow:
    """A share in a picture, with Wilson's interval; `mark`: a second mark."""
    share = part / of
    return BarRow(name, share, f"{percent(share)} of {count(of)}", *wilson(share, of), other=mark)


def add(seen: Counter[str], reasons: Mapping[str, int]) -> None:
    """Once MOST_KINDS are seen, every new kind counts as OTHERS."""
    for reason, times in reasons.items():
        kind = re.sub("“.*”", "“…”", reason, flags=re.DOTALL)[:LONGEST_KIND]
        seen[kind if kind in seen or len(seen) < MOST_KINDS else OTHERS] += times


class Reasons(Counter[str]):
    """Reasons that add up as in `add`."""

    def __iadd__(self, other: Mapping[str, int]) -> Self:  # type: ignore[override, misc]
        add(self, other)
        return self
