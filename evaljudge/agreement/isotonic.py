"""A map from scores to ratings that never falls: isotonic regression, by pooling what violates it.

scores [1 2 2 3], ratings [1 4 2 2] -> knots 1: 1, 2: 8/3, 3: 8/3; a score of 1.5 is calibrated to
11/6, one of 0 to 1, one of 9 to 8/3

Equal scores are one point, with their ratings' mean. A score between two knots lies on the line
between them; one beyond the last, at the last. The map only rises: of scores that fall where
ratings rise, nothing is left but the mean rating.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from .pairs import Floats


@dataclass(frozen=True, slots=True)
class Isotonic:
    """Knots, in rising order."""

    scores: tuple[float, ...]
    ratings: tuple[float, ...]

    def calibrated(self, scores: ArrayLike) -> Floats:
        """In units of the ratings; NaN where there is no score."""
        given = np.asarray(scores, dtype=np.float64)
        found = np.full(given.shape, np.nan)
        present = np.isfinite(given)
        found[present] = np.interp(given[present], self.scores, self.ratings)
        return found


def fit_isotonic(scores: ArrayLike, ratings: ArrayLike) -> Isotonic:
    """Least squares of the pairs where both are finite; there must be one."""
    from sklearn.isotonic import isotonic_regression

    x, y = (np.asarray(column, dtype=np.float64) for column in (scores, ratings))
    both = np.isfinite(x) & np.isfinite(y)
    if not both.any():
        raise ValueError("no score has a rating: there is nothing to fit")
    # A total order, so that permuting the rows cannot change even the last bit of a sum.
    order = np.lexsort([y[both], x[both]])
    distinct, place, times = np.unique(x[both][order], return_inverse=True, return_counts=True)
    means = np.bincount(place, weights=y[both][order]) / times
    fitted = isotonic_regression(means, sample_weight=times.astype(np.float64))
    # Within a flat stretch its two ends say everything.
    steps = np.diff(fitted) != 0
    ends = np.append(True, steps) | np.append(steps, True)
    return Isotonic(tuple(distinct[ends].tolist()), tuple(fitted[ends].tolist()))
