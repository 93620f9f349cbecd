"""Whole documents divided into folds, so that what is fitted on the others is tested on each.

documents [7 7 9 4], ratings [3 nan 2 5], all scored, 2 folds -> 7, 9 and 4 in folds 0, 1, 0

Only documents with a pair (a score and a rating) get a fold, in the order of a hash of the seed,
the division and the document's name: the order of the rows changes nothing. Each of several
divisions draws anew, and the numbers of the folds run on. Where every fold is one document all
divisions are alike, so there is one.
"""

from dataclasses import dataclass
from hashlib import sha256

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .pairs import Codes, Floats

Rows = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Folded:
    """Rows as they came, and where each one's document lies."""

    scores: Floats  # NaN where unscored
    ratings: Floats  # NaN where unrated
    pairs: Rows
    fold: Codes  # (divisions, rows); -1: a document without a pair
    document: Codes  # among those with a pair, sorted; -1 likewise
    documents: int
    folds: int  # in one division

    def inside(self, fold: int) -> Rows:
        return self.fold[fold // self.folds] == fold

    def elsewhere(self, fold: int) -> Rows:
        """The pairs of the other folds of its division."""
        return self.pairs & ~self.inside(fold)

    def summed(self, values: ArrayLike) -> Floats:
        """Each document's pairs' values."""
        weights, document = np.asarray(values, dtype=np.float64)[self.pairs], self.document
        # A total order, so that permuting the rows cannot change even the last bit of a sum.
        order = np.lexsort([weights, document[self.pairs]])
        sums = np.bincount(document[self.pairs][order], weights[order], minlength=self.documents)
        return sums.astype(np.float64)


def folded(
    documents: ArrayLike, scores: ArrayLike, ratings: ArrayLike, folds: int, seed: int,
    divisions: int = 1,
) -> Folded | None:  # fmt: skip
    """The rows in folds: as many as asked or as documents with a pair; None where fewer than two.

    `documents` are names: numbers, or strings (as objects, since NumPy's own drop trailing NULs).
    """
    codes = np.asarray(documents)
    scored, rated = (np.asarray(column, dtype=np.float64) for column in (scores, ratings))
    if len({codes.shape, scored.shape, rated.shape}) > 1 or codes.ndim != 1:
        raise ValueError("documents, scores and ratings must be lists of one length")
    if folds < 2:
        raise ValueError("with fewer than two folds a document would calibrate itself")
    pairs = np.isfinite(scored) & np.isfinite(rated)
    names, place = np.unique(codes, return_inverse=True)
    used = np.flatnonzero(np.bincount(place[pairs], minlength=names.size))
    if used.size < 2:
        return None
    count = min(folds, used.size)
    times = 1 if count == used.size else divisions
    document, fold = np.full(names.size, -1), np.full((times, names.size), -1)
    document[used] = np.arange(used.size)
    for division in range(times):
        order = np.argsort([_hash(seed, division, names[at]) for at in used])
        fold[division, used[order]] = division * count + np.arange(used.size) % count
    return Folded(scored, rated, pairs, fold[:, place], document[place], used.size, count)


def _hash(seed: int, division: int, document: object) -> str:
    return sha256(f"{seed} {division} {document}".encode(errors="surrogatepass")).hexdigest()
