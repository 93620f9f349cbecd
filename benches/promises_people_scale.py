"""Do intervals on people's scale from few labels hold the truth as often as they promise?

    python benches/promises_people_scale.py [--worlds 1000]

Worlds are drawn at random: documents of their own difficulty, which people and the judge see;
systems that differ; a judge with a bias for each system and a scale of its own. In each world one
system's mean, one difference, the mean of all texts and the pass rate are looked at. `width` is the
median ratio to the interval of the labels alone. `worlds` are those with an interval; in the others
the report says why there is none. `kept_published`: as the authors' package has it,
with the variance of all scores and normal quantiles. `kept_unweighted`: without the probabilities.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats

from evaljudge.decisions.people import PassRate, PeopleScale, pass_rate, people_scale
from evaljudge.decisions.powered import Bounded

GOOD = 4.0
FAILURE = 6.0


@dataclass(frozen=True)
class World:
    documents: int = 100
    systems: int = 6
    labelled: int = 20
    """Documents, or, with `by_text`, texts of each system on average."""
    knows: float = 0.6
    """How well the judge's scores follow people's ratings; 0: not at all, 1: exactly."""
    document_effect: float = 0.7
    biased: bool = True
    ordinal: bool = False
    missing: float = 0.0
    by_text: bool = False
    near: bool = False
    """Texts near the threshold are drawn to be rated with a higher probability."""
    failing: float = 0.0
    """The share of texts whose rating is FAILURE lower, which the judge does not see."""
    judges: int = 1
    """With several, each with noise of its own, the report takes the one that adds most."""


WORLDS: Mapping[str, World] = {
    "20 of 100 documents": World(),
    "10 of 100 documents": World(labelled=10),
    "6 of 100 documents": World(labelled=6),
    "10 of 30 documents": World(documents=30, labelled=10),
    "10 documents, 2 systems": World(labelled=10, systems=2),
    "20 documents, strong document effects": World(document_effect=2.0),
    "20 documents, ratings in whole points": World(ordinal=True),
    "10 documents, a judge that knows nothing": World(labelled=10, knows=0.0),
    "10 documents, an exact judge": World(labelled=10, knows=1.0, biased=False),
    "10 documents, an exact judge with a bias per system": World(labelled=10, knows=1.0),
    "10 documents, the best of 10 judges": World(labelled=10, judges=10),
    "20 texts of each system, 15% of the cells missing": World(by_text=True, missing=0.15),
    "4 texts of each of 8 systems": World(systems=8, labelled=4, by_text=True),
    "near the threshold, known probabilities": World(near=True),
    "near the threshold, whole points, missing cells": World(near=True, ordinal=True, missing=0.1),
    **{f"{some} of 100 documents, 5% of the texts fail heavily":
       World(labelled=some, failing=0.05, document_effect=0.3) for some in (10, 20, 40)},
}  # fmt: skip


@dataclass(frozen=True)
class Drawn:
    scores: np.ndarray
    human: np.ndarray
    probabilities: np.ndarray | None
    threshold: float
    means: np.ndarray
    good: float


def draw(world: World, rng: np.random.Generator) -> Drawn:
    shape = world.documents, world.systems
    levels = np.linspace(3, 4, world.systems)
    effect = rng.normal(0, world.document_effect, (world.documents, 1))
    ratings = levels + effect + rng.normal(0, 1, shape)
    noise = 0.9 * rng.normal(0, 1, shape) + 0.5 * rng.normal(0, 1, (world.documents, 1))
    scores = world.knows * (ratings - 3.5) + np.sqrt(1 - world.knows**2) * noise
    scores = 0.2 * (scores + (0.15 * rng.permutation(world.systems) if world.biased else 0))
    spread = float(np.hypot(1, world.document_effect))
    if world.failing:
        ratings = ratings - FAILURE * (rng.random(shape) < world.failing)
    means, least = levels - FAILURE * world.failing, GOOD
    if world.ordinal:
        ratings, least = np.clip(np.rint(ratings), 1, 5), GOOD - 0.5
        steps = np.arange(1.5, 5)[:, None]
        means = 1 + stats.norm.sf((steps - levels) / spread).sum(axis=0)
    passing, if_failing = (
        stats.norm.sf((least - at) / spread) for at in (levels, levels - FAILURE)
    )
    good = float(np.mean(passing + world.failing * (if_failing - passing)))
    threshold = float(np.quantile(scores, 0.55))
    is_labelled, probabilities = _labels(world, scores, threshold, rng)
    scores = np.where(rng.random(shape) < world.missing, np.nan, scores)
    human = np.where(is_labelled, ratings, np.nan)
    if world.judges > 1:
        judges = [scores + scores.std() * rng.normal(0, 1, shape) for _ in range(world.judges)]
        scores = max(judges, key=lambda scores_of: _scale(scores_of, human).effective or 0)
    return Drawn(scores, human, probabilities, threshold, means, good)


def _labels(
    world: World, scores: np.ndarray, threshold: float, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray | None]:
    if world.near:
        far = np.abs(scores - threshold) / scores.std()
        probabilities = np.clip(0.6 * np.exp(-2 * far), 0.08, 0.6)
        return rng.random(scores.shape) < probabilities, probabilities
    if world.by_text:
        return rng.random(scores.shape) < world.labelled / world.documents, None
    chosen = np.zeros(scores.shape, bool)
    chosen[rng.choice(world.documents, world.labelled, replace=False)] = True
    return chosen, None


def rows(worlds: int, seed: int = 0) -> Iterator[dict[str, Any]]:
    for place, (name, world) in enumerate(WORLDS.items()):
        for row in of_world(world, worlds, (seed, place)):
            yield row | {"world": name}


def of_world(world: World, worlds: int, seed: tuple[int, ...]) -> Iterator[dict[str, Any]]:
    kept: dict[str, Counter[str]] = {}
    widths: dict[str, list[float]] = {}
    slopes, accused = [], 0
    for number in range(worlds):
        rng = np.random.default_rng((*seed, number))
        drawn = draw(world, rng)
        scale = _found(drawn)
        slopes.append(scale.slope or 0.0)
        accused += scale.p_random is not None and scale.p_random < 0.05
        for promise, truth, interval, alone, others in _looked_at(world, drawn, scale, rng):
            counted = kept.setdefault(promise, Counter(worlds=0, no_interval=0))
            counted["worlds" if np.isfinite(_width(interval)) else "no_interval"] += 1
            if not np.isfinite(_width(interval)):
                continue
            for name, other in {"kept": interval, "kept_by_labels": alone, **others}.items():
                counted[name] += _holds(other, truth)
            widths.setdefault(promise, []).append(_width(interval) / _width(alone))
    for promise, counted in kept.items():
        if not counted["worlds"]:  # too few labels
            continue
        bound = "none" if world.failing and promise.startswith("mean") else "about"
        row = {"promise": promise, "nominal": 0.95, "bound": bound} | dict(counted)
        row["width"] = round(float(np.nanmedian(widths[promise])), 3)
        if promise == "mean of a system":
            row |= {
                "slope": round(float(np.median(slopes)), 3),
                "slope_sd": round(float(np.std(slopes)), 3),
            }
        yield row
    fair = {"promise": "random labels are not accused", "nominal": 0.95, "worlds": worlds}
    yield fair | {"kept": worlds - accused}


def _found(drawn: Drawn, weighted: bool = True) -> PeopleScale:
    return _scale(drawn.scores, drawn.human, drawn.probabilities if weighted else None)


def _scale(
    scores: np.ndarray, human: np.ndarray, probabilities: np.ndarray | None = None
) -> PeopleScale:
    names = [str(system) for system in range(scores.shape[1])]
    scale = people_scale(names, scores, human, probabilities)
    assert scale is not None
    return scale


def published(scores: np.ndarray, human: np.ndarray) -> list[Bounded]:
    """Each system's mean as the package ppi-python has it: texts are split into labelled and other
    ones, alike for all systems, and intervals are normal."""
    is_rated = np.isfinite(human).all(axis=1)
    ratings, scored, others = human[is_rated], scores[is_rated], scores[~is_rated]
    together = np.mean((ratings - ratings.mean(axis=0)) * (scored - scored.mean(axis=0)), axis=0)
    slope = together.sum() / scores.var(axis=0, ddof=1).sum() * len(others) / len(scores)
    means = ratings.mean(axis=0) + slope * (others.mean(axis=0) - scored.mean(axis=0))
    labelled = (ratings - slope * scored).var(axis=0) / len(ratings)
    half = stats.norm.ppf(0.975) * np.sqrt(labelled + slope**2 * others.var(axis=0) / len(others))
    return [
        Bounded(*map(float, row)) for row in zip(means, means - half, means + half, strict=True)
    ]


def _looked_at(
    world: World, drawn: Drawn, scale: PeopleScale, rng: np.random.Generator
) -> Iterator[tuple[str, float, Bounded, Bounded, dict[str, Bounded]]]:
    system = int(rng.integers(world.systems))
    row, others = scale.systems[system], {}
    if world.labelled == 10:
        others["kept_published"] = published(drawn.scores, drawn.human)[system]
    if world.near:
        others["kept_unweighted"] = _found(drawn, weighted=False).systems[system].corrected
    yield "mean of a system", drawn.means[system], row.corrected, row.by_labels, others
    if scale.differences:
        pair = scale.differences[int(rng.integers(len(scale.differences)))]
        apart = drawn.means[int(pair.system)] - drawn.means[int(pair.other)]
        yield "difference of two systems", apart, pair.corrected, pair.by_labels, {}
    whole = float(drawn.means.mean())
    yield "mean of all texts", whole, scale.together, scale.together_by_labels, {}
    rate = _rate(drawn)
    yield "pass rate, corrected", drawn.good, rate.corrected, rate.by_labels, {}


def _rate(drawn: Drawn) -> PassRate:
    probabilities, threshold = drawn.probabilities, drawn.threshold
    rate = pass_rate(drawn.scores, drawn.human, probabilities, threshold=threshold, good=GOOD)
    assert rate is not None
    return rate


def _holds(interval: Bounded, truth: float) -> bool:
    low, high = interval.low, interval.high
    return low is not None and high is not None and bool(low <= truth <= high)


def _width(interval: Bounded) -> float:
    if interval.low is None or interval.high is None:
        return float("nan")
    return interval.high - interval.low
