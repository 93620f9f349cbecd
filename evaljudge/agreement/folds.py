"""Whole documents dealt to folds, so that what is fitted on others is tried on each.

documents [7 7 9 4], ratings [3 nan 2 5], all scored, 2 folds -> 7, 9 and 4 in folds 0, 1, 0 or
another such order

Only documents with a pair (a score and a rating) are dealt, in an order that depends on nothing
but the seed and their order of first appearance; no fold has over one document more than another.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .pairs import Codes, Floats

Rows = NDArray[np.bool_]
FOLDS = 4  # documents are dealt from a stream of their own


@dataclass(frozen=True, slots=True)
class Folded:
    """Rows as they came, and where each one's document lies."""

    scores: Floats  # NaN where unscored
    ratings: Floats  # NaN where unrated
    pairs: Rows
    fold: Codes  # -1: a document without a pair
    document: Codes  # among those with a pair, sorted; -1 likewise
    documents: int
    folds: int

    def inside(self, fold: int) -> Rows:
        rows: Rows = self.fold == fold
        return rows

    def elsewhere(self, fold: int) -> Rows:
        """The pairs of the other folds."""
        rows: Rows = self.pairs & (self.fold != fold)
        return rows

    def summed(self, values: ArrayLike) -> Floats:
        """Each document's pairs' values."""
        weights = np.asarray(values, dtype=np.float64)[self.pairs]
        found = np.bincount(self.document[self.pairs], weights, minlength=self.documents)
        return found.astype(np.float64)


def folded(
    documents: ArrayLike, scores: ArrayLike, ratings: ArrayLike, folds: int, seed: int
) -> Folded | None:
    """As many folds, or as there are documents with a pair; None where fewer than two have one."""
    codes = np.asarray(documents)
    given, rated = (np.asarray(column, dtype=np.float64) for column in (scores, ratings))
    if len({codes.shape, given.shape, rated.shape}) > 1 or codes.ndim != 1:
        raise ValueError("documents, scores and ratings must be lists of one length")
    if folds < 2:
        raise ValueError("with fewer than two folds a document would calibrate itself")
    pairs = np.isfinite(given) & np.isfinite(rated)
    known, first, place = np.unique(codes, return_index=True, return_inverse=True)
    dealt = np.flatnonzero(np.bincount(place[pairs], minlength=known.size))
    if dealt.size < 2:
        return None
    document, fold = np.full((2, known.size), -1)
    document[dealt] = np.arange(dealt.size)
    shuffled = np.random.default_rng((seed, FOLDS)).permutation(dealt.size)
    count = min(folds, dealt.size)
    fold[dealt[np.argsort(first[dealt])][shuffled]] = np.arange(dealt.size) % count
    return Folded(given, rated, pairs, fold[place], document[place], dealt.size, count)
