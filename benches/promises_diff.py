"""How often the intervals of `evaljudge diff` hold the truth, and how often it stops by chance.

    rows(1000)  ->  {"promise": "difference of means of two runs", "world": "10 documents, …",
                     "nominal": 0.95, "kept": 951, "worlds": 1000}, …

A world has documents, each with an effect on its scores and another on their change from the first
run to the second. The truth of a world that is rounded or ranked is that of very many documents.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from promises import Row, row

from evaljudge.agreement.rated import Floats
from evaljudge.agreement.significance import holm
from evaljudge.commands.diff import ALPHA
from evaljudge.decisions.differences import agreement_differences, p_lower, paired_difference

SYSTEMS, VERY_MANY, COLUMNS = 8, 20_000, 12
BIAS = np.array([0.6, -0.4, 0.9, 0.0, -0.7, 0.3, -0.5, 0.2])
"""What the first run gives each system beyond its quality."""
Tables = tuple[Floats, Floats, Floats]
"""Scores of the first run and of the second, and ratings: (documents, systems)."""
Stream = np.random.Generator


@dataclass(frozen=True)
class World:
    name: str
    documents: int
    draw: Callable[[Stream, int], Tables]
    """So many documents."""

    @cached_property
    def many(self) -> Tables:
        return self.draw(np.random.default_rng(99), VERY_MANY)


def scored(stream: Stream, documents: int) -> Tables:
    """Strong effects of documents, on the scores and on their change."""
    quality = np.linspace(-1, 1, SYSTEMS) + stream.normal(size=(documents, SYSTEMS))
    first, second = (quality + stream.normal(size=quality.shape) * sd for sd in (1.5, 1.0))
    each, change = stream.normal(size=(2, documents, 1))
    return first + each + BIAS, second + each + 0.2 + change / 2, quality


def ordinal(stream: Stream, documents: int) -> Tables:
    """Whole numbers from 1 to 5, three in ten missing."""
    first, second, quality = (np.clip(np.rint(t + 3), 1, 5) for t in scored(stream, documents))
    return _missing(stream, first, 0.3), second, quality


def unbalanced(stream: Stream, documents: int) -> Tables:
    """Some documents have all texts, others a single one."""
    first, second, quality = scored(stream, documents)
    shares = stream.choice([0.0, 0.5, 0.85], size=(documents, 1))
    return _missing(stream, first, shares), second, quality


def rare(stream: Stream, documents: int) -> Tables:
    """Two thirds of the documents do not change at all."""
    first, second, quality = scored(stream, documents)
    return first, np.where(stream.random((documents, 1)) < 2 / 3, first, second), quality


def _missing(stream: Stream, table: Floats, shares: Any) -> Floats:
    return np.where(stream.random(table.shape) < shares, np.nan, table)


WORLDS = [
    World("10 documents, strong document effects", 10, scored),
    World("20 documents, strong document effects", 20, scored),
    World("100 documents, strong document effects", 100, scored),
    World("10 documents, whole numbers, 30% missing", 10, ordinal),
    World("20 documents, whole numbers, 30% missing", 20, ordinal),
    World("20 documents of very different sizes", 20, unbalanced),
    World("20 documents, most without a change", 20, rare),
]
RANKED = [WORLDS[0], WORLDS[2], WORLDS[4], WORLDS[6]]


def rows(worlds: int, seed: int = 0) -> Iterator[Row]:
    for world in WORLDS:
        truth = paired_difference(*world.many[:2]).difference or 0.0
        stream = np.random.default_rng(seed)
        intervals = []
        for _ in range(worlds):
            difference = paired_difference(*world.draw(stream, world.documents)[:2])
            intervals.append((difference.low, difference.high))
        yield _row("difference of means of two runs", world, truth, intervals)
    for world in RANKED:
        yield from _of_agreement(world, worlds, seed)
    for documents in (10, 100):
        yield from _false_alarms(documents, worlds, seed, is_skewed=False)
        yield from _false_alarms(documents, worlds, seed, is_skewed=True)


def _false_alarms(documents: int, worlds: int, seed: int, is_skewed: bool) -> Iterator[Row]:
    """False alarms of `--fail-if-lower` on twelve columns of two runs with equal means; skewed:
    most documents fall a little, and a few rise by much, as an exponential distribution has it."""
    stream, corrected, plain = np.random.default_rng(seed), 0, 0
    for _ in range(worlds):
        shared = stream.normal(size=(documents, SYSTEMS))
        runs = shared + stream.normal(size=(2, COLUMNS, documents, SYSTEMS))
        if is_skewed:
            runs[1] = runs[0] + stream.exponential(size=(COLUMNS, documents, 1)) - 1
        ps = [p_lower(paired_difference(*two), 0.0) or 0.0 for two in runs.swapaxes(0, 1)]
        corrected += min(holm(ps)) >= ALPHA
        plain += min(ps) >= ALPHA
    kind, promised = (", skewed changes", "none") if is_skewed else ("", "at least")
    for kept, how, bound in ((corrected, "Holm's correction", promised), (plain, "none", "none")):
        promise = f"no false alarm among {COLUMNS} columns"
        name = f"{documents} documents{kind}, corrected by {how}"
        yield row(promise, name, kept, worlds, 1 - ALPHA, bound)


def _of_agreement(world: World, worlds: int, seed: int) -> Iterator[Row]:
    truths = {change.level: change.difference for change in _agreement(world.many)}
    stream, changes = np.random.default_rng(seed), list[Any]()
    for _ in range(worlds):
        changes += _agreement(world.draw(stream, world.documents))
    for level, truth in truths.items():
        intervals = [(change.low, change.high) for change in changes if change.level == level]
        promise = f"difference of agreement of two runs, {level} level"
        yield _row(promise, world, truth or 0.0, intervals, level == "system")


def _agreement(tables: Tables) -> list[Any]:
    documents, systems = np.indices(tables[0].shape).reshape(2, -1)
    first, second, human = (table.ravel() for table in tables)
    four = (first, second, human, human)
    return agreement_differences(documents, systems, [four])[0]


UNCLAIMED = (
    "difference of agreement of two runs, sample level",
    "20 documents, most without a change",
)
"""Intervals that are too narrow, as docs/decisions.md says."""


def _row(
    promise: str,
    world: World,
    truth: float,
    intervals: list[tuple[float | None, float | None]],
    is_wide: bool = False,
) -> Row:
    """An interval that is not defined holds nothing."""
    bound = "at least" if is_wide else "about"
    bound = "none" if (promise, world.name) == UNCLAIMED else bound
    defined = [(low, high) for low, high in intervals if low is not None and high is not None]
    kept = sum(low <= truth <= high for low, high in defined)
    width = float(np.mean([high - low for low, high in defined]))
    more = {"truth": truth, "width": width}
    return row(promise, world.name, kept, len(intervals), bound=bound, **more)
