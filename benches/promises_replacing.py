"""Does the test of whether a judge may replace a rater keep its promises?

    python benches/promises_replacing.py --worlds 1000

In every world documents differ in quality, and judge and raters misjudge whole documents, too, so
that the candidates of one document depend on each other. The truth is that of very many documents.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from promises import Row, row

from evaljudge.decisions.replacing import Replacing, replacing

Floats = NDArray[np.float64]
RATERS = 3
MANY = 20_000


@dataclass(frozen=True)
class World:
    name: str
    documents: int
    systems: int = 8
    common: float = 0.7  # the deviation of the judge's error that a document's texts share
    own: float = 0.5
    missing: float = 0.0  # share of the texts
    step: float = 1.0  # on the raters' scale; the judge's numbers are not rounded

    def drawn(self, documents: int, rng: np.random.Generator) -> tuple[Floats, Floats, Floats]:
        """The judge's scores, the ratings and the documents."""
        shape = documents, self.systems
        quality = 3 + rng.normal(0, 0.6, (documents, 1)) + rng.normal(0, 0.7, shape)
        shared = rng.normal(0, 0.5, (documents, 1, RATERS))
        ratings = quality[..., None] + shared + rng.normal(0, 0.6, (*shape, RATERS))
        ratings = np.clip(np.rint(ratings / self.step) * self.step, 1, 5)
        judge = quality + self.common * rng.normal(size=(documents, 1))
        judge = np.clip(judge + rng.normal(0, self.own, shape), 1, 5)
        which = np.repeat(np.arange(documents), self.systems)
        # Documents lose texts unevenly.
        kept = rng.random(shape) >= self.missing * 2 * rng.random((documents, 1))
        return judge[kept], ratings[kept], which[kept.ravel()]


WORLDS = (
    World("10 documents", 10),
    World("20 documents", 20),
    World("100 documents", 100),
    World("20 documents, a third of the texts missing", 20, missing=1 / 3),
    World("20 documents, the judge misjudges whole documents", 20, common=1.2, own=0.2),
    World("20 documents, fine scale", 20, step=0.01),
)


def rows(worlds: int, seed: int = 0) -> Iterator[Row]:
    for place, world in enumerate(WORLDS):
        advantage, lead = _truth(world, np.random.default_rng((seed, place, 0)))
        rng = np.random.default_rng((seed, place, 1))
        # With the true lead as epsilon, the null hypothesis holds, but only just.
        results = [_found(world, lead, rng) for _ in range(worlds)]
        kept = sum(result.low <= advantage <= result.high for result in results)  # type: ignore[operator]
        promise = "advantage of a judge beside raters"
        yield row(promise, world.name, kept, worlds, truth=advantage)
        for name, p in (("p_clustered", "documents"), ("p", "texts")):
            spared = sum(getattr(result.raters[0], name) > 0.05 for result in results)
            bound = "about" if p == "documents" else "none"  # the authors test by texts
            promise = f"no false rejection beside a rater, by {p}"
            yield row(promise, world.name, spared, worlds, bound=bound, epsilon=lead)


def _found(world: World, epsilon: float, rng: np.random.Generator) -> Replacing:
    result = replacing(*world.drawn(world.documents, rng), epsilon=epsilon, fewest=2)
    assert result is not None
    return result


def _truth(world: World, rng: np.random.Generator) -> tuple[float, float]:
    """The judge's advantage, and the rater's lead over it."""
    result = replacing(*world.drawn(MANY, rng))
    assert result is not None
    return result.advantage, float(np.mean([rater.itself - rater.judge for rater in result.raters]))
