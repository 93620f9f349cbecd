"""Resampling: how often documents are drawn, and the interval of what follows.

Two documents where the first won 3 of 4 votes and 1 of 4:
ratio_of_sums([3, 1], [4, 4], …) -> 0.5, from 0.25 to 0.75
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal, ParamSpec, TypeVar, get_args

import numpy as np
from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped, unused-ignore]

from .coefficients import BUDGET, quotient
from .pairs import Floats

Level = Literal["sample", "system", "summary"]
LEVELS: tuple[Level, ...] = get_args(Level)
TAILS = (2.5, 97.5)
_LIBRARIES = ThreadpoolController()  # those loaded by now: numpy's and scipy's
P = ParamSpec("P")
R = TypeVar("R")
Spread = tuple[float | None, float | None, float | None]  # a value and its 95% interval


@dataclass(frozen=True, slots=True)
class Measured:
    value: float | None  # None where undefined
    low: float | None  # 95% bootstrap interval over documents
    high: float | None
    n: int  # what is behind the value: pairs, votes or documents


def multiplicities(units: int, resamples: int, seed: int, block: int) -> Iterator[Floats]:
    """(at most `block`, units) at a time; the draws do not depend on the block."""
    stream = np.random.default_rng(seed)
    evenly = np.full(units, 1.0 / units)
    for start in range(0, resamples, block):
        size = min(block, resamples - start)
        yield stream.multinomial(units, evenly, size=size).astype(np.float64)


def replicated(
    statistic: Callable[[Floats], Floats], documents: int, resamples: int, seed: int, width: int = 0
) -> Floats:
    """The statistic of every resample, along the last axis.

    `statistic` takes how often each document was drawn, (resamples, documents). `width`: how many
    numbers it holds at once per resample, where these are more than documents.
    """
    if documents < 2 or resamples < 1:
        return np.full_like(statistic(np.ones((1, documents))), np.nan)
    block = max(1, BUDGET // max(documents, width))
    draws = multiplicities(documents, resamples, seed, block)
    return np.concatenate([statistic(some) for some in draws], axis=-1)


def interval(values: Floats) -> tuple[float | None, float | None]:
    """Over the resamples where the statistic is defined; None where fewer than half are."""
    defined = values[np.isfinite(values)]
    if defined.size == 0 or 2 * defined.size < values.size:
        return None, None
    low, high = np.percentile(defined, TAILS)
    return float(low), float(high)


def estimated(value: float, replicates: Floats) -> Spread:
    """Each None where undefined (see the package's policy)."""
    return (None, None, None) if np.isnan(value) else (float(value), *interval(replicates))


def spread(
    statistic: Callable[[Floats], Floats], documents: int, resamples: int, seed: int, width: int = 0
) -> Spread:
    """The value of a statistic over documents (see `replicated`), and its interval."""
    value = float(statistic(np.ones((1, documents)))[0])
    if np.isnan(value):
        return None, None, None
    return estimated(value, replicated(statistic, documents, resamples, seed, width))


def ratio_of_sums(above: Floats, below: Floats, resamples: int, seed: int, n: int) -> Measured:
    """The ratio of two sums over documents, and its interval; None where the second sum is 0."""

    def ratios(draws: Floats) -> Floats:
        return quotient(draws @ above, draws @ below)

    return Measured(*spread(ratios, above.size, resamples, seed), n=n)


def on_one_thread(statistic: Callable[P, R]) -> Callable[P, R]:
    """One thread for linear algebra: the arrays are small, and threads cost more than they bring.

    On two cores, 1,000 resamples of documents take three times as long with two.
    """
    limited: Callable[P, R] = _LIBRARIES.wrap(limits=1, user_api="blas")(statistic)
    return limited
