"""The candidates that have both a score and a rating, in one fixed order.

documents [7, 7, 9]  systems [0, 1, 0]  scores [.2, nan, .4]  human [3, 4, 5]
-> documents [0, 1]  systems [0, 0]  scores [.4, .8]  human [.375, .625], one unscored
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class Pairs:
    """Sorted by document; codes run from 0 without gaps."""

    documents: Codes
    systems: Codes
    scores: Floats
    human: Floats
    document_count: int
    system_count: int
    lost_documents: int  # without a pair
    lost_systems: int  # without a pair
    unscored: int  # rated candidates without a score
    exponent: int  # scores were divided by 2 to this power


def paired(documents: ArrayLike, systems: ArrayLike, scores: ArrayLike, human: ArrayLike) -> Pairs:
    codes = [np.asarray(column) for column in (documents, systems)]
    columns = codes + [np.asarray(column, dtype=np.float64) for column in (scores, human)]
    if len({column.shape for column in columns}) > 1 or columns[0].ndim != 1:
        raise ValueError("documents, systems, scores and human must be lists of one length")
    rated = np.isfinite(columns[3])
    both = rated & np.isfinite(columns[2])
    # A total order, so that permuting the rows cannot change even the last bit of a sum.
    order = np.lexsort([column[both] for column in reversed(columns)])
    kept = [column[both][order] for column in columns]
    kept_documents, document_codes = np.unique(kept[0], return_inverse=True)
    kept_systems, system_codes = np.unique(kept[1], return_inverse=True)
    exponents = exponent_of(kept[2]), exponent_of(kept[3])
    return Pairs(
        documents=document_codes,
        systems=system_codes,
        scores=np.ldexp(kept[2], -exponents[0]),
        human=np.ldexp(kept[3], -exponents[1]),
        document_count=kept_documents.size,
        system_count=kept_systems.size,
        lost_documents=np.unique(columns[0]).size - kept_documents.size,
        lost_systems=np.unique(columns[1]).size - kept_systems.size,
        unscored=int(np.sum(rated & ~both)),
        exponent=exponents[0],
    )


def exponent_of(values: Floats) -> int:
    """Values divided by two to this power do not exceed 1: exact, and squares cannot overflow."""
    largest = np.max(np.abs(values), initial=0.0, where=np.isfinite(values))
    return int(np.frexp(largest)[1])


@dataclass(frozen=True, slots=True)
class Stack:
    """Documents with equally many pairs, one per row, so that they are computed at once."""

    documents: Codes
    systems: Codes
    scores: Floats
    human: Floats

    def parts(self, rows: int) -> "Iterator[Stack]":
        for start in range(0, self.documents.size, rows):
            part = slice(start, start + rows)
            yield Stack(
                self.documents[part], self.systems[part], self.scores[part], self.human[part]
            )


def stacked(pairs: Pairs) -> Iterator[tuple[Codes, Codes]]:
    """Documents with equally many pairs, and the places of these: (documents, pairs)."""
    sizes = np.bincount(pairs.documents, minlength=pairs.document_count)
    starts = np.cumsum(sizes) - sizes
    for size in np.unique(sizes):
        chosen = np.flatnonzero(sizes == size)
        yield chosen, starts[chosen, None] + np.arange(size)


def stacks(pairs: Pairs, widest: float = np.inf) -> Iterator[Stack]:
    """All documents, or those with at most `widest` pairs."""
    for chosen, cells in stacked(pairs):
        if cells.shape[1] <= widest:
            yield Stack(chosen, pairs.systems[cells], pairs.scores[cells], pairs.human[cells])
