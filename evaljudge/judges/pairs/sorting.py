"""The searches that rank texts by comparing two at a time, and ask for no more than they need.

    search = merge_sort([0, 1, 2, 3], known, Beam(width=1))
    next(search)  ->  [(0, 1), (2, 3)]     compare these; the answers go into `known`
    next(search)  ->  [(0, 3)]             and so on, until
    StopIteration.value  ->  [3, 0, 1, 2]  the best first

A search is a generator. It yields the pairs whose preference it lacks, in lists that can be asked
together, and reads the preferences in `known`: by (text, text) the log-odds that the first of the
two is better, each pair both ways. The README says which ways to merge two lists are followed, and
how likely a way is.
"""

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from statistics import fmean
from typing import Literal, Self, TypeVar

import numpy as np

from evaljudge.agreement.pairs import Floats
from evaljudge.judges.pairs.equations import Pair, bradley_terry, log_preference, preference

T = TypeVar("T")
LogOdds = Mapping[Pair, float]
Search = Generator[list[Pair], None, T]
Likelihood = Literal["asked", "path"]
SAME_STRENGTH = 9
"""Decimals to which strengths are compared: differences beyond them come from rounding."""


@dataclass(frozen=True, slots=True)
class Beam:
    width: int
    threshold: float = 0.1
    likelihood: Likelihood = "asked"


def merge_sort(texts: Sequence[int], known: LogOdds, beam: Beam) -> Search[list[int]]:
    """The texts from the best to the worst."""
    if len(texts) < 2:
        return list(texts)
    middle = len(texts) // 2
    halves = [merge_sort(half, known, beam) for half in (texts[:middle], texts[middle:])]
    sorted_halves: dict[int, list[int]] = {}
    while len(sorted_halves) < len(halves):
        wanted: list[Pair] = []
        for number, search in enumerate(halves):  # side by side: none needs the other's answers
            if number not in sorted_halves:
                try:
                    wanted += next(search)
                except StopIteration as end:
                    sorted_halves[number] = end.value
        if wanted:
            yield wanted
    return (yield from _merge(sorted_halves[0], sorted_halves[1], known, beam))


def by_merge_sort(texts: Sequence[int], known: LogOdds, beam: Beam) -> Search[list[list[int]]]:
    """The places from the best on, with the texts that share each: here there is one text each."""
    order = yield from merge_sort(texts, known, beam)
    return [[text] for text in order]


def by_round_robin(texts: Sequence[int], known: LogOdds) -> Search[list[list[int]]]:
    """The places by strength, when every text was compared with every other."""
    if lacking := [pair for pair in combinations(texts, 2) if pair not in known]:
        yield lacking
    strengths = bradley_terry(texts, known)
    places: dict[float, list[int]] = {}
    for text in texts:
        places.setdefault(round(strengths[text], SAME_STRENGTH), []).append(text)
    return [places[strength] for strength in sorted(places, reverse=True)]


@dataclass(frozen=True, slots=True)
class _Way:
    """How two lists are merged so far."""

    before: tuple[int, ...] = ()
    """How many of the right list stand before each text taken from the left list."""
    right: int = 0  # how many texts of the right list are taken
    steps: tuple[float, ...] = ()
    """The log-preferences of the comparisons on this way, for the texts that it took."""

    @property
    def heads(self) -> Pair:
        """The places of the next texts in their lists."""
        return len(self.before), self.right

    def taking_left(self, *step: float) -> Self:
        return replace(self, before=(*self.before, self.right), steps=(*self.steps, *step))

    def taking_right(self, *step: float) -> Self:
        return replace(self, right=self.right + 1, steps=(*self.steps, *step))


def _merge(
    left: Sequence[int], right: Sequence[int], known: LogOdds, beam: Beam
) -> Search[list[int]]:
    ways = [_Way()]
    for _ in range(len(left) + len(right)):
        places = [way.heads for way in ways]
        heads = {(left[i], right[j]) for i, j in places if i < len(left) and j < len(right)}
        if lacking := sorted(heads - known.keys()):
            yield lacking
        followers = [after for way in ways for after in _following(way, left, right, known, beam)]
        likely = _likelihoods(followers, left, right, known, beam.likelihood)
        best: dict[Pair, _Way] = {}
        for number in sorted(range(len(followers)), key=lambda number: -likely[number]):
            best.setdefault(followers[number].heads, followers[number])
        ways = list(best.values())[: beam.width]
    order = list[int]()
    for taken, (text, before) in enumerate(zip(left, ways[0].before, strict=True)):
        order += [*right[len(order) - taken : before], text]
    return [*order, *right[len(order) - len(left) :]]


def _following(
    way: _Way, left: Sequence[int], right: Sequence[int], known: LogOdds, beam: Beam
) -> list[_Way]:
    """The way with the next text; both ways where the heads' comparison is not sure enough."""
    i, j = way.heads
    if i == len(left):
        return [way.taking_right()]
    if j == len(right):
        return [way.taking_left()]
    odds = known[left[i], right[j]]
    both = [way.taking_left(log_preference(odds)), way.taking_right(log_preference(-odds))]
    if abs(preference(odds) - 0.5) <= beam.threshold:
        return both
    return both[:1] if odds > 0 else both[1:]


def _likelihoods(
    ways: Sequence[_Way], left: Sequence[int], right: Sequence[int], known: LogOdds, how: Likelihood
) -> list[float]:
    """`asked` uses all comparisons between the two lists; one not asked says nothing."""
    if how == "path" or len(ways) == 1:
        return [fmean(way.steps) if way.steps else 0.0 for way in ways]
    odds = [[known.get((first, second)) for second in right] for first in left]
    losses = np.array([[0.0 if o is None else log_preference(-o) for o in row] for row in odds])
    wins = np.array([[0.0 if o is None else log_preference(o) for o in row] for row in odds])
    behind = _sums(losses)  # of each left text behind this many of the right list
    whole = behind + _sums(wins[:, ::-1])[:, ::-1]  # and before the rest of these

    def likelihood(way: _Way) -> float:
        taken = len(way.before)
        placed = whole[range(taken), list(way.before)].sum()
        return float(placed + behind[taken:, way.right].sum())

    return [likelihood(way) for way in ways]


def _sums(rows: Floats) -> Floats:
    """Sums of each row's first 0, 1, 2, … numbers."""
    return np.pad(np.cumsum(rows, axis=1), ((0, 0), (1, 0)))
