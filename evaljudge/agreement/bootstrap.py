"""Resampling documents: how often each is drawn, and the interval of what follows from it."""

from collections.abc import Iterator, Sequence

import numpy as np

from .estimate import Replicate
from .pairs import Floats

TAILS = (2.5, 97.5)


def multiplicities(documents: int, resamples: int, seed: int, block: int) -> Iterator[Floats]:
    """(at most `block`, documents) at a time; the draws do not depend on the block."""
    stream = np.random.default_rng(seed)
    evenly = np.full(documents, 1.0 / documents)
    for start in range(0, resamples, block):
        size = min(block, resamples - start)
        yield stream.multinomial(documents, evenly, size=size).astype(np.float64)


def replicated(replicates: Sequence[Replicate], weights: Iterator[Floats]) -> Floats:
    """(levels, coefficients, resamples): every level sees the same resamples."""
    blocks = [np.stack([replicate(block) for replicate in replicates]) for block in weights]
    return np.concatenate(blocks, axis=2)


def interval(values: Floats) -> tuple[float | None, float | None]:
    """Over the resamples where the statistic is defined; None where fewer than half are."""
    defined = values[np.isfinite(values)]
    if defined.size == 0 or 2 * defined.size < values.size:
        return None, None
    low, high = np.percentile(defined, TAILS)
    return float(low), float(high)
