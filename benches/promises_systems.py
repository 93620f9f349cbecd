"""Do the comparisons of systems keep what they promise? Worlds where it is known what is true.

In every world documents differ more than systems do: a document effect with a standard deviation
of 1, noise of 0.6 or more. Scores are continuous, ordinal (1 to 5) or bounded (0 to 1). Systems may
be unbalanced: each lacks a third of its scores at random, and their noise differs. Only intervals
that there are count: of equal scores there is none. Rows whose `bound` is `at least` are promises
that may be kept more often. Rows whose `bound` is `none` show where the method ends: most scores at
the top of their scale, a long tail, or few texts that fail heavily.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from promises import Row, row
from scipy import optimize, special

from evaljudge.decisions.power import detectable
from evaljudge.decisions.systems import SystemPair, SystemRanking, rank_systems

Floats = NDArray[np.float64]
NAMES = tuple("ABCDEF")
DOCUMENT = 1.0  # standard deviation of the document effect


def continuous(latent: Floats) -> Floats:
    return latent


def ordinal(latent: Floats) -> Floats:
    return np.clip(np.rint(3 + latent), 1, 5)


def bounded(latent: Floats) -> Floats:
    scores: Floats = special.expit(latent - 1)
    return scores


def at_the_top(latent: Floats) -> Floats:
    """An ordinal scale: more than half of the scores are 5."""
    return np.clip(np.rint(4.7 + latent), 1, 5)


def long_tailed(latent: Floats) -> Floats:
    return np.exp(latent)


def failing(latent: Floats) -> Floats:
    """The lowest 5% (of B's scores) are 6 lower."""
    return latent - 6 * (latent < 0.3 - 1.645 * np.hypot(DOCUMENT, 0.7))


Scale = Callable[[Floats], Floats]


@dataclass(frozen=True)
class World:
    name: str
    documents: int
    scale: Scale = continuous
    shifts: Sequence[float] = (0.0, 0.3, 0.6)
    noises: Sequence[float] = (0.7, 0.7, 0.7)
    missing: float = 0.0
    claimed: bool = True

    def drawn(self, worlds: int, seed: int) -> list[Floats]:
        stream = np.random.default_rng(seed)
        effects = DOCUMENT * stream.normal(size=(worlds, self.documents, 1))
        noise = stream.normal(size=(worlds, self.documents, len(self.shifts))) * self.noises
        tables = self.scale(effects + noise + np.array(self.shifts))
        tables[stream.random(tables.shape) < self.missing] = np.nan
        return list(tables)

    def means(self) -> list[float]:
        return [
            _mean(self.scale, shift, noise)
            for shift, noise in zip(self.shifts, self.noises, strict=True)
        ]


def _mean(scale: Scale, shift: float, noise: float) -> float:
    """The mean over all documents that could be drawn: a fine sum, since scales may have steps."""
    points = np.linspace(-9, 9, 200_001)
    weights = np.exp(-(points**2) / 2)
    values = scale(shift + np.hypot(DOCUMENT, noise) * points)
    return float(values @ weights / weights.sum())


def rows(worlds: int, seed: int = 0) -> Iterator[Row]:
    for number, world in enumerate(_interval_worlds()):
        found = _ranked(world, worlds, seed + number)
        truth = world.means()
        means = [next(system for system in r.systems if system.system == "B") for r in found]
        kept = [
            system.low <= truth[1] <= system.high
            for system in means
            if system.low is not None and system.high is not None
        ]
        yield _row("the interval of a system's mean", world, 0.95, kept)
        gaps = [_pair(r, "B", "A") for r in found]
        gap = truth[1] - truth[0]
        kept = [
            system.low <= gap <= system.high
            for system in gaps
            if system.low is not None and system.high is not None
        ]
        yield _row("the interval of two systems' difference", world, 0.95, kept)
    for number, world in enumerate(_alike_worlds(), 100):
        found = _ranked(world, worlds, seed + number)
        kept = [(_pair(r, "B", "A").p or 0) > 0.05 for r in found]
        yield _row("two alike systems have p above 5%", world, 0.95, kept, "at least")
        kept = [r.told_apart == 0 for r in found]
        yield _row("no two of six alike systems are told apart", world, 0.95, kept, "at least")
    for number, (documents, systems) in enumerate([(10, 3), (14, 6), (20, 6), (100, 6)], 200):
        yield from _powers(documents, systems, worlds, seed + number)


def _interval_worlds() -> Iterator[World]:
    unbalanced: dict[str, Any] = {"missing": 1 / 3, "noises": (0.6, 1.2, 0.9)}
    for documents in (10, 20, 100):
        yield World("continuous", documents)
        yield World("ordinal", documents, ordinal)
        yield World("bounded", documents, bounded)
        yield World("continuous, unbalanced", documents, **unbalanced)
        yield World("ordinal, unbalanced", documents, ordinal, **unbalanced)
        yield World("at the top of the scale", documents, at_the_top, claimed=False)
        yield World("a long tail", documents, long_tailed, claimed=False)
    for documents in (10, 20, 100):
        yield World("5% of the texts fail heavily", documents, failing, claimed=False)


def _alike_worlds() -> Iterator[World]:
    alike: dict[str, Any] = {"shifts": (0.0,) * 6, "noises": (0.7,) * 6}
    for documents in (10, 20, 100):
        yield World("continuous", documents, **alike)
        yield World("ordinal", documents, ordinal, **alike)
        yield World("ordinal, unbalanced", documents, ordinal, **alike | {"missing": 1 / 3})
        yield _lopsided(documents)


def _lopsided(documents: int) -> World:
    """Equal means, but one half of the systems has more noise, which the scale cuts at its top."""
    noisy = 1.5
    wanted = _mean(ordinal, 1.0, 0.6)
    shift = optimize.brentq(lambda s: _mean(ordinal, s, noisy) - wanted, 0.0, 4.0)
    shifts, noises = (1.0, shift) * 3, (0.6, noisy) * 3
    return World("ordinal, lopsided differences", documents, ordinal, shifts, noises)


def _powers(documents: int, systems: int, worlds: int, seed: int) -> Iterator[Row]:
    """A true difference as large as is said to be detectable, alone and among all pairs."""
    spread, pairs = float(np.hypot(0.7, 0.7)), systems * (systems - 1) // 2
    shown = float(detectable(spread, documents))
    world = World("two systems", documents, shifts=(0.0, shown), noises=(0.7, 0.7))
    kept = [_pair(r, "B", "A").told_apart for r in _ranked(world, worlds, seed)]
    yield _row("the smallest difference is shown", world, 0.8, kept)
    shown = float(detectable(spread, documents, 0.05 / pairs))
    shifts, noises = (0.0, shown, *[0.0] * (systems - 2)), (0.7,) * systems
    world = World(f"{systems} systems", documents, shifts=shifts, noises=noises)
    kept = [_pair(r, "B", "A").told_apart for r in _ranked(world, worlds, seed)]
    yield _row("the smallest difference among all pairs is shown", world, 0.8, kept)


def _ranked(world: World, worlds: int, seed: int) -> list[SystemRanking]:
    names = NAMES[: len(world.shifts)]
    return [ranking for ranking in rank_systems(names, world.drawn(worlds, seed), seed) if ranking]


def _pair(ranking: SystemRanking, first: str, second: str) -> SystemPair:
    """B less A, whichever has the higher mean."""
    pair = next(pair for pair in ranking.pairs if {pair.first, pair.second} == {first, second})
    if pair.first == first or pair.low is None or pair.high is None:
        return pair
    return replace(pair, first=first, second=second, low=-pair.high, high=-pair.low)


def _row(
    promise: str, world: World, nominal: float, kept: Sequence[bool], bound: str = "about"
) -> Row:
    name = f"{world.documents} documents, {world.name}"
    return row(promise, name, sum(kept), len(kept), nominal, bound if world.claimed else "none")
