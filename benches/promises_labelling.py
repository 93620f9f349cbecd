"""Do the intervals of people's mean ratings keep their promise, however texts were drawn?

In each world documents are drawn, which raise or lower all ratings of their texts; a judge's scores
go with the ratings; texts are drawn for rating by one of the methods of `evaljudge label`; and the
interval of the mean of all texts, or of one system's, is compared with the mean of a population of
20,000 documents. `bound` says what is promised. Draws by strata promise at least 95%: the
interval does not use that a sample with every stratum's share varies less. Of a system with some
five rated texts that were drawn with very unequal probabilities nothing is promised: often the
texts that weigh most are missing. `bias` is that of the mean as it is given, `plain_bias` that of
the mean of the drawn texts' ratings, without weights.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from promises import Row, row

from evaljudge.agreement.rated import Floats
from evaljudge.analysis.labelling import (
    Codes,
    bands,
    doubtful,
    draw,
    inclusion,
    weighted_mean,
)

POPULATION = 20_000
LEANINGS = np.array([0.6, 0.3, 0.0, -0.2, -0.3, -0.7])
"""How much better each system is."""


@dataclass(frozen=True)
class Sheets:
    """How many documents there are, how they are, and which of their texts are rated."""

    name: str
    documents: int
    drawn: int
    effect: float = 1.0
    """The standard deviation of document effects; that of a rating within one is 0.7."""
    is_missing: bool = False
    """Some systems have texts for few documents."""
    is_ordinal: bool = False
    filled: float = 1.0
    """The share of the sheet that was filled in."""


WORLDS = [
    Sheets("10 documents, strong document effects", 10, 30),
    Sheets("10 documents, weak document effects", 10, 30, effect=0.2),
    Sheets("20 documents, systems with few texts", 20, 40, is_missing=True),
    Sheets("20 documents, ratings 1 to 5", 20, 60, is_ordinal=True),
    Sheets("60 documents, fewer texts drawn than documents", 60, 50),
    Sheets("100 documents, half of the sheet filled in", 100, 200, filled=0.5),
]
ENOUGH = Sheets("60 documents, systems with few texts", 60, 120, is_missing=True)
METHODS = ["random", "doubt", "stratified"]
ENOUGH_TEXTS = 10
"""Rated texts, of which something is promised."""


@dataclass(frozen=True)
class World:
    documents: Codes
    systems: Codes
    human: Floats
    judged: Floats
    doubts: Floats


def rows(worlds: int, seed: int = 0) -> Iterator[Row]:
    for number, sheets in enumerate(WORLDS):
        everything = _world(replace(sheets, documents=POPULATION), np.random.default_rng(seed))
        for method in METHODS:
            yield _row(sheets, method, None, everything, worlds, [seed, number])
    for number, sheets in enumerate((ENOUGH, WORLDS[2]), len(WORLDS)):
        everything = _world(replace(sheets, documents=POPULATION), np.random.default_rng(seed))
        yield _row(sheets, "doubt", 3, everything, worlds, [seed, number])


def _row(
    sheets: Sheets, method: str, system: int | None, everything: World, worlds: int, seed: list[int]
) -> Row:
    which = everything.systems == system if system is not None else slice(None)
    truth, values, plain = float(everything.human[which].mean()), list[float](), list[float]()
    kept = counted = counts = 0
    for number in range(worlds):
        rng = np.random.default_rng([*seed, METHODS.index(method), number])
        world = _world(sheets, rng)
        sizes, strata = _sizes(world, method)
        probabilities = inclusion(sizes, sheets.drawn)
        drawn = draw(probabilities, world.documents, rng, strata)
        drawn = drawn[: round(sheets.filled * drawn.size)]
        drawn = drawn[world.systems[drawn] == system] if system is not None else drawn
        share = probabilities[drawn] * sheets.filled
        tables = np.full((2, sheets.documents, LEANINGS.size), np.nan)
        tables[:, world.documents[drawn], world.systems[drawn]] = world.human[drawn], share
        mean = weighted_mean(*tables)
        if mean is None or mean.low is None or mean.high is None:
            continue  # no interval is given
        counted += 1
        counts += mean.n
        kept += mean.low <= truth <= mean.high
        values.append(mean.value)
        plain.append(world.human[drawn].mean())
    what = "all texts" if system is None else f"a system of some {counts / counted:.0f} texts"
    bound = "at least" if method == "stratified" else "about"
    return row(
        f"people's mean rating of {what}, drawn by {method}",
        sheets.name,
        kept,
        counted,
        bound=bound if counts / counted >= ENOUGH_TEXTS else "none",
        bias=round(float(np.mean(values)) - truth, 4),
        plain_bias=round(float(np.mean(plain)) - truth, 4),
    )


def _world(sheets: Sheets, rng: np.random.Generator) -> World:
    chances = np.linspace(1, 0.2, LEANINGS.size) if sheets.is_missing else np.ones(LEANINGS.size)
    there = rng.random((sheets.documents, LEANINGS.size)) < chances
    documents, systems = np.nonzero(there)
    effects = rng.normal(0, sheets.effect, sheets.documents)
    human = 3 + effects[documents] + LEANINGS[systems] + rng.normal(0, 0.7, documents.size)
    judged = human + 0.5 * effects[documents] + rng.normal(0, 0.8, documents.size)
    # a judge is in doubt of texts that people rate low
    doubts = np.exp(-human) * rng.random(documents.size)
    if sheets.is_ordinal:
        human = np.clip(np.rint(human), 1, 5)
    return World(documents, systems, human, judged, doubts)


def _sizes(world: World, method: str) -> tuple[Floats, Codes | None]:
    equal = np.ones(world.human.size)
    match method:
        case "doubt":
            return doubtful(world.doubts), None
        case "stratified":
            return equal, bands(world.systems, world.judged)
    return equal, None
