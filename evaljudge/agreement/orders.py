"""Every two candidates of a list, as scorer and people order them.

scores [1 3 2], human [1 2 2] -> scores' signs [[0 -1 -1] [1 0 1] [1 -1 0]], apart [[0 2 1] ...],
human signs [[0 -1 -1] [1 0 0] [1 0 0]]
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .coefficients import BUDGET, signs
from .pairs import Floats

Singles = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Compared:
    """(candidates, candidates), or of many lists (lists, candidates, candidates).

    Distances are in single precision: 0.3 is as far from 0.2 as 0.2 from 0.1.
    """

    scores: NDArray[np.int8]
    human: NDArray[np.int8]
    apart: Singles  # distances of scores

    def balance(self) -> NDArray[np.int8]:
        """1 for a concordant pair, -1 for a discordant one."""
        return self.scores * self.human

    def agreeing(self, epsilon: float) -> NDArray[np.bool_]:
        """Pairs on whose order both agree, or that both tie."""
        agreed: NDArray[np.bool_] = self.scores * (self.apart > np.float32(epsilon)) == self.human
        return agreed

    def tied(self) -> Singles:
        """Distances of the pairs that people tie: they agree from this epsilon on."""
        return self._where(self.human == 0)

    def concordant(self) -> Singles:
        """Distances of the pairs that agree until epsilon reaches them."""
        return self._where(self.balance() > 0)

    def _where(self, kept: NDArray[np.bool_]) -> Singles:
        found: Singles = self.apart[np.triu(kept, 1)]
        return found


def compared(x: Floats, y: Floats) -> Compared:
    shape = *x.shape, x.shape[-1]
    found = Compared(
        np.empty(shape, np.int8), np.empty(shape, np.int8), np.empty(shape, np.float32)
    )
    step = max(1, BUDGET // max(1, x.size))
    for start in range(0, x.shape[-1], step):
        rows = slice(start, start + step)
        some_x, all_x = x[..., rows, None], x[..., None, :]
        found.scores[..., rows, :] = signs(some_x, all_x)
        found.human[..., rows, :] = signs(y[..., rows, None], y[..., None, :])
        found.apart[..., rows, :] = np.abs(some_x - all_x)
    return found
