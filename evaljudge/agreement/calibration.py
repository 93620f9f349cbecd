"""Scores as the ratings that people would give: a rising map, cross-fitted over documents.

    >>> calibration(documents, scores, ratings).error_after
    Measured(value=0.41, low=0.37, high=0.45, n=360)

The map is an isotonic regression, so it never falls:
scores [1 2 2 3], ratings [1 4 2 2] -> knots 1: 1, 2: 8/3, 3: 8/3; a score of 1.5 becomes 11/6, one
of 0 becomes 1, one of 9 becomes 8/3. Equal scores are one point, with the mean of their ratings.
Between two knots the map is a line; beyond the last knot it is flat.

A document's scores are calibrated by maps fitted on the other folds, so that no
document calibrates itself. Folds are drawn at random, so this is done DIVISIONS times, and a
calibrated score is the mean. A document without a pair has no fold, and takes the map of all
documents; so does any new one.

Errors are mean absolute errors over the pairs: of the scores as they are (which means something
only on the people's scale), of the other folds' mean rating in place of every score, and of the
calibrated values; `less` is by what share the third is smaller than the second. Spearman's is that
of the sample level, with its interval; `n` counts the documents that have one, since a flat map
ties values. Other intervals resample documents; the maps stay as they were fitted.

Which score must a candidate reach, that a given share of those selected are good?

    >>> precise([0, 0, 1, 1], [.9, .2, .8, .1], [5, 1, 4, 2], good=4, target=0.9).threshold
    0.8

A candidate is good where people rated it `good` or higher. The threshold is the lowest score such
that, of all candidates with this score or a higher one, at least the target share is good. It
selects the most; a higher one may miss the target, since precision need not rise with the score.

Each fold is tested with the threshold of the others, and selects nothing where these have none.
Precision, recall and the selected share are of all folds pooled. They may miss the target: a
threshold looks best on the documents where it was chosen. Only pairs count.
Intervals resample documents; the thresholds stay as they were chosen.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from evaljudge.agreement.documents import (
    Folded,
    Measured,
    Rows,
    folded,
    interval,
    on_one_thread,
    ratio_of_sums,
)
from evaljudge.agreement.documents import means as means_of
from evaljudge.agreement.levels import document_correlations
from evaljudge.agreement.pairs import Codes, Floats, table_of

DIVISIONS = 10


@dataclass(frozen=True, slots=True)
class Isotonic:
    """Knots, in rising order."""

    scores: tuple[float, ...]
    ratings: tuple[float, ...]

    def calibrated(self, scores: ArrayLike) -> Floats:
        """The scores in units of the ratings; NaN where there is no score."""
        values = np.asarray(scores, dtype=np.float64)
        return np.where(np.isfinite(values), np.interp(values, self.scores, self.ratings), np.nan)


@dataclass(frozen=True, slots=True)
class CrossFitted:
    values: Floats = field(repr=False)  # each row's, in units of the ratings; NaN where unscored
    means: Floats = field(repr=False)  # the mean rating of the other folds, for comparison
    maps: tuple[Isotonic, ...] = field(repr=False)
    """The map of each fold of each division, fitted on the other folds."""
    whole: Isotonic = field(repr=False)  # fitted on all documents
    fold: Codes = field(repr=False)
    """The map of each row (divisions, rows); -1: of a document without a pair."""
    folds: int  # in one division
    documents: int  # with a pair
    pairs: int

    @property
    def divisions(self) -> int:
        return len(self.maps) // self.folds

    def calibrated(self, scores: ArrayLike, folds: Sequence[int]) -> Floats:
        """Scores mapped by the folds of a document, one of each division, or by the map of all."""
        maps = [self.maps[fold] for fold in folds] or [self.whole]
        total = np.zeros(np.shape(scores))
        for isotonic in maps:  # in this order everywhere: another could change the last bit
            total += isotonic.calibrated(scores)
        return total / len(maps)


@dataclass(frozen=True, slots=True)
class Calibration:
    fitted: CrossFitted
    error_before: Measured
    error_of_mean: Measured
    error_after: Measured
    less: Measured
    spearman_before: Measured
    spearman_after: Measured


def fit_isotonic(scores: Floats, ratings: Floats) -> Isotonic:
    """Least squares of pairs, of which there must be one."""
    from sklearn.isotonic import isotonic_regression

    # A total order, so that permuting the rows cannot change even the last bit of a sum.
    order = np.lexsort([ratings, scores])
    distinct, place, times = np.unique(scores[order], return_inverse=True, return_counts=True)
    means = np.bincount(place, weights=ratings[order]) / times
    fitted = isotonic_regression(means, sample_weight=times.astype(np.float64))
    # Within a flat stretch its two ends say everything.
    steps = np.diff(fitted) != 0
    ends = np.append(True, steps) | np.append(steps, True)
    return Isotonic(tuple(distinct[ends].tolist()), tuple(fitted[ends].tolist()))


def cross_fitted(
    documents: ArrayLike, scores: ArrayLike, ratings: ArrayLike, *, folds: int = 5, seed: int = 0
) -> CrossFitted | None:
    """Maps fitted in folds, from one row per candidate, NaN where unscored or unrated."""
    rows = folded(documents, scores, ratings, folds, seed, DIVISIONS)
    return None if rows is None else _cross_fitted(rows)


@on_one_thread
def calibration(
    documents: ArrayLike, scores: ArrayLike, ratings: ArrayLike, *,
    folds: int = 5, resamples: int = 1000, seed: int = 0,
) -> Calibration | None:  # fmt: skip
    rows = folded(documents, scores, ratings, folds, seed, DIVISIONS)
    if rows is None:
        return None
    fitted = _cross_fitted(rows)
    before, mean, after = (
        rows.summed(np.abs(values - rows.ratings))
        for values in (rows.scores, fitted.means, fitted.values)
    )
    counts = rows.summed(np.ones(rows.pairs.size))

    def ratio(above: Floats, below: Floats) -> Measured:
        return ratio_of_sums(above, below, resamples, seed, fitted.pairs)

    document = rows.document[rows.pairs]
    no_systems = np.zeros_like(document)  # the sample level asks for none

    def spearman(values: Floats) -> Measured:
        table = table_of(document, no_systems, values[rows.pairs], rows.ratings[rows.pairs])
        correlations = document_correlations(table, "spearman")[0]
        mean, n = float(means_of(correlations)), int(np.isfinite(correlations).sum())
        return Measured(mean if n else None, *interval(mean, correlations, "sample"), n)

    return Calibration(
        fitted=fitted,
        error_before=ratio(before, counts),
        error_of_mean=ratio(mean, counts),
        error_after=ratio(after, counts),
        less=ratio(mean - after, mean),
        spearman_before=spearman(rows.scores),
        spearman_after=spearman(fitted.values),
    )


def _cross_fitted(rows: Folded) -> CrossFitted:
    whole, mean_of_all = _fitted(rows, rows.pairs)
    values, means = np.zeros((2, rows.scores.size))
    maps = []
    for fold in range(rows.fold.shape[0] * rows.folds):
        inside = rows.inside(fold)
        learned, mean = _fitted(rows, rows.elsewhere(fold))
        values[inside] += learned.calibrated(rows.scores[inside])
        means[inside] += mean
        maps.append(learned)
    values, means = values / rows.fold.shape[0], means / rows.fold.shape[0]
    without = rows.fold[0] < 0
    values[without], means[without] = whole.calibrated(rows.scores[without]), mean_of_all
    return CrossFitted(
        values=values,
        means=means,
        maps=tuple(maps),
        whole=whole,
        fold=rows.fold,
        folds=rows.folds,
        documents=rows.documents,
        pairs=int(rows.pairs.sum()),
    )


def _fitted(rows: Folded, on: Rows) -> tuple[Isotonic, float]:
    mean = float(np.sort(rows.ratings[on]).mean())
    return fit_isotonic(rows.scores[on], rows.ratings[on]), mean


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
    """The threshold from one row per candidate, NaN where unscored or unrated."""
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
    least = np.array([np.inf if threshold is None else threshold for threshold in thresholds])
    selected = rows.pairs & (rows.scores >= least[rows.fold[0]])
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
