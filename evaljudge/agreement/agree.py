"""All three levels and coefficients of one scorer against one human axis."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from .bootstrap import interval, multiplicities, replicated
from .coefficients import BUDGET
from .estimate import COEFFICIENTS, Coefficient, Estimate, Level
from .pairs import Floats, Pairs, paired
from .sample import sample_level
from .summary import MAX_POOLED, summary_level
from .system import system_level


@dataclass(frozen=True, slots=True)
class Agreement:
    level: Level
    coefficient: Coefficient
    value: float | None  # None where undefined
    low: float | None  # 95% bootstrap interval over documents
    high: float | None
    n: int  # documents (sample), systems (system) or candidates (summary) behind the value
    skipped: int  # units left out, as the package's policy says
    sampled: bool = False  # the interval comes from a seeded sample of documents


def agreements(
    documents: ArrayLike,
    systems: ArrayLike,
    scores: ArrayLike,
    human: ArrayLike,
    *,
    resamples: int = 1000,
    seed: int = 0,
) -> list[Agreement]:
    """Nine results from one row per rated candidate, in any order.

    documents, systems: integer codes; scores: NaN where unscored; human: NaN where unrated.
    """
    pairs = paired(documents, systems, scores, human)
    estimates = sample_level(pairs), system_level(pairs), summary_level(pairs, seed)
    replicates = _replicates(pairs, estimates, resamples, seed)
    return [
        agreement
        for estimate, values in zip(estimates, replicates, strict=True)
        for agreement in _named(estimate, values)
    ]


def _replicates(pairs: Pairs, estimates: Sequence[Estimate], resamples: int, seed: int) -> Floats:
    if pairs.document_count < 2 or resamples < 1:
        return np.full((len(estimates), len(COEFFICIENTS), 1), np.nan)
    widest = max(pairs.document_count, pairs.system_count, min(pairs.documents.size, MAX_POOLED))
    block = max(1, BUDGET // widest)
    weights = multiplicities(pairs.document_count, resamples, seed, block)
    return replicated([estimate.replicate for estimate in estimates], weights)


def _named(estimate: Estimate, replicates: Floats) -> Iterator[Agreement]:
    for index, coefficient in enumerate(COEFFICIENTS):
        value = float(estimate.values[index])
        low, high = (None, None) if np.isnan(value) else interval(replicates[index])
        yield Agreement(
            level=estimate.level,
            coefficient=coefficient,
            value=None if np.isnan(value) else value,
            low=low,
            high=high,
            n=estimate.units[index],
            skipped=estimate.skipped[index],
            sampled=estimate.sampled,
        )
