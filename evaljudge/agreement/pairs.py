"""The candidates that have both a score and a rating, in one fixed order: a pair each.

documents [7, 7, 9]  systems [0, 1, 0]  scores [.2, nan, .4]  human [3, 4, 5]
-> documents [0, 1]  systems [0, 0]  values [[.4, .8], [.375, .625]], one unscored
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]
MOST_GROUPS = 200
Two = tuple[int, int]  # a column of scores and one of ratings


@dataclass(frozen=True, slots=True)
class PairTable:
    """Columns of scores and of ratings of the same candidates, and which of them are compared.

    Sorted by document; codes run from 0 without gaps.
    """

    documents: Codes
    systems: Codes
    values: Floats  # (columns, candidates), divided by 2 to the power of `exponents`
    compared: tuple[Two, ...]
    document_count: int
    system_count: int
    lost_documents: int  # without a pair
    lost_systems: int  # without a pair
    unscored: tuple[int, ...]  # rated candidates without a score, in each comparison
    exponents: tuple[int, ...]
    groups: Codes  # each document's: those of a group are left out together (see documents.py)

    def of(self, places: Sequence[int]) -> "PairTable":
        """Some of the comparisons, with the columns that they need."""
        some = [self.compared[place] for place in places]
        kept = sorted({column for two in some for column in two})
        return replace(
            self,
            values=self.values[kept],
            compared=tuple((kept.index(left), kept.index(right)) for left, right in some),
            unscored=tuple(self.unscored[place] for place in places),
            exponents=tuple(self.exponents[column] for column in kept),
        )


def tables(
    documents: ArrayLike, systems: ArrayLike, columns: Sequence[ArrayLike],
    compared: Sequence[tuple[int, ...]],
) -> Iterator[tuple[list[list[int]], PairTable]]:  # fmt: skip
    """Comparisons of the same candidates share a table, with the places of each in `compared`.

    (1, 0, 2): the scores 1 with the ratings 0, of candidates for which column 2 has a number, too.
    """
    codes = np.asarray(documents), np.asarray(systems)
    numbers = [np.asarray(column, dtype=np.float64) for column in columns]
    if len({column.shape for column in (*codes, *numbers)}) > 1 or codes[0].ndim != 1:
        raise ValueError("documents, systems, scores and human must be lists of one length")
    present = [np.isfinite(column) for column in numbers]
    alike: defaultdict[bytes, dict[Two, list[int]]] = defaultdict(dict)
    for place, (left, right, *others) in enumerate(compared):
        kept = np.logical_and.reduce([present[column] for column in (left, right, *others)])
        alike[np.packbits(kept).tobytes()].setdefault((left, right), []).append(place)
    for bits, by_two in alike.items():
        kept = np.unpackbits(np.frombuffer(bits, np.uint8), count=codes[0].size).astype(bool)
        unscored = [int(present[human].sum() - kept.sum()) for _, human in by_two]
        yield list(by_two.values()), _table(codes, numbers, list(by_two), kept, unscored)


def _table(
    codes: tuple[Codes, Codes], numbers: Sequence[Floats], compared: Sequence[Two],
    both: NDArray[np.bool_], unscored: Sequence[int],
) -> PairTable:  # fmt: skip
    names = list(dict.fromkeys(column for two in compared for column in two))
    documents, systems = (column[both] for column in codes)
    values = np.stack([numbers[name][both] for name in names])
    # A total order, so that permuting the rows cannot change even the last bit of a sum.
    order = np.lexsort([*values[::-1], systems, documents])
    kept_documents, document_codes = np.unique(documents[order], return_inverse=True)
    kept_systems, system_codes = np.unique(systems[order], return_inverse=True)
    # a power of two that no value exceeds: exact to divide by, and squares cannot overflow
    exponents = [int(np.frexp(np.max(np.abs(column), initial=0.0))[1]) for column in values]
    return PairTable(
        documents=document_codes,
        systems=system_codes,
        values=np.ldexp(values[:, order], -np.array(exponents)[:, None]),
        compared=tuple((names.index(left), names.index(right)) for left, right in compared),
        document_count=kept_documents.size,
        system_count=kept_systems.size,
        lost_documents=np.unique(codes[0]).size - kept_documents.size,
        lost_systems=np.unique(codes[1]).size - kept_systems.size,
        unscored=tuple(unscored),
        exponents=tuple(exponents),
        groups=groups_of(kept_documents.size),
    )


def groups_of(documents: int) -> Codes:
    return np.arange(documents) % MOST_GROUPS


def table_of(
    documents: ArrayLike, systems: ArrayLike, scores: ArrayLike, human: ArrayLike
) -> PairTable:
    ((_, table),) = tables(documents, systems, [scores, human], [(0, 1)])
    return table


def stacked(pairs: PairTable) -> Iterator[tuple[Codes, Codes]]:
    """Documents with equally many pairs, and the places of these: (documents, pairs)."""
    sizes = np.bincount(pairs.documents, minlength=pairs.document_count)
    starts = np.cumsum(sizes) - sizes
    for size in np.unique(sizes):
        chosen = np.flatnonzero(sizes == size)
        yield chosen, starts[chosen, None] + np.arange(size)
