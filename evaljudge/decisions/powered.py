"""Prediction-powered inference with power tuning (PPI++: Angelopoulos, Duchi and Zrnic 2023).

    corrected = mean of the labels' ratings
              + slope * (mean score of all texts - mean score of the labelled texts)

The slope is chosen so that the variance is least, in sum over the estimates asked for.

Three things differ from the authors' package:
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

Texts are all scored and in part rated. Labels are the ratings of texts that are scored, too. They
were drawn at random, either alike for all texts of a system (for all texts, where some system has
few labels), or with the probabilities given: a label drawn with probability 0.1 then stands for ten
texts. A rated text without a probability was not drawn, so it is no label.
"""

from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from evaljudge.agreement.documents import reach, two_sided
from evaljudge.agreement.rated import Floats

UNLIKE = 3
"""Labelled documents whose rating is not the most common one; of fewer, no interval holds what it
promises: ratings that are nearly all equal hide how low the rare others are."""
Bools = NDArray[np.bool_]
FEWEST = 6  # labels of a system below which nothing is estimated: their spread is hardly known


@dataclass(frozen=True, slots=True)
class Bounded:
    """A value with its 95% interval; None where too few ratings, or too few different ones."""

    value: float | None
    low: float | None
    high: float | None


NOTHING = Bounded(None, None, None)


class Terms:
    """What every estimate of a sample is made of."""

    def __init__(self, sample: "Labelled") -> None:
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
        return np.sqrt((self.labels - 1) / self.labels)


@dataclass(frozen=True)
class Powered:
    slope: float
    by_labels: "Combined"
    corrected: "Combined"

    def effective(self, labels: int) -> float | None:
        """The number of labels alone that would be as exact, over all estimates together."""
        alone, corrected = (side.variances.sum() for side in (self.by_labels, self.corrected))
        return float(labels * alone / corrected) if corrected > 0 else None


def powered(terms: Terms, sums: Floats, tuned_for: Floats) -> Powered:
    """Both matrices hold a column of factors, one for each system, for each sum of their means."""
    slope, influences = _tuned(terms, tuned_for)
    by_labels = _combined(terms, 0.0, np.zeros_like(influences), sums)
    return Powered(slope, by_labels, _combined(terms, slope, influences, sums))


def powered_together(sample: "Labelled") -> Powered:
    """The mean of all texts."""
    ones = np.ones((1, 1))
    return powered(Terms(sample.together()), ones, ones)


@dataclass(frozen=True)
class Combined:
    values: Floats
    variances: Floats
    free: Floats
    is_known: Bools  # whether the labels tell the variance

    def intervals(self) -> list[Bounded]:
        halves = reach(np.sqrt(self.variances), self.free)
        return [
            Bounded(float(value), float(value - by), float(value + by))
            if sure
            else Bounded(float(value), None, None)
            for value, by, sure in zip(self.values, halves, self.is_known, strict=True)
        ]

    def ps(self) -> list[float | None]:
        errors = np.sqrt(np.where(self.is_known, self.variances, 1.0))
        ps = two_sided(self.values, errors, self.free)
        return [float(p) if sure else None for p, sure in zip(ps, self.is_known, strict=True)]


def _tuned(terms: Terms, sums: Floats) -> tuple[float, Floats]:
    """The slope that makes a sum of variances least, one for each column of `sums`, and the
    influence of each document on it."""
    by_rating = terms.shares * terms.by_rating @ sums
    by_gap = (terms.by_text / terms.texts - terms.shares * terms.by_label) @ sums
    together, alone = (-by_rating * by_gap).sum(axis=1), (by_gap**2).sum(axis=1)
    spread = float(alone.sum())
    if spread <= terms.rounding**2:
        return 0.0, np.zeros_like(alone)
    value = float(together.sum()) / spread
    left = spread - alone
    is_alone = left <= terms.rounding**2  # without this document there would be no slope
    rest = np.where(is_alone, 1.0, left)
    return value, np.where(is_alone, value, (together - value * alone) / rest)


def _combined(terms: Terms, slope: float, by_document: Floats, sums: Floats) -> Combined:
    """Sums of the systems' means at one slope: a column of factors in `sums` for each."""
    means = terms.ratings + slope * terms.gaps
    residuals = terms.by_rating - slope * terms.by_label
    by_score = slope * terms.by_text / terms.texts
    gaps = terms.gaps + terms.without * terms.by_label - terms.by_text / terms.texts
    by_slope = by_document[:, None] * gaps
    influences = terms.few * terms.without * residuals + by_score + by_slope
    squares = (influences @ sums) ** 2
    variances = squares.sum(axis=0)
    # a variance up to this is that of numbers which are all equal
    rounding = (1e-9 * (np.abs(terms.ratings) + np.abs(means)) @ np.abs(sums)) ** 2
    is_known = variances > rounding
    is_part = sums != 0
    is_known &= np.sum(terms.is_unlike @ is_part, axis=0) >= UNLIKE
    is_labelled = terms.is_labelled @ is_part
    is_other = (terms.is_unlabelled @ is_part) & ~is_labelled
    weights = terms.shares**2 @ sums**2
    labels = weights.sum(axis=0) ** 2 / (weights**2).sum(axis=0)
    free = _satterthwaite(
        (squares * ~is_other).sum(axis=0),
        (squares * is_other).sum(axis=0),
        labels - (2 if slope else 1),
        is_other.sum(axis=0) - 1.0,
    )
    return Combined(means @ sums, variances, free, is_known)


def _unlike(sample: "Labelled") -> Bools:
    """Labels whose rating is not the most common one of their system."""
    is_unlike = sample.is_labelled.copy()
    for system, is_labelled in enumerate(sample.is_labelled.T):
        values, counts = np.unique(sample.ratings[is_labelled, system], return_counts=True)
        is_unlike[:, system] &= sample.ratings[:, system] != values[counts.argmax()]
    return is_unlike


def _satterthwaite(left: Floats, right: Floats, of_left: Floats, of_right: Floats) -> Floats:
    """Degrees of freedom of the sum of two variances, from theirs."""
    both = left**2 / np.maximum(of_left, 1.0) + right**2 / np.maximum(of_right, 1.0)
    free: Floats = np.ones_like(both)
    np.divide((left + right) ** 2, both, out=free, where=both > 0)
    return free


def p_random(terms: Terms) -> float | None:
    """A t test of the labelled texts' mean score against all texts', over the systems together."""
    influences = terms.few * terms.without * -terms.by_label + terms.by_text / terms.texts
    by_document = influences.sum(axis=1)
    free = int(np.sum(terms.is_labelled.any(axis=1))) - 1
    error = float(np.sqrt(np.sum(by_document**2)))
    if error <= terms.rounding or free < 1:
        return None
    return float(two_sided(float(terms.gaps.sum()), error, free))


@dataclass(frozen=True)
class Labelled:
    """Tables (documents, systems). A cell is one text, or those of a document together."""

    is_scored: Bools
    is_labelled: Bools
    scores: Floats  # 0 where unscored
    labelled_scores: Floats  # 0 where not labelled
    ratings: Floats  # 0 where not labelled
    sizes: Floats  # how many texts a cell has
    weights: Floats  # how many texts a label stands for; 0 where not labelled

    @property
    def texts(self) -> Floats:
        """How many each system has."""
        return self.sizes.sum(axis=0)

    @property
    def labels(self) -> Floats:
        """How many labelled cells each system has."""
        return self.is_labelled.sum(axis=0, dtype=np.float64)

    @property
    def is_part(self) -> bool:
        return bool(0 < self.is_labelled.sum() < self.is_scored.sum())

    def of(self, systems: Bools) -> "Labelled":
        return Labelled(*(getattr(self, table.name)[:, systems] for table in fields(self)))

    @property
    def is_of_all(self) -> bool:
        """Whether there are labels enough, and no system lacks them that would have some by chance.

        Else the labels say nothing of all texts together.
        """
        expected = self.texts * self.labels.sum() / max(float(self.texts.sum()), 1.0)
        lacking = (self.labels == 0) & (expected >= FEWEST)
        return bool(self.is_labelled.any(axis=1).sum() >= FEWEST and not lacking.any())

    def together(self) -> "Labelled":
        """One column: of each document, the means of its texts and of its labels."""
        sizes, weights = self.sizes.sum(axis=1), self.weights.sum(axis=1)

        def mean(values: Floats, by: Floats, total: Floats) -> Floats:
            means: Floats = (by * values).sum(axis=1) / np.where(total > 0, total, 1.0)
            return means[:, None]

        return Labelled(
            np.any(self.is_scored, axis=1, keepdims=True),
            np.any(self.is_labelled, axis=1, keepdims=True),
            mean(self.scores, self.sizes, sizes),
            mean(self.labelled_scores, self.weights, weights),
            mean(self.ratings, self.weights, weights),
            sizes[:, None],
            weights[:, None],
        )


def labelled(scores: Floats, human: Floats, probabilities: Floats | None = None) -> Labelled:
    """The labels in tables (documents, systems), NaN where unscored, unrated or not drawn."""
    is_scored = np.isfinite(scores)
    is_labelled = is_scored & np.isfinite(human)
    if probabilities is None:
        probabilities = np.broadcast_to(_shares(is_labelled, is_scored), scores.shape)
    else:
        is_labelled &= probabilities > 0
    return Labelled(
        is_scored,
        is_labelled,
        np.where(is_scored, scores, 0.0),
        np.where(is_labelled, scores, 0.0),
        np.where(is_labelled, human, 0.0),
        is_scored.astype(np.float64),
        np.where(is_labelled, 1 / np.where(is_labelled, probabilities, 1.0), 0.0),
    )


def _shares(is_labelled: Bools, is_scored: Bools) -> Floats:
    """The share of each system's texts with a label; of all, where a system has few labels."""
    labels, texts = is_labelled.sum(axis=0), is_scored.sum(axis=0)
    if np.any((labels < FEWEST) & (texts > 0)):
        labels, texts = labels.sum(keepdims=True), texts.sum(keepdims=True)
    return labels / np.maximum(texts, 1)
