"""Prediction-powered inference with power tuning (PPI++: Angelopoulos, Duchi and Zrnic 2023).

    corrected = mean of the labels' ratings
              + slope * (mean score of all texts - mean score of the labelled texts)

The slope is chosen so that the variance is least, in sum over the estimates asked for.

Three things differ from the authors' package (`as_published` is as they have it):
- Labelled texts count among all texts. With labels drawn alike that is the same estimate, with
  slope * N / (n + N) for their lambda; a split into labelled and unlabelled texts does not allow
  for probabilities.
- The slope is not confined to [0, 1], since scores may be on another scale. It is a regression's on
  the labelled texts, where theirs divides by the variance of all scores and so misses even the
  slope of a judge that is exact.
- Intervals have Student's t, delete-one-document influences and a term for the slope's own error:
  with 10 labelled documents theirs are too narrow (benches/promises_people_scale.py).

Variances are of sums over documents, since texts of one document depend on each other. Degrees of
freedom are Satterthwaite's, of what labelled documents and what the other documents contribute.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import stats

from evaljudge.agreement.rated import Floats
from evaljudge.decisions.labelled import Bools, Labelled

LEVEL = 0.95
UNLIKE = 3
"""Labelled documents whose rating is not the most common one; of fewer, no interval holds what it
promises: ratings that are nearly all equal hide how low the rare others are."""


@dataclass(frozen=True, slots=True)
class Bounded:
    """A value with its 95% interval; None where too few ratings, or too few different ones."""

    value: float | None
    low: float | None
    high: float | None


NOTHING = Bounded(None, None, None)


class Terms:
    """What every estimate of a sample is made of."""

    def __init__(self, sample: Labelled) -> None:
        self.is_labelled: Bools = sample.is_labelled
        self.is_unlabelled: Bools = sample.is_scored & ~sample.is_labelled
        self.texts, self.labels = sample.texts, sample.labels
        total = sample.weights.sum(axis=0)
        self.shares = sample.weights / total
        self.without = sample.weights / (total - sample.weights)
        """A label's share of what is left when it is left out."""
        self.ratings = (self.shares * sample.ratings).sum(axis=0)
        self.labelled_scores = (self.shares * sample.labelled_scores).sum(axis=0)
        self.scores = (sample.sizes * sample.scores).sum(axis=0) / self.texts
        self.gaps = self.scores - self.labelled_scores
        self.is_unlike = _unlike(sample)
        self.by_rating = np.where(sample.is_labelled, sample.ratings - self.ratings, 0.0)
        self.by_label = np.where(
            sample.is_labelled, sample.labelled_scores - self.labelled_scores, 0.0
        )
        self.by_text = sample.sizes * (sample.scores - self.scores)

    @property
    def rounding(self) -> float:
        """A standard error of scores up to this is that of scores which are all equal."""
        return 1e-9 * float(np.max(np.abs(self.scores), initial=0.0))

    @property
    def few(self) -> Floats:
        """Delete-one influences overstate a variance by n / (n - 1)."""
        factor: Floats = np.sqrt((self.labels - 1) / self.labels)
        return factor


@dataclass(frozen=True)
class Powered:
    """Estimates from the labels alone, and corrected with all scores."""

    slope: float
    by_labels: Combined
    corrected: Combined

    def effective(self, labels: int) -> float | None:
        """As many labels alone would be as exact, over all estimates together."""
        alone, corrected = (one.variances.sum() for one in (self.by_labels, self.corrected))
        return float(labels * alone / corrected) if corrected > 0 else None


def powered(terms: Terms, of: Floats, tuned_for: Floats, as_published: bool = False) -> Powered:
    """Both matrices hold a column of factors, one for each system, for each sum of their means."""
    slope = _tuned(terms, tuned_for, as_published)
    none = _Slope(0.0, np.zeros_like(slope.influences))
    by_labels, corrected = (_Means(terms, one, as_published).combined(of) for one in (none, slope))
    return Powered(slope.value, by_labels, corrected)


def powered_together(sample: Labelled) -> Powered:
    """The mean of all texts."""
    one = np.ones((1, 1))
    return powered(Terms(sample.together()), one, one)


@dataclass(frozen=True)
class Combined:
    values: Floats
    variances: Floats
    free: Floats
    is_known: Bools
    """Whether the labels tell the variance."""

    def intervals(self) -> list[Bounded]:
        reach = stats.t.ppf((1 + LEVEL) / 2, self.free) * np.sqrt(self.variances)
        return [
            Bounded(float(value), float(value - by), float(value + by))
            if known
            else Bounded(float(value), None, None)
            for value, by, known in zip(self.values, reach, self.is_known, strict=True)
        ]

    def ps(self) -> list[float | None]:
        """That the value is 0."""
        errors = np.sqrt(np.where(self.is_known, self.variances, 1.0))
        ps = 2 * stats.t.sf(np.abs(self.values) / errors, self.free)
        return [float(p) if known else None for p, known in zip(ps, self.is_known, strict=True)]


@dataclass(frozen=True)
class _Slope:
    """`influences`: of each document."""

    value: float
    influences: Floats


def _tuned(terms: Terms, of: Floats, as_published: bool) -> _Slope:
    """The slope that makes a sum of variances least, one for each column of `of`."""
    by_rating = terms.shares * terms.by_rating @ of
    by_gap = (terms.by_text / terms.texts - terms.shares * terms.by_label) @ of
    together, alone = (-by_rating * by_gap).sum(axis=1), (by_gap**2).sum(axis=1)
    spread = float(alone.sum())
    if as_published:
        variances = (terms.by_text**2).sum(axis=0) / (terms.texts - 1)
        spread = float(np.sum(variances * (1 / terms.labels - 1 / terms.texts)))
    if spread <= terms.rounding**2:
        return _Slope(0.0, np.zeros_like(alone))
    value = float(together.sum()) / spread
    left = spread - alone
    is_alone = left <= terms.rounding**2  # without this document there would be no slope
    rest = np.where(is_alone, 1.0, left)
    return _Slope(value, np.where(is_alone, value, (together - value * alone) / rest))


class _Means:
    """The systems' means at one slope, with the influence of each document on each of them."""

    def __init__(self, terms: Terms, slope: _Slope, as_published: bool) -> None:
        self._terms, self._is_normal = terms, as_published
        self._parameters = 2 if slope.value else 1
        self.values = terms.ratings + slope.value * terms.gaps
        residuals = terms.by_rating - slope.value * terms.by_label
        by_score = slope.value * terms.by_text / terms.texts
        if as_published:
            self.influences = _centred(terms, by_score) + terms.shares * residuals
        else:
            gaps = terms.gaps + terms.without * terms.by_label - terms.by_text / terms.texts
            by_slope = slope.influences[:, None] * gaps
            self.influences = terms.few * terms.without * residuals + by_score + by_slope

    def combined(self, of: Floats) -> Combined:
        """A column of `of` for each sum of the systems' means: the factor of each system."""
        terms = self._terms
        squares = (self.influences @ of) ** 2
        variances = squares.sum(axis=0)
        is_known = variances > self._rounding(of)
        if self._is_normal:
            return Combined(self.values @ of, variances, np.full_like(variances, np.inf), is_known)
        is_part = of != 0
        is_known &= np.sum(terms.is_unlike @ is_part, axis=0) >= UNLIKE
        is_labelled = terms.is_labelled @ is_part
        is_other = (terms.is_unlabelled @ is_part) & ~is_labelled
        weights = terms.shares**2 @ of**2
        labels = weights.sum(axis=0) ** 2 / (weights**2).sum(axis=0)
        free = _satterthwaite(
            (squares * ~is_other).sum(axis=0),
            (squares * is_other).sum(axis=0),
            labels - self._parameters,
            is_other.sum(axis=0) - 1.0,
        )
        return Combined(self.values @ of, variances, free, is_known)

    def _rounding(self, of: Floats) -> Floats:
        """A variance up to this is that of numbers which are all equal."""
        size = np.abs(self._terms.ratings) + np.abs(self.values)
        rounding: Floats = (1e-9 * size @ np.abs(of)) ** 2
        return rounding


def _unlike(sample: Labelled) -> Bools:
    """Labels whose rating is not the most common one of their system."""
    is_unlike = sample.is_labelled.copy()
    for system, is_labelled in enumerate(sample.is_labelled.T):
        values, counts = np.unique(sample.ratings[is_labelled, system], return_counts=True)
        is_unlike[:, system] &= sample.ratings[:, system] != values[counts.argmax()]
    return is_unlike


def _satterthwaite(one: Floats, other: Floats, of_one: Floats, of_other: Floats) -> Floats:
    """Degrees of freedom of the sum of two variances, from theirs."""
    both = one**2 / np.maximum(of_one, 1.0) + other**2 / np.maximum(of_other, 1.0)
    free: Floats = np.ones_like(both)
    np.divide((one + other) ** 2, both, out=free, where=both > 0)
    return free


def _centred(terms: Terms, by_score: Floats) -> Floats:
    """Apart for labelled and unlabelled texts, as where each set is a sample of its own."""
    centred = np.zeros_like(by_score)
    for among in (terms.is_labelled, terms.is_unlabelled):
        means = (by_score * among).sum(axis=0) / np.maximum(among.sum(axis=0), 1)
        centred += np.where(among, by_score - means, 0.0)
    return centred


def p_random(terms: Terms) -> float | None:
    """A t test of the labelled texts' mean score against all texts', over the systems together."""
    influences = terms.few * terms.without * -terms.by_label + terms.by_text / terms.texts
    by_document = influences.sum(axis=1)
    free = int(np.sum(terms.is_labelled.any(axis=1))) - 1
    error = float(np.sqrt(np.sum(by_document**2)))
    if error <= terms.rounding or free < 1:
        return None
    return float(2 * stats.t.sf(abs(float(terms.gaps.sum())) / error, free))
