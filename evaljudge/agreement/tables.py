"""Documents with equally many pairs, side by side, so that they are done at once.

documents [0 0 1 1 2], scores [.1 .2 .3 .4 .5]
-> a table of document 2: [[.5]]; and one of 0 and 1: [[.1 .2] [.3 .4]]
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from .pairs import Codes, Floats, Pairs


@dataclass(frozen=True, slots=True)
class Table:
    """One row per document."""

    documents: Codes
    systems: Codes
    scores: Floats
    human: Floats

    def parts(self, rows: int) -> "Iterator[Table]":
        for start in range(0, self.documents.size, rows):
            part = slice(start, start + rows)
            yield Table(
                self.documents[part], self.systems[part], self.scores[part], self.human[part]
            )


def tables(pairs: Pairs, widest: int | None = None) -> Iterator[Table]:
    """All documents, or those with at most `widest` pairs."""
    sizes = np.bincount(pairs.documents, minlength=pairs.document_count)
    starts = np.cumsum(sizes) - sizes
    for size in np.unique(sizes):
        if widest is None or size <= widest:
            chosen = np.flatnonzero(sizes == size)
            cells = starts[chosen, None] + np.arange(size)
            yield Table(chosen, pairs.systems[cells], pairs.scores[cells], pairs.human[cells])
