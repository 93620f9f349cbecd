"""Which score must a candidate reach, that a given share of those selected are good?

    >>> precise([0, 0, 1, 1], [.9, .2, .8, .1], [5, 1, 4, 2], good=4, target=0.9).threshold
    0.8

A candidate is good where people rated it `good` or higher. The threshold is the lowest score such
that, of all candidates with this score or a higher one, at least the target share is good. It
selects the most; a higher one may miss the target, since precision need not rise with the score.

Each fold is tested with the threshold of the others, and selects nothing where these have none.
Precision, recall and the selected share are of all folds pooled. They may miss the target: a
threshold looks best on the documents where it was chosen. Only pairs (see folds.py) count.
Intervals resample documents; the thresholds stay as they were chosen.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from .documents import Measured, on_one_thread, ratio_of_sums
from .folds import Rows, folded
from .pairs import Codes, Floats


@dataclass(frozen=True, slots=True)
class Precise:
    good: float
    target: float
    base: Measured  # share of the pairs that are good
    threshold: float | None  # chosen on all documents: what a selection uses; None: none reaches it
    best: float  # the highest precision that any threshold reaches on all documents
    thresholds: tuple[float | None, ...]  # one for each fold, chosen on the others
    selected: Measured  # share of the pairs, by the other folds' thresholds
    precision: Measured  # share of the selected pairs that are good
    recall: Measured  # share of the good pairs that are selected
    documents: int  # with a pair


@on_one_thread
def precise(
    documents: ArrayLike, scores: ArrayLike, ratings: ArrayLike, *,
    good: float, target: float, folds: int = 5, resamples: int = 1000, seed: int = 0,
) -> Precise | None:  # fmt: skip
    """The threshold from one row per candidate, NaN where unscored or unrated.

    None where fewer than two documents have a pair.
    """
    rows = folded(documents, scores, ratings, folds, seed)
    if rows is None:
        return None
    is_good = rows.ratings >= good

    def chosen(on: Rows) -> float | None:
        return lowest_threshold(rows.scores[on], is_good[on], target)

    def share(part: Rows, among: Rows) -> Measured:
        some, whole = rows.summed(part), rows.summed(among)
        return ratio_of_sums(some, whole, resamples, seed, n=int(whole.sum()))

    thresholds = tuple(chosen(rows.elsewhere(fold)) for fold in range(rows.folds))
    selected = _reached(rows.scores, rows.fold[0], thresholds)
    return Precise(
        good=good,
        target=target,
        base=share(is_good, rows.pairs),
        threshold=chosen(rows.pairs),
        best=float(precisions(rows.scores[rows.pairs], is_good[rows.pairs])[1].max()),
        thresholds=thresholds,
        selected=share(selected, rows.pairs),
        precision=share(selected & is_good, selected),
        recall=share(selected & is_good, is_good),
        documents=rows.documents,
    )


def lowest_threshold(scores: Floats, is_good: Rows, target: float) -> float | None:
    thresholds, shares = precisions(scores, is_good)
    reaching = thresholds[shares >= target]
    return float(reaching[0]) if reaching.size else None


def precisions(scores: Floats, is_good: Rows) -> tuple[Floats, Floats]:
    """Each distinct score, rising; and what share of those at or above it is good."""
    distinct, place = np.unique(scores, return_inverse=True)
    good, all_of_them = (
        np.bincount(place, weights=counted, minlength=distinct.size)[::-1].cumsum()[::-1]
        for counted in (is_good.astype(np.float64), np.ones(place.size))
    )
    return distinct, good / all_of_them


def _reached(scores: Floats, fold: Codes, thresholds: tuple[float | None, ...]) -> Rows:
    least = np.array([np.inf if threshold is None else threshold for threshold in thresholds])
    return np.isfinite(scores) & (fold >= 0) & (scores >= least[fold])
