"""How far can a calibrated score be from the rating of its text? An interval for a single text.

    >>> conformal(documents, systems, scores, ratings).intervals(["d1"], ["A"], [3.1])
    (array([3.]), array([5.]))

Of a random text of a new document, with a random rating, at least the nominal share of intervals
holds the rating, over all documents and texts (marginally: not among the lowest scores alone, say).
The ends are ratings that there can be: where all ratings are whole numbers, these; else, hundredths
of the range of the ratings. No end is beyond the lowest and the highest rating.

The interval is that of CV+ (Barber, Candès, Ramdas and Tibshirani 2021): documents are divided into
folds, a rising map (agreement/calibration.py) is fitted on all folds but one, and the residuals of
the documents left out say how far this map is off, in units of the spread of the ratings at the
score (as in Lei, G'Sell, Rinaldo, Tibshirani and Wasserman 2018): without it, intervals are too
short where scores say little, and too long elsewhere. Texts of a document depend on each other, so
a document is one draw: each of its residuals weighs 1 / its number of texts, beside an infinite one
for the new document (Lee, Barber and Willett 2023). With d documents, 1 / (d + 1) of the weight is
infinite: fewer than 19 cannot say anything at 95%, and each interval is the whole range. What is
proven of CV+ at 95% is a coverage near 90% in the worst case; it is 95% where a map changes little
if a fold is left out, as it is in the simulations of benches/promises_intervals.py.

A system with ENOUGH rated documents has intervals of its own: the residuals of its texts alone.
Intervals of a rated document come from the other documents, so the coverage on the ratings is that
on new documents.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evaljudge.agreement.calibration import Isotonic, fit_isotonic
from evaljudge.agreement.documents import Folded, Rows, folded
from evaljudge.agreement.pairs import Codes, Floats

CONFIDENCE = 0.95
FOLDS = 5
FEWEST = 3  # documents: a map and its residuals are of others than the one that the interval is for
ENOUGH = 40
"""Documents with a rated text of a system: of 19, an interval ends at the largest residual."""
BINS, BIN, PRIOR = 10, 20, 2
"""The spread is fitted in at most so many bins of at least so many texts, and each bin counts as if
it had so many more texts with the spread of all."""
PARTS = 100
ALL = ""  # the residuals of all systems
_ROUNDING = 1e-9
Names = NDArray[np.object_]


@dataclass(frozen=True, slots=True)
class Covered:
    """How often a random text of a random document was covered in cross-validation."""

    scorer: str = field(default="", kw_only=True)  # empty until the caller names it
    axis: str = field(default="", kw_only=True)
    confidence: float = field(kw_only=True)
    system: str  # ALL: of every system
    documents: int
    coverage: float
    width: float  # the mean


@dataclass(frozen=True)
class Residuals:
    """The residuals of held-out texts, by the map that was fitted without them."""

    sizes: Sequence[Floats]  # rising
    weights: Sequence[Floats]  # the sum over this one and all larger ones; then 0
    infinite: float


@dataclass(frozen=True)
class Map:
    """The mean rating at each score, and how far ratings are from it there."""

    mean: Isotonic
    scores: Floats  # the mean of each bin, rising
    spreads: Floats

    def spread(self, scores: Floats) -> Floats:
        return np.interp(scores, self.scores, self.spreads)


def fit_map(scores: Floats, ratings: Floats) -> Map:
    order = np.lexsort([ratings, scores])  # so that the order of the rows changes nothing
    scores, ratings = scores[order], ratings[order]
    mean = fit_isotonic(scores, ratings)
    residuals = np.abs(ratings - mean.calibrated(scores))
    bins = max(1, min(BINS, scores.size // BIN))
    edges = np.quantile(scores, np.arange(1, bins) / bins)
    places = np.searchsorted(edges, scores, side="right")
    _, place, texts = np.unique(places, return_inverse=True, return_counts=True)
    usual = float(residuals.mean()) or 1.0
    spreads = (np.bincount(place, residuals) + PRIOR * usual) / (texts + PRIOR)
    return Map(mean, np.bincount(place, scores) / texts, spreads)


@dataclass(frozen=True)
class Predictor:
    maps: Sequence[Map]
    residuals: Mapping[str, Residuals]

    def ends(self, system: str, scores: Floats, scale: Floats, alpha: float) -> tuple[Codes, Codes]:
        """The places on the scale where intervals begin and end."""
        residuals = self.residuals.get(system, self.residuals[ALL])
        of_maps = residuals.sizes, residuals.weights
        means = [(fitted.mean.calibrated(scores), fitted.spread(scores)) for fitted in self.maps]

        def is_reached(places: Codes, sign: int) -> Rows:
            weight = np.full(scores.size, residuals.infinite)
            for (mean, spread), sizes, weights in zip(means, *of_maps, strict=True):
                distances = sign * (mean - scale[places]) / spread
                weight += weights[np.searchsorted(sizes, distances - _ROUNDING)]
            return weight > alpha

        highest = scale.size - 1
        low = _first(lambda at: is_reached(at, 1), scores.size, highest)
        high = highest - _first(lambda at: is_reached(highest - at, -1), scores.size, highest)
        return np.minimum(low, high), np.maximum(low, high)


@dataclass(frozen=True)
class Conformal:
    confidence: float
    scale: Floats  # the values at which an interval may end, rising
    is_whole: bool  # whether all ratings are whole numbers, and so the ends
    predictors: Sequence[Predictor] = field(repr=False)
    """The predictor for each fold's documents, from all others; then, for any other document."""
    fold_of: Mapping[object, int] = field(repr=False)
    """The fold of each document with a score and a rating."""
    own: frozenset[str]  # systems with intervals of their own
    documents: int
    covered: Sequence[Covered] = ()  # all systems together, then each of `own`

    def intervals(
        self, documents: Sequence[object], systems: Sequence[str], scores: ArrayLike
    ) -> tuple[Floats, Floats]:
        """The interval of each row; NaN where there is no score."""
        values = np.asarray(scores, dtype=np.float64)
        places: dict[tuple[int, str], list[int]] = {}
        for row in np.flatnonzero(np.isfinite(values)).tolist():
            fold = self.fold_of.get(documents[row], -1)
            system = systems[row] if systems[row] in self.own else ALL
            places.setdefault((fold, system), []).append(row)
        low, high = np.full((2, values.size), np.nan)
        alpha, beyond = 1 - self.confidence, 0 if self.is_whole else 1
        for (fold, system), at in places.items():
            first, last = self.predictors[fold].ends(system, values[at], self.scale, alpha)
            low[at] = self.scale[np.maximum(first - beyond, 0)]
            high[at] = self.scale[np.minimum(last + beyond, self.scale.size - 1)]
        return low, high


def conformal(
    documents: ArrayLike, systems: ArrayLike, scores: ArrayLike, ratings: ArrayLike, *,
    confidence: float = CONFIDENCE, seed: int = 0,
) -> Conformal | None:  # fmt: skip
    """Intervals from one row per candidate, NaN where unscored or unrated."""
    rows = folded(documents, scores, ratings, FOLDS, seed)
    if rows is None or rows.documents < FEWEST:
        return None
    names, of_systems = np.asarray(documents), np.asarray(systems, dtype=object)
    own_systems = frozenset(
        str(system)
        for system in set(of_systems[rows.pairs])
        if np.unique(rows.document[rows.pairs & (of_systems == system)]).size >= ENOUGH
    )
    fold = rows.fold[0]
    scale, is_whole = _scale(rows.ratings[rows.pairs])
    made = Conformal(
        confidence=confidence,
        scale=scale,
        is_whole=is_whole,
        predictors=_predictors(rows, of_systems, own_systems),
        fold_of=dict(zip(names[fold >= 0].tolist(), fold[fold >= 0].tolist(), strict=True)),
        own=own_systems,
        documents=rows.documents,
    )
    return replace(made, covered=tuple(_covered(made, rows, names, of_systems)))


def _scale(ratings: Floats) -> tuple[Floats, bool]:
    low, high = float(ratings.min()), float(ratings.max())
    is_whole = high - low <= PARTS and bool(np.all(ratings == np.round(ratings)))
    parts = int(high - low) if is_whole else PARTS
    ends: Floats = np.linspace(low, high, parts + 1).astype(np.float64)
    return ends.round() if is_whole else ends, is_whole


def _predictors(rows: Folded, systems: Names, own_systems: frozenset[str]) -> list[Predictor]:
    """The predictors without the documents of each fold; then the one with all."""
    folds = range(rows.folds)
    left_out = [*((fold,) for fold in folds), *combinations(folds, 2)]
    maps = {
        frozenset(some): fit_map(rows.scores[on], rows.ratings[on])
        for some in left_out
        for on in [rows.pairs & ~np.isin(rows.fold[0], some)]
    }
    tested: list[set[int]] = [*({fold} for fold in folds), set()]
    return [_predictor(rows, maps, systems, own_systems, without) for without in tested]


def _predictor(
    rows: Folded, maps: Mapping[frozenset[int], Map], systems: Names, own_systems: frozenset[str],
    without: set[int],
) -> Predictor:  # fmt: skip
    folds = [fold for fold in range(rows.folds) if fold not in without]
    used = [maps[frozenset({fold, *without})] for fold in folds]
    residuals = np.full(rows.scores.size, np.nan)
    for fold, fitted in zip(folds, used, strict=True):
        inside = rows.pairs & rows.inside(fold)
        scores, ratings = rows.scores[inside], rows.ratings[inside]
        residuals[inside] = np.abs(ratings - fitted.mean.calibrated(scores)) / fitted.spread(scores)
    present = np.isfinite(residuals)
    of_system = {ALL: present} | {system: present & (systems == system) for system in own_systems}
    return Predictor(
        used,
        {system: _residuals(rows, residuals, some, folds) for system, some in of_system.items()},
    )


def _residuals(rows: Folded, residuals: Floats, some: Rows, folds: Sequence[int]) -> Residuals:
    counts = np.bincount(rows.document[some], minlength=rows.documents)
    draws = int(np.sum(counts > 0)) + 1
    sizes, weights = [], []
    for fold in folds:
        inside = some & rows.inside(fold)
        order = np.argsort(residuals[inside])
        weight = 1 / (draws * counts[rows.document[inside]][order])
        sizes.append(residuals[inside][order])
        weights.append(np.append(weight[::-1].cumsum()[::-1], 0.0))
    return Residuals(sizes, weights, 1 / draws)


def _first(is_reached: Callable[[Codes], Rows], number: int, highest: int) -> Codes:
    """The first place from which it is reached, found by bisection; `highest` where it never is."""
    low, high = np.zeros(number, dtype=np.int64), np.full(number, highest, dtype=np.int64)
    for _ in range(highest.bit_length()):
        middle = (low + high) // 2
        reached = is_reached(middle)
        low = np.where(reached, low, np.minimum(middle + 1, high))
        high = np.where(reached, middle, high)
    return low


def _covered(made: Conformal, rows: Folded, documents: Names, systems: Names) -> Iterator[Covered]:
    low, high = made.intervals(documents.tolist(), systems.tolist(), rows.scores)
    held = ((low <= rows.ratings) & (rows.ratings <= high)).astype(np.float64)
    for system in [ALL, *sorted(made.own)]:
        some = rows.pairs if system == ALL else rows.pairs & (systems == system)
        counts = np.bincount(rows.document[some], minlength=rows.documents)
        weights = 1 / counts[rows.document[some]]
        number = int(np.sum(counts > 0))
        coverage, width = (
            float(np.sort(weights * x[some]).sum() / number) for x in (held, high - low)
        )
        yield Covered(system, number, coverage, width, confidence=made.confidence)
