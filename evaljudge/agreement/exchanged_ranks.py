"""Spearman's correlations of two scorers after every exchange of their scores, without sorting.

All values of both scorers are sorted once, list by list. An exchange says which of them are in the
one list; the others are in the other. Equal values are a run. Of a run, let N be how many are in
the one list, H the sum of their candidates' centred ranks of ratings, and S how many smaller values
are in the list. In a list of n values, twice the centred rank of each of them is 2 S + N - n:

first [1 2 3], second [2 2 9], swapped [no yes no] -> list [1 2 3], runs 1, 2, 3, 9: N [1 1 1 0],
S [0 1 2 3], and twice the centred ranks [0+1-3 2+1-3 4+1-3] = [-2 0 2]

Centred ranks add up to 0, so twice the sum of the products of both ranks is that of H (2 S + N)
over the runs. N and H are linear in what is exchanged: a sparse matrix gives each of them. Running
counts are a product with a triangular matrix, in blocks of runs. The other list has all values that
the one has not, so its sum is the same but for terms that are linear in what is exchanged.
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

    def by_list(self, values: Floats) -> Floats:
        """(lists, 1), from one number for each row."""
        sums: Floats = np.add.reduceat(values, self.first_blocks * self.rows)[:, None]
        return sums

    def linear(self, values: Floats) -> "Linear":
        """The sums over the values in the one list, from one number for each value."""
        changes = np.where(self.is_second, values, -values)
        shape = self.height, self.cells.size // 2
        table = sparse.csr_array((changes, (self.row, self.cells)), shape=shape)
        return Linear(table, self.summed(np.where(self.is_second, 0.0, values)))


@dataclass(frozen=True, slots=True)
class Linear:
    """What each row comes to, as a function of what is swapped."""

    changes: sparse.csr_array  # (rows, candidates)
    unswapped: NDArray[Any]

    def within(self, precision: type) -> "Linear":
        return Linear(self.changes.astype(precision), self.unswapped.astype(precision))

    def after(self, swaps: NDArray[Any]) -> NDArray[Any]:
        """(rows, exchanges) from (candidates, exchanges)."""
        found: NDArray[Any] = self.changes @ swaps
        found += self.unswapped[:, None]
        return found


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
    count, rank = runs.linear(once), runs.linear(h)
    triangle = 2 * np.tril(np.ones((runs.rows, runs.rows)), -1) + np.eye(runs.rows)
    blocked = -1, runs.rows
    in_block = runs.summed(once).reshape(blocked) @ triangle.T
    largest = (in_block * runs.summed(np.abs(h)).reshape(blocked)).sum(axis=1).max()
    precision = np.float32 if largest < EXACT else np.float64
    earlier = (np.cumsum(runs.sizes) - runs.sizes)[runs.list_of_block, None]  # in earlier lists
    whole, moved = _other(runs, h, count, rank)
    below: NDArray[Any] = np.vstack([triangle, np.ones(runs.rows)]).astype(precision)
    linears = count.within(precision), rank.within(precision)
    correlate = _correlate(runs, [float((ranked[at] ** 2).sum()) for at in lists])

    def of_both(swapped: Swapped) -> tuple[Floats, Floats]:
        swaps = np.ascontiguousarray(swapped.T, dtype=precision)
        shape = *in_block.shape, len(swapped)
        counts, ranks = (linear.after(swaps).reshape(shape) for linear in linears)
        reached = below @ counts
        inside: Floats = np.einsum("bre,bre->be", ranks, reached[:, :-1])
        of_block = reached[:, -1].astype(np.float64)
        smaller = np.cumsum(of_block, axis=0) - of_block - earlier
        crossing = 2 * (below[-1:] @ ranks)[:, 0] * smaller
        products = np.add.reduceat(inside + crossing, runs.first_blocks, axis=0)
        others = whole - moved.after(swaps.astype(np.float64)) + products
        return correlate(products, others, counts.reshape(-1, len(swapped)))

    return of_both


def _other(runs: Runs, h: Floats, count: Linear, rank: Linear) -> tuple[Floats, Linear]:
    """What the other list's products are less the one's: a constant less something linear.

    Of the other list N and H are those of all values less those of the one, and so is 2 S + N, of
    which all come to `reached`. What the one's H leaves of a product is linear, and so is the sum
    of all values' H with the one's 2 S + N: by run, N with the H of the run and twice those after.
    """
    lengths, totals = runs.summed(np.ones(h.size)), runs.summed(h)
    before = np.repeat((2 * (np.cumsum(runs.sizes) - runs.sizes))[runs.list_of_block], runs.rows)
    reached = 2 * (np.cumsum(lengths) - before) - lengths
    remaining = totals - 2 * np.cumsum(totals)  # in every list they add up to 0
    list_of_candidate = np.empty(h.size // 2, np.intp)
    list_of_candidate[runs.cells] = np.repeat(np.arange(runs.sizes.size), 2 * runs.sizes)
    places = list_of_candidate, np.arange(list_of_candidate.size)
    changes = count.changes.T @ remaining + rank.changes.T @ reached
    unswapped = runs.by_list(count.unswapped * remaining + rank.unswapped * reached)[:, 0]
    return runs.by_list(totals * reached), Linear(sparse.csr_array((changes, places)), unswapped)


def _correlate(
    runs: Runs, spread: Sequence[float]
) -> Callable[[Floats, Floats, NDArray[Any]], tuple[Floats, Floats]]:
    """Divides by the spread of ranks, which ties within a list make smaller.

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
        in_one = counts[tied].astype(np.float64)
        return correlations(one, in_one), correlations(other, lengths[tied, None] - in_one)

    return of_both
