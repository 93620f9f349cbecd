"""Is the best better, document by document? A sign-flip test of each method beside it.

differences of two methods' correlations: axes x documents [[.3 .1 .2] [.1 nan .3]]
-> the mean over axes of the mean over documents, 0.2; each document adds [.075 .0167 .1083],
   and of its 8 choices of signs 2 give as much: p 0.25 were all of them tried

Signs are drawn for whole documents, on all axes together.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from .coefficients import BUDGET
from .compare import EQUAL
from .pairs import Floats
from .significance import holm

FEWEST_SHARED = 2  # documents


@dataclass(frozen=True, slots=True)
class Challenger:
    """A method beside the column's best: the first named, where several are."""

    name: str
    difference: float | None  # the best's less its own, on the documents that they share
    p: float | None  # two-sided; None: under two documents shared (average: on any one axis)
    p_holm: float | None  # adjusted for all challengers of the column
    n: int  # documents shared (of the average: on any axis)


def challengers(gaps: Mapping[str, Floats], permutations: int, seed: int) -> tuple[Challenger, ...]:
    """From (axes, documents) of the best's less each method's; NaN where either is undefined."""
    shared = {name: np.isfinite(gap).sum(axis=1) for name, gap in gaps.items()}
    shares = {name: _shares(gap) for name, gap in gaps.items() if shared[name].min() > 0}
    tested = [name for name in shares if shared[name].min() >= FEWEST_SHARED and permutations > 0]
    ps = dict(zip(tested, _ps([shares[name] for name in tested], permutations, seed), strict=True))
    adjusted = dict(zip(ps, holm(list(ps.values())), strict=True))
    return tuple(
        Challenger(
            name=name,
            difference=float(shares[name].sum()) if name in shares else None,
            p=ps.get(name),
            p_holm=adjusted.get(name),
            n=int(np.isfinite(gap).any(axis=0).sum()),
        )
        for name, gap in gaps.items()
    )


def _shares(gap: Floats) -> Floats:
    """What each document adds to the statistic, which its sign turns as a whole."""
    defined = np.isfinite(gap)
    shares: Floats = np.where(defined, gap, 0.0) / defined.sum(axis=1, keepdims=True)
    added: Floats = shares.mean(axis=0)
    return added


def _ps(shares: Sequence[Floats], permutations: int, seed: int) -> list[float]:
    """All see the same signs."""
    if not shares:
        return []
    table = np.stack(shares, axis=1)
    least = np.abs(table.sum(axis=0)) - EQUAL
    times = np.zeros(len(shares), dtype=np.intp)
    stream = np.random.default_rng(seed)
    block = max(1, BUDGET // len(table))
    for start in range(0, permutations, block):
        draws = stream.random((min(block, permutations - start), len(table)), np.float32)
        times += (np.abs(np.where(draws < 0.5, -1.0, 1.0) @ table) > least).sum(axis=0)
    return [(1 + int(count)) / (1 + permutations) for count in times]
