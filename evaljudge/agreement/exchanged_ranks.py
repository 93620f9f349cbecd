"""Spearman's correlations of two scorers after every exchange of their scores, without sorting.

All values of both scorers are sorted once, list by list. An exchange says which of them are in the
one list; the others are in the other. Equal values are a run. Of a run, let N be how many are in
the one list, H the sum of their candidates' centred ranks of ratings, and S how many smaller values
are in the list. In a list of n values, twice the centred rank of each of them is 2 S + N - n:

first [1 2 3], second [2 2 9], swapped [no yes no] -> list [1 2 3], runs 1, 2, 3, 9: N [1 1 1 0],
S [0 1 2 3], and twice the centred ranks [0+1-3 2+1-3 4+1-3] = [-2 0 2]

Centred ranks add up to 0, so twice the sum of the products of both ranks is that of H (2 S + N)
over the runs. Let s be 1 for a candidate whose scores stay, -1 where they are exchanged. Then N is
half of how many values are in the run, and half of something linear in s; so are H and S. The sum
has a constant, a linear and a quadratic part. The other list has the same sum for -s: only the
linear part has the other sign. Sparse matrices give what is linear. Running counts are a product
with a triangular matrix, in blocks of runs.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse  # type: ignore[import-untyped, unused-ignore]

from .coefficients import centred_ranks, ratio
from .pairs import Codes, Floats

Swapped = NDArray[np.bool_]  # (exchanges, candidates)
OfBoth = Callable[[Swapped], tuple[Floats, Floats]]
"""Both scorers' correlations after each exchange: (exchanges, lists) each."""
MOST_ROWS = 32  # runs in a block
EXACT = 2.0**23  # multiples of 1/2 below it are exact in single precision


@dataclass(frozen=True, slots=True)
class Runs:
    """All values of both scorers, sorted list by list, and where the runs of equal ones are.

    Every list begins a block of `rows` rows, each of which is a run; the last rows may be empty.
    """

    cells: Codes  # each value's candidate
    is_second: NDArray[np.bool_]  # whether it is the second scorer's
    row: Codes  # each value's run
    sizes: Codes  # candidates of each list
    blocks: Codes  # of each list
    rows: int

    @classmethod
    def of(cls, first: Floats, second: Floats, lists: Sequence[Codes]) -> "Runs":
        sizes = np.array([at.size for at in lists])
        orders = [np.argsort(np.append(first[at], second[at]), kind="stable") for at in lists]
        cells = np.concatenate([np.append(at, at)[o] for at, o in zip(lists, orders, strict=True)])
        is_second = np.concatenate([o >= at.size for at, o in zip(lists, orders, strict=True)])
        begins = np.diff(np.where(is_second, second[cells], first[cells]), prepend=np.nan) != 0
        begins[np.cumsum(2 * sizes) - 2 * sizes] = True
        counts = np.bincount(np.repeat(np.arange(sizes.size), 2 * sizes)[begins])
        rows = min(MOST_ROWS, int(counts.max()))
        blocks = -(-counts // rows)
        # where a list's rows begin, less where its runs do
        empty = rows * (np.cumsum(blocks) - blocks) - (np.cumsum(counts) - counts)
        row_of_run = np.arange(counts.sum()) + np.repeat(empty, counts)
        return cls(cells, is_second, row_of_run[np.cumsum(begins) - 1], sizes, blocks, rows)

    @property
    def height(self) -> int:
        return int(self.blocks.sum()) * self.rows

    @property
    def first_blocks(self) -> Codes:
        return np.cumsum(self.blocks) - self.blocks

    @property
    def list_of_block(self) -> Codes:
        return np.repeat(np.arange(self.sizes.size), self.blocks)

    def summed(self, values: Floats) -> Floats:
        """(rows), from one number for each value."""
        return np.bincount(self.row, values, self.height).astype(np.float64)

    def linear(self, values: Floats, precision: type = np.float64) -> sparse.csr_array:
        """(rows, candidates): twice what s adds to the sums, from one number for each value."""
        changes: Floats = np.where(self.is_second, -values, values).astype(precision)
        shape = self.height, self.cells.size // 2
        return sparse.csr_array((changes, (self.row, self.cells)), shape=shape)


def spearman_exchanged(
    first: Floats, second: Floats, human: Floats, groups: Sequence[Codes]
) -> OfBoth:
    """`groups`: candidates of lists of one length each, (lists, candidates), which hold all."""
    ranked = np.empty(human.size)
    for at in groups:
        ranked[at] = centred_ranks(human[at])
    lists = [cells for at in groups for cells in at]
    runs = Runs.of(first, second, lists)
    h, once = ranked[runs.cells], np.ones(runs.cells.size)
    triangle = 2 * np.tril(np.ones((runs.rows, runs.rows)), -1) + np.eye(runs.rows)
    blocked = -1, runs.rows
    in_block = runs.summed(once).reshape(blocked) @ triangle.T
    largest = (in_block * runs.summed(np.abs(h)).reshape(blocked)).sum(axis=1).max()
    precision = np.float32 if largest < EXACT else np.float64
    below: NDArray[Any] = np.vstack([triangle, np.ones(runs.rows)]).astype(precision)
    count, rank = runs.linear(once, precision), runs.linear(h, precision)
    constant, linear = _constant_and_linear(runs, h)
    correlate = _correlate(runs, [float((ranked[at] ** 2).sum()) for at in lists])

    def of_both(swapped: Swapped) -> tuple[Floats, Floats]:
        stays = 1 - 2 * np.ascontiguousarray(swapped.T).astype(precision)
        shape = *in_block.shape, len(swapped)
        counts, ranks = (count @ stays).reshape(shape), (rank @ stays).reshape(shape)
        reached = below @ counts
        inside: Floats = np.einsum("bre,bre->be", ranks, reached[:, :-1])
        of_block = reached[:, -1].astype(np.float64)  # in every list they add up to 0
        smaller = np.cumsum(of_block, axis=0) - of_block
        crossing = 2 * (below[-1:] @ ranks)[:, 0] * smaller
        even = constant + np.add.reduceat(inside + crossing, runs.first_blocks, axis=0)
        odd = linear @ stays.astype(np.float64)
        return correlate((even + odd) / 4, (even - odd) / 4, counts.reshape(-1, len(swapped)))

    return of_both


def _constant_and_linear(runs: Runs, h: Floats) -> tuple[Floats, sparse.csr_array]:
    """(lists, 1) and (lists, candidates): what of four times the sum is not quadratic in s.

    With all values in the list, H would be `totals` and 2 S + N `reached`: their product is
    constant. What s adds to the one is multiplied by the other. A value that is counted in the N of
    its run and twice in the S of all later runs meets `remaining`.
    """
    lengths, totals = runs.summed(np.ones(h.size)), runs.summed(h)
    before = np.repeat((2 * (np.cumsum(runs.sizes) - runs.sizes))[runs.list_of_block], runs.rows)
    reached = 2 * (np.cumsum(lengths) - before) - lengths
    remaining = totals - 2 * np.cumsum(totals)  # in every list they add up to 0
    list_of_candidate = np.empty(h.size // 2, np.intp)
    list_of_candidate[runs.cells] = np.repeat(np.arange(runs.sizes.size), 2 * runs.sizes)
    places = list_of_candidate, np.arange(list_of_candidate.size)
    changes = runs.linear(np.ones(h.size)).T @ remaining + runs.linear(h).T @ reached
    constant = np.add.reduceat(totals * reached, runs.first_blocks * runs.rows)[:, None]
    return constant, sparse.csr_array((changes, places))


def _correlate(
    runs: Runs, spread: Sequence[float]
) -> Callable[[Floats, Floats, NDArray[Any]], tuple[Floats, Floats]]:
    """Divides by the spread of ranks, which ties within a list make smaller.

    `counts`: twice what s adds to how many of a run are in the one list.
    `spread`: the ratings' ranks squared and summed, of each list.
    """
    lengths = runs.summed(np.ones(runs.cells.size))
    tied = np.flatnonzero(lengths > 1)
    places = runs.list_of_block[tied // runs.rows], np.arange(tied.size)
    of_tied = sparse.csr_array((np.ones(tied.size), places), shape=(runs.sizes.size, tied.size))
    squares = ((runs.sizes**3 - runs.sizes) / 3)[:, None]

    def correlations(products: Floats, counts: Floats) -> Floats:
        tied_away = of_tied @ ((counts**3 - counts) / 3)
        return ratio(products, np.sqrt((squares - tied_away) * np.array(spread)[:, None])).T

    def of_both(one: Floats, other: Floats, counts: NDArray[Any]) -> tuple[Floats, Floats]:
        in_one = (lengths[tied, None] + counts[tied].astype(np.float64)) / 2
        return correlations(one, in_one), correlations(other, lengths[tied, None] - in_one)

    return of_both
