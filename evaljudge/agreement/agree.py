"""All levels and coefficients of one scorer against one human axis."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from .bootstrap import drawn, interval, replicated
from .coefficients import BUDGET
from .estimate import COEFFICIENTS, Coefficient, Estimate, Level, Resampled
from .pairs import Floats, Pairs, paired
from .sample import sample_level
from .summary import MAX_POOLED, summary_level
from .system import system_level
from .threads import on_one_thread


@dataclass(frozen=True, slots=True)
class Agreement:
    level: Level
    coefficient: Coefficient
    value: float | None  # None where undefined
    low: float | None  # 95% bootstrap interval
    high: float | None
    n: int  # documents (sample), systems (system) or candidates (summary) behind the value
    skipped: int  # units left out, as the package's policy says
    sampled: bool = False  # the interval, and all of accuracy, come from a sample of documents
    epsilon: float | None = None  # accuracy: scores no further apart are tied


@on_one_thread
def agreements(
    documents: ArrayLike,
    systems: ArrayLike,
    scores: ArrayLike,
    human: ArrayLike,
    *,
    coefficients: Sequence[Coefficient] = COEFFICIENTS,
    resample: Resampled = "documents",
    resamples: int = 1000,
    seed: int = 0,
) -> list[Agreement]:
    """One result per level and coefficient, from one row per rated candidate, in any order.

    Without accuracy among the coefficients it is quicker: no two candidates' scores are measured.

    documents, systems: integer codes; scores: NaN where unscored; human: NaN where unrated.
    """
    pairs = paired(documents, systems, scores, human)
    accuracy = "accuracy" in coefficients
    estimates = (
        sample_level(pairs, resample, accuracy=accuracy),
        system_level(pairs, accuracy=accuracy),
        summary_level(pairs, seed, resample, accuracy=accuracy),
    )
    replicates = _replicates(pairs, estimates, resample, resamples, seed)
    return [
        agreement
        for estimate, values in zip(estimates, replicates, strict=True)
        for agreement in _named(estimate, values, coefficients, pairs.exponent)
    ]


def _replicates(
    pairs: Pairs, estimates: Sequence[Estimate], resample: Resampled, resamples: int, seed: int
) -> Floats:
    shape = pairs.document_count, pairs.system_count
    fewest = {"documents": shape[0], "systems": shape[1], "both": min(shape)}[resample]
    if fewest < 2 or resamples < 1:
        return np.full((len(estimates), len(COEFFICIENTS), 1), np.nan)
    block = max(1, BUDGET // max(*shape, min(pairs.documents.size, MAX_POOLED)))
    blocks = drawn(shape, resample, resamples, seed, block)
    return replicated([estimate.replicate for estimate in estimates], blocks)


def _named(
    estimate: Estimate, replicates: Floats, coefficients: Sequence[Coefficient], exponent: int
) -> Iterator[Agreement]:
    for coefficient in coefficients:
        index = COEFFICIENTS.index(coefficient)
        value = float(estimate.values[index])
        defined = not np.isnan(value)
        low, high = interval(replicates[index]) if defined else (None, None)
        calibrated = defined and coefficient == "accuracy"
        yield Agreement(
            level=estimate.level,
            coefficient=coefficient,
            value=value if defined else None,
            low=low,
            high=high,
            n=estimate.units[index],
            skipped=estimate.skipped[index],
            sampled=estimate.sampled,
            epsilon=_unscaled(estimate.epsilon, exponent) if calibrated else None,
        )


def _unscaled(epsilon: float, exponent: int) -> float:
    """Infinite where scores are further apart than a float can say."""
    with np.errstate(over="ignore"):
        return float(np.ldexp(epsilon, exponent))
