"""Resampling: how often documents and systems are drawn, and the interval of what follows."""

from collections.abc import Iterator, Sequence

import numpy as np

from .estimate import Draws, Replicate, Resampled
from .pairs import Floats

TAILS = (2.5, 97.5)
SYSTEMS = 2  # systems are drawn from a stream of their own: documents, from the bare seed


def drawn(
    shape: tuple[int, int], resampled: Resampled, resamples: int, seed: int, block: int
) -> Iterator[Draws]:
    """At most `block` resamples at a time; `shape`: documents, systems."""
    documents = multiplicities(shape[0], resamples, seed, block)
    systems = multiplicities(shape[1], resamples, (seed, SYSTEMS), block)
    for drawn_documents, drawn_systems in zip(documents, systems, strict=True):
        yield Draws(
            np.ones_like(drawn_documents) if resampled == "systems" else drawn_documents,
            np.ones_like(drawn_systems) if resampled == "documents" else drawn_systems,
        )


def multiplicities(
    units: int, resamples: int, seed: int | tuple[int, int], block: int
) -> Iterator[Floats]:
    """(at most `block`, units) at a time; the draws do not depend on the block."""
    stream = np.random.default_rng(seed)
    evenly = np.full(units, 1.0 / units)
    for start in range(0, resamples, block):
        size = min(block, resamples - start)
        yield stream.multinomial(units, evenly, size=size).astype(np.float64)


def replicated(replicates: Sequence[Replicate], blocks: Iterator[Draws]) -> Floats:
    """(levels, coefficients, resamples): every level sees the same resamples."""
    found = [np.stack([replicate(draws) for replicate in replicates]) for draws in blocks]
    return np.concatenate(found, axis=2)


def interval(values: Floats) -> tuple[float | None, float | None]:
    """Over the resamples where the statistic is defined; None where fewer than half are."""
    defined = values[np.isfinite(values)]
    if defined.size == 0 or 2 * defined.size < values.size:
        return None, None
    low, high = np.percentile(defined, TAILS)
    return float(low), float(high)
