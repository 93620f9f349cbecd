"""The candidates that have both a score and a rating, in one fixed order.

documents [7, 7, 9]  systems [0, 1, 0]  scores [.2, nan, .4]  human [3, 4, 5]
-> documents [0, 1]  systems [0, 0]  scores [.4, .8]  human [.375, .625], one unscored
"""

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
    columns = np.asarray(documents), np.asarray(systems), _floats(scores), _floats(human)
    if len({column.shape for column in columns}) > 1 or columns[0].ndim != 1:
        raise ValueError("documents, systems, scores and human must be lists of one length")
    rated = np.isfinite(columns[3])
    both = rated & np.isfinite(columns[2])
    # A total order, so that permuting the rows cannot change even the last bit of a sum.
    order = np.lexsort([column[both] for column in reversed(columns)])
    kept = [column[both][order] for column in columns]
    kept_documents, document_codes = np.unique(kept[0], return_inverse=True)
    kept_systems, system_codes = np.unique(kept[1], return_inverse=True)
    exponents = _exponent(kept[2]), _exponent(kept[3])
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


def _floats(values: ArrayLike) -> Floats:
    return np.asarray(values, dtype=np.float64)


def _exponent(values: Floats) -> int:
    """Divided by two to this power none exceeds 1: exact, and squares cannot overflow."""
    _, exponent = np.frexp(np.max(np.abs(values), initial=0.0))
    return int(exponent)
