"""Where each of a list's values stands in many weighted resamples of it.

values [5 7 7], each drawn once -> ranks [-2 1 1], twice the mean rank less its mean: 4 ordered
pairs untied, 2 distinct values
"""

from dataclasses import dataclass

import numpy as np
from scipy import sparse  # type: ignore[import-untyped, unused-ignore]

from .pairs import Codes, Floats


@dataclass(frozen=True, slots=True)
class Side:
    """Scores or ratings, of which the distinct ones are levels."""

    values: Floats
    levels: Codes  # each candidate's
    counts: sparse.csr_array  # (groups, levels)

    def centred(self, drawn: Floats) -> Floats:
        """(resamples, candidates), from how often each candidate was drawn."""
        means: Floats = (drawn @ self.values) / np.maximum(drawn.sum(axis=1), 1.0)
        return self.values - means[:, None]


@dataclass(frozen=True, slots=True)
class Standing:
    ranks: Floats  # (resamples, candidates)
    squares: Floats  # of the ranks, summed
    untied: Floats  # ordered pairs
    distinct: Floats  # values drawn


def side(values: Floats, groups: Codes) -> Side:
    distinct, levels = np.unique(values, return_inverse=True)
    shape = (int(groups[-1]) + 1, distinct.size)
    return Side(values, levels, sparse.csr_array((np.ones(values.size), (groups, levels)), shape))


def standing(side: Side, weights: Floats, sizes: Floats) -> Standing:
    """In resamples of so many candidates, from how often each group was drawn."""
    heaps: Floats = weights @ side.counts
    # Weight below less weight above.
    ranks = 2.0 * np.cumsum(heaps, axis=1) - heaps - sizes[:, None]
    return Standing(
        ranks=ranks[:, side.levels],
        squares=(heaps * ranks**2).sum(axis=1),
        untied=sizes**2 - (heaps**2).sum(axis=1),
        distinct=(heaps > 0).sum(axis=1).astype(np.float64),
    )
