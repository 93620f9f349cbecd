"""Do the intervals of the agreement with length held fixed keep their promise?

    python benches/promises_length.py --worlds 1000

People like quality and length; the judge likes length, and quality as much as the world says. In
every world documents differ in quality, in length, and in how scores and ratings err together on
all their texts. The truth is that of very many documents.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from promises import Row, row

from evaljudge.agreement.held import LengthHeld, held_fixed

Floats = NDArray[np.float64]
MANY = 20_000


@dataclass(frozen=True)
class World:
    name: str
    documents: int
    quality: float  # how much of it the judge sees
    systems: int = 8
    missing: float = 0.0  # share of the texts
    step: float = 1.0  # between ratings

    def found(self, documents: int, rng: np.random.Generator) -> tuple[LengthHeld, LengthHeld]:
        shape, each = (documents, self.systems), (documents, 1)
        spread = np.linspace(-0.5, 0.5, self.systems)
        long = 0.75 * rng.normal(size=shape) + 0.75 * rng.normal(size=each) + spread
        good = rng.normal(size=shape) + 0.6 * rng.normal(size=each)
        human = good + 0.6 * long + 0.7 * rng.normal(size=shape) + 0.3 * rng.normal(size=each)
        judge = self.quality * good + long + 0.8 * rng.normal(size=shape)
        judge += 0.5 * rng.normal(size=each)
        human = np.rint(human / self.step) * self.step
        kept = rng.random(shape) >= self.missing * 2 * rng.random(each)
        which = np.repeat(np.arange(documents), self.systems)[kept.ravel()]
        return held_fixed(which, judge[kept], human[kept], np.rint(50 * np.exp(0.4 * long))[kept])


WORLDS = (
    World("10 documents, a judge of length and quality", 10, 1),
    World("20 documents, a judge of length and quality", 20, 1),
    World("20 documents, a judge of length alone", 20, 0),
    World("100 documents, a judge of length alone", 100, 0),
    World("20 documents, a third of the texts missing", 20, 1, missing=1 / 3),
    World("20 documents, 16 systems, fine ratings", 20, 1, systems=16, step=0.01),
)


def rows(worlds: int, seed: int = 0) -> Iterator[Row]:
    for place, world in enumerate(WORLDS):
        truth = world.found(MANY, np.random.default_rng((seed, place, 0)))
        rng = np.random.default_rng((seed, place, 1))
        draws = [world.found(world.documents, rng) for _ in range(worlds)]
        for level, true in enumerate(truth):
            kept = sum(_holds(held[level], true) for held in draws)
            promise = f"Spearman with length held fixed, {true.level} level"
            more = {"truth": true.value, "spearman": true.spearman}
            yield row(promise, world.name, kept, worlds, **more)


def _holds(interval: LengthHeld, true: LengthHeld) -> bool:
    low, value, high = interval.low, true.value, interval.high
    assert low is not None and value is not None and high is not None
    return low <= value <= high
