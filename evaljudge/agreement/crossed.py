"""What pairs of candidates come to, group by group: a symmetric table of whole numbers.

groups [0 0 1], concordant pairs (0, 2) and (1, 2) -> counts [[0 2] [2 0]]; weights [1 3] -> 12
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .coefficients import WIDE
from .orders import Singles
from .pairs import Codes, Floats

EXACT = 2**23  # single precision holds whole numbers up to twice this


@dataclass(frozen=True, slots=True)
class Crossed:
    counts: Singles  # (groups, groups)
    reach: float  # the greatest sum of a row, signs aside

    def weighed(self, weights: Floats) -> Floats:
        """Of each resample, from how often each group was drawn, (resamples, groups)."""
        exact = self.reach * weights.max(initial=0.0) < EXACT
        kind: type[np.floating[Any]] = np.float32 if exact else np.float64
        drawn, counts = weights.astype(kind), self.counts.astype(kind, copy=False)
        found = np.zeros(len(weights))
        for start in range(0, len(counts), WIDE):
            strip, beyond = slice(start, start + WIDE), slice(start + WIDE, None)
            # The table is symmetric: what lies beyond the strip's own square counts twice.
            sums = drawn[:, strip] @ counts[strip, strip]
            sums += 2 * (drawn[:, beyond] @ counts[beyond, strip])
            found += (sums * weights[:, strip]).sum(axis=1)
        return found


def crossed(groups: Codes, table: NDArray[np.int8] | NDArray[np.bool_]) -> Crossed:
    """Sums over pairs of groups of a symmetric (candidates, candidates), sorted by group."""
    starts = np.flatnonzero(np.diff(groups, prepend=-1))
    counts = table.astype(np.float32) if starts.size == groups.size else _summed(table, starts)
    return Crossed(counts, float(np.abs(counts).sum(axis=1, dtype=np.float64).max()))


def _summed(table: NDArray[np.int8] | NDArray[np.bool_], starts: Codes) -> Singles:
    columns = np.add.reduceat(table, starts, axis=1, dtype=np.float32)
    counts: Singles = np.add.reduceat(columns, starts, axis=0)
    return counts
