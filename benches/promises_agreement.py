"""Agreement with people: do its intervals hold the truth, and are equal scorers called equal?

    {"promise": "interval of agreement, sample level", "world": "8 documents, scorers alike",
     "nominal": 0.95, "kept": 931, "worlds": 1000}

Ten scorers are equally good: their true agreement is one number, that of very many documents. They
may be good on the same documents, or each on a half of its own; documents may have three texts.
What is promised: that an interval of agreement holds the truth, that the best one's does although
it was chosen, and that none of ten equal scorers, or of two, differs from the best. Rows of `bound`
none are intervals of fewer than 20 documents, or of three texts each.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
from numpy.typing import NDArray
from promises import Row, row

from evaljudge.agreement import LEVELS, Agreement, Level, Standing, against_best, agreements

Floats = NDArray[np.float64]
Draw = Callable[[np.random.Generator, int], tuple[Floats, Floats]]
SYSTEMS, SCORERS, VERY_MANY = 8, 10, 20_000
ENOUGH = 20


@dataclass(frozen=True)
class World:
    name: str
    documents: int
    draw: Draw
    """Ratings (documents, systems) and scores (scorers, documents, systems)."""
    is_small: bool
    """Few documents, or few texts in each: the report says that intervals hold less often."""
    is_useless: bool

    @cached_property
    def truths(self) -> dict[str, float | None]:
        """The agreement on very many documents; 0 for useless scorers, since it would be noise."""
        by_level = _agreement(*self.draw(np.random.default_rng(99), VERY_MANY), 0)
        return {level: 0.0 if self.is_useless else a.value for level, a in by_level.items()}


def drawn(
    skill: float, on: float, systems: int, stream: np.random.Generator, documents: int
) -> tuple[Floats, Floats]:
    """`on`: the share of documents on which a scorer has any skill, its own draw of them."""
    shape = documents, systems
    quality = np.linspace(-0.7, 0.7, systems) + stream.normal(size=shape)
    quality += 0.7 * stream.normal(size=(documents, 1))
    human = np.clip(np.round(3 + 0.8 * quality), 1, 5)
    skilled = skill * (stream.random((SCORERS, documents, 1)) < on)
    noise = stream.normal(size=(SCORERS, *shape)) + stream.normal(size=(SCORERS, documents, 1))
    return human, skilled * quality + noise


def _worlds() -> Iterator[World]:
    kinds = {
        "alike": (1.0, 1.0, SYSTEMS),
        "very good": (2.5, 1.0, SYSTEMS),
        "each good on its own half": (1.6, 0.5, SYSTEMS),
        "useless": (0.0, 1.0, SYSTEMS),
        "very good, three texts each": (2.5, 1.0, 3),
    }
    for documents in (8, 20, 100):
        for name, how in kinds.items():
            few = documents < ENOUGH or how[-1] < SYSTEMS
            draw = partial(drawn, *how)
            yield World(f"{documents} documents, scorers {name}", documents, draw, few, not how[0])


def rows(worlds: int, seed: int = 0) -> Iterator[Row]:
    for number, world in enumerate(_worlds()):
        for level in LEVELS:
            ten, two, single = list[Standing](), list[Standing](), list[Agreement]()
            for draw in range(worlds):
                stream = np.random.default_rng((seed, number, draw))
                human, scores = world.draw(stream, world.documents)
                ten.append(_best(human, scores, level))
                two.append(_best(human, scores[:2], level))
                single.append(_agreement(human, scores, 0)[level])
            yield from _of_level(world, level, ten, two, single)


def _of_level(
    world: World, level: Level, ten: list[Standing], two: list[Standing], single: list[Agreement]
) -> Iterator[Row]:
    truth = world.truths[level] or 0.0
    few = world.is_small
    of_any = [_holds(result.low, result.high, truth) for result in single]
    yield _row(f"interval of agreement, {level}", world, of_any, "none" if few else _bound(level))
    widened = [_holds(result.low, result.high, truth) for result in ten]
    yield _row(
        f"interval of the best of ten, {level}", world, widened, "none" if few else "at least"
    )
    for promise, results in (("ten", ten), ("two", two)):
        kept = [all(rival.p_holm is None or rival.p_holm >= 0.05 for rival in result.rivals)
                for result in results]  # fmt: skip
        yield _row(f"no other of {promise} equal scorers differs, {level}", world, kept, "at least")


def _bound(level: Level) -> str:
    """The jackknife of systems' ranks is wide."""
    return "at least" if level == "system" else "about"


def _holds(low: float | None, high: float | None, truth: float) -> bool:
    return low is not None and high is not None and low <= truth <= high


def _codes(human: Floats) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    documents, systems = np.indices(human.shape).reshape(2, -1)
    return documents, systems


def _best(human: Floats, scores: Floats, level: Level) -> Standing:
    columns = {str(at): column.ravel() for at, column in enumerate(scores)}
    best = against_best(*_codes(human), columns, human.ravel(), level=level)
    assert best is not None
    return best


def _agreement(human: Floats, scores: Floats, scorer: int) -> dict[str, Agreement]:
    agreed = agreements(
        *_codes(human), scores[scorer].ravel(), human.ravel(), coefficients=("spearman",)
    )
    return {agreement.level: agreement for agreement in agreed}


def _row(promise: str, world: World, kept: list[bool], bound: str) -> Row:
    return row(promise, world.name, sum(kept), len(kept), bound=bound)
