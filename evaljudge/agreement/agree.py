"""All levels and coefficients of one scorer against one human axis, or of one axis and another."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike

from .bootstrap import Draws, Estimate, Level, Resampled, drawn, estimated, on_one_thread
from .coefficients import BUDGET, COEFFICIENTS, CORRELATIONS, Coefficient
from .pairs import Floats, Pairs, paired
from .sample import sample_level
from .summary import MAX_POOLED, summary_level
from .system import system_level


@dataclass(frozen=True, slots=True)
class Agreement:
    scorer: str = field(default="", kw_only=True)  # empty until the caller names it
    axis: str = field(default="", kw_only=True)
    level: Level
    coefficient: Coefficient
    value: float | None  # None where undefined
    low: float | None  # 95% bootstrap interval
    high: float | None
    n: int  # documents (sample), systems (system) or candidates (summary) behind the value
    skipped: int  # units left out, as the package's policy says
    sampled: bool = False  # the interval, and all of accuracy, come from a sample of documents
    epsilon: float | None = None  # accuracy: scores no further apart are tied


@dataclass(frozen=True, slots=True)
class AxisPair:
    of: str = field(default="", kw_only=True)  # the scorer, or "human"; the caller names it
    axis: str
    other: str
    level: Level
    coefficient: Coefficient
    value: float | None  # None where undefined
    low: float | None  # 95% bootstrap interval over documents
    high: float | None
    n: int  # documents (sample), systems (system) or candidates (summary) behind the value
    sampled: bool = False  # the interval comes from a seeded sample of documents


@on_one_thread
def agreements(
    documents: ArrayLike, systems: ArrayLike, scores: ArrayLike, human: ArrayLike, *,
    coefficients: Sequence[Coefficient] = COEFFICIENTS, resample: Resampled = "documents",
    resamples: int = 1000, seed: int = 0,
) -> list[Agreement]:  # fmt: skip
    """One result per level and coefficient, from one row per rated candidate, in any order.

    Without accuracy among the coefficients it is quicker: no two candidates are compared.

    documents, systems: integer codes; scores: NaN where unscored; human: NaN where unrated.
    """
    pairs = paired(documents, systems, scores, human)
    estimates = all_levels(pairs, seed, resample, accuracy="accuracy" in coefficients)
    replicates = _replicates(pairs, estimates, resample, resamples, seed)
    return [
        _agreement(estimate, values, coefficient, pairs.exponent)
        for estimate, values in zip(estimates, replicates, strict=True)
        for coefficient in coefficients
    ]


def among(
    documents: ArrayLike, systems: ArrayLike, values: Mapping[str, ArrayLike], *,
    resamples: int = 1000, seed: int = 0,
) -> list[AxisPair]:  # fmt: skip
    """How axes go together: every pair of a scorer's own axes, or of the human ones, at every
    level, from one row per candidate; NaN where an axis has no value.

    >>> among(documents, systems, {"relevance": [5, 4, ...], "fluency": [3, 4, ...]})[0]
    AxisPair(axis='relevance', other='fluency', level='sample', coefficient='spearman', ...)

    Axes that cannot be told apart measure one thing under two names.
    """

    found = partial(
        agreements, documents, systems, coefficients=CORRELATIONS, resamples=resamples, seed=seed
    )
    return [
        AxisPair(axis, other, a.level, a.coefficient, a.value, a.low, a.high, a.n, a.sampled)
        for axis, other in combinations(values, 2)
        for a in found(scores=values[axis], human=values[other])
    ]


def all_levels(
    pairs: Pairs, seed: int, resample: Resampled = "documents", *, accuracy: bool
) -> tuple[Estimate, ...]:
    """In the order of LEVELS."""
    return (
        sample_level(pairs, resample, accuracy=accuracy),
        system_level(pairs, accuracy=accuracy),
        summary_level(pairs, seed, resample, accuracy=accuracy),
    )


def _replicates(
    pairs: Pairs, estimates: Sequence[Estimate], resample: Resampled, resamples: int, seed: int
) -> Floats:
    """(levels, coefficients, resamples): every level sees the same resamples."""
    shape = pairs.document_count, pairs.system_count
    fewest = {"documents": shape[0], "systems": shape[1], "both": min(shape)}[resample]
    if fewest < 2 or resamples < 1:
        return np.full((len(estimates), len(COEFFICIENTS), 1), np.nan)
    block = max(1, BUDGET // max(*shape, min(pairs.documents.size, MAX_POOLED)))

    def replicate(draws: Draws) -> Floats:
        return np.stack([estimate.replicate(draws) for estimate in estimates])

    blocks = drawn(shape, resample, resamples, seed, block)
    return np.concatenate([replicate(draws) for draws in blocks], axis=2)


def _agreement(
    estimate: Estimate, replicates: Floats, coefficient: Coefficient, exponent: int
) -> Agreement:
    index = COEFFICIENTS.index(coefficient)
    found = estimated(estimate.values[index], replicates[index])
    calibrated = found[0] is not None and coefficient == "accuracy"
    return Agreement(
        estimate.level,
        coefficient,
        *found,
        n=estimate.units[index],
        skipped=estimate.skipped[index],
        sampled=estimate.sampled,
        epsilon=_unscaled(estimate.epsilon, exponent) if calibrated else None,
    )


def _unscaled(epsilon: float, exponent: int) -> float:
    """Infinite where scores are further apart than a float can say."""
    with np.errstate(over="ignore"):
        return float(np.ldexp(epsilon, exponent))
