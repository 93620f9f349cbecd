"""What difference chance would make between two scorers: their values exchanged at random.

PERM-BOTH, PERM-SYSTEMS and PERM-INPUTS (Deutsch, Dror and Roth, TACL 2021): if the scorers
were alike, it would not matter which of them gave which value. Standard scores can be exchanged:
every candidate's by itself (`both`), all of a system's together, or all of a document's.
"""

from collections.abc import Iterator
from typing import Literal

import numpy as np

from .bootstrap import Level
from .coefficients import BUDGET, COEFFICIENTS, Correlation, quotient, row_correlations
from .levels import settled, standard, system_means
from .pairs import Floats, Pairs
from .swaps import CORRELATE, Correlate, Swapped, exchanged_lists

Exchange = Literal["both", "systems", "documents"]


def exchanged(
    one: Pairs, other: Pairs, level: Level, coefficient: Correlation, swaps: Iterator[Swapped]
) -> Floats:
    """The difference after each swap; `one` and `other` are alike but for their scores."""
    correlate = _correlate(one, other, level, coefficient)
    return np.concatenate([np.empty(0), *(mean_gaps(*correlate(swapped)) for swapped in swaps)])


def random_swaps(
    pairs: Pairs, exchange: Exchange, permutations: int, seed: int
) -> Iterator[Swapped]:
    """(at most a block, candidates) at a time; the draws do not depend on the block."""
    stream = np.random.default_rng(seed)
    unit = {
        "both": np.arange(pairs.documents.size),
        "systems": pairs.systems,
        "documents": pairs.documents,
    }[exchange]
    block = max(1, BUDGET // (4 * unit.size))
    for start in range(0, permutations, block):
        draws = stream.random((min(block, permutations - start), unit.max() + 1), np.float32)
        yield (draws < 0.5)[:, unit]


def mean_gaps(first: Floats, second: Floats) -> Floats:
    """Of two (rows, groups): the mean difference over the groups where both are defined."""
    gaps = first - second
    defined = np.isfinite(gaps)
    return quotient(np.where(defined, gaps, 0.0).sum(axis=1), defined.sum(axis=1))


def _correlate(one: Pairs, other: Pairs, level: Level, coefficient: Correlation) -> Correlate:
    first, second, human = (
        settled(standard(side)) for side in (one.scores, other.scores, one.human)
    )
    if level == "system":
        return _of_means(one, first, second, human, coefficient)
    by_document = np.flatnonzero(np.diff(one.documents, prepend=-1))
    starts = by_document if level == "sample" else by_document[:1]
    return CORRELATE[coefficient](first, second, human, starts)


def _of_means(
    pairs: Pairs, first: Floats, second: Floats, human: Floats, coefficient: Correlation
) -> Correlate:
    index, rating = COEFFICIENTS.index(coefficient), system_means(pairs, human[None])

    def one(values: Floats) -> Floats:
        means = system_means(pairs, values)
        found: Floats = row_correlations(means, np.broadcast_to(rating, means.shape))[index]
        return found[:, None]

    return lambda swapped: np.stack([one(x) for x in exchanged_lists(first, second, swapped)])
