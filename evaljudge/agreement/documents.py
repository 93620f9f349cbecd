"""Documents as what is counted, since texts of one document are not independent: intervals and p.

Parts: a statistic is written as the mean of one part for each document, or for each group of
documents; then its interval is Student's t. parts [.2 .6 .7 .5] -> value .5, 95% [.091, .764]

- at sample level, the documents' own correlations; a document without one has no part;
- elsewhere the jackknife's, from the statistic without each group: value + (G - 1) (their mean -
  the one without this group). There are as many groups as documents, and at most MOST_GROUPS (at
  system level ten), to which documents are dealt like cards.

Two statistics of the same texts differ by the mean of the differences of their parts.

Resampling: documents are drawn with replacement, and the interval is that of the percentiles. Two
documents where the first won 3 of 4 votes and 1 of 4: ratio_of_sums([3, 1], [4, 4], …) -> 0.5, from
0.25 to 0.75

Whole documents divided into folds, so that what is fitted on the others is tested on each.

documents [7 7 9 4], ratings [3 nan 2 5], all scored, 2 folds -> 7, 9 and 4 in folds 0, 1, 0

Only documents with a pair (a score and a rating) get a fold, in the order of a hash of the seed,
the division and the document's name: the order of the rows changes nothing. Each of several
divisions draws anew, and the numbers of the folds run on. Where every fold is one document all
divisions are alike, so there is one.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from hashlib import sha256
from math import atanh, sqrt, tanh
from typing import Literal, ParamSpec, TypeVar, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import stdtr, stdtrit
from threadpoolctl import ThreadpoolController

from evaljudge.agreement.coefficients import BUDGET, COEFFICIENTS, Coefficient, quotient
from evaljudge.agreement.pairs import Codes, Floats

Level = Literal["sample", "system", "summary"]
LEVELS: tuple[Level, ...] = get_args(Level)
ALPHA = 0.05
TAILS = (2.5, 97.5)
EQUAL = 1e-9  # correlations that differ by less do so by rounding
ROUNDING = 1e-12  # a standard error that is no larger, relative to the value, is rounding
_LIBRARIES = ThreadpoolController()  # those loaded by now: numpy's and scipy's
P = ParamSpec("P")
R = TypeVar("R")
Spread = tuple[float | None, float | None, float | None]  # a value and its 95% interval


@dataclass(frozen=True, slots=True)
class Estimate:
    level: Level
    coefficient: Coefficient
    value: float  # NaN where undefined
    parts: Floats  # of documents or of groups of them; NaN where there is none
    n: int  # the units behind the value
    skipped: int
    sampled: bool
    epsilon: float  # for `accuracy`: scores no further apart are tied


@dataclass(frozen=True, slots=True)
class Estimates:
    """A level's statistics: for each comparison and coefficient."""

    level: Level
    values: Floats  # (comparisons, coefficients); NaN where undefined
    parts: Floats  # (comparisons, coefficients, documents or groups); NaN where there is none
    units: Codes  # (comparisons, coefficients): what is behind the value
    skipped: Codes  # likewise: what was left out
    epsilons: Floats  # (comparisons): scaled scores no further apart are tied for `accuracy`
    sampled: bool = False

    def of(self, place: int, coefficient: Coefficient, exponent: int) -> Estimate:
        """The estimate of a comparison whose scores are scaled by this power of two."""
        at = place, COEFFICIENTS.index(coefficient)
        with np.errstate(over="ignore"):  # infinite: scores are further apart than a float says
            epsilon = float(np.ldexp(float(self.epsilons[place]), exponent))
        return Estimate(
            level=self.level,
            coefficient=coefficient,
            value=float(self.values[at]),
            parts=self.parts[at],
            n=int(self.units[at]),
            skipped=int(self.skipped[at]),
            sampled=self.sampled,
            epsilon=epsilon,
        )


def jackknifed(values: Floats, without: Floats) -> Floats:
    """The parts, from the statistics and (along a further, last axis) those without each group.

    A group without which the statistic is undefined has no part; no group has one where these are
    more than half.
    """
    defined = np.isfinite(without)
    count = defined.sum(axis=-1, keepdims=True)
    mean = quotient(np.where(defined, without, 0.0).sum(axis=-1, keepdims=True), count * 1.0)
    enough = (2 * count >= without.shape[-1]) & (count > 1)
    parts: Floats = values[..., None] + (count - 1) * (mean - without)
    return np.where(enough, parts, np.nan)


def means(parts: Floats) -> Floats:
    """Along the last axis; NaN where there is no part."""
    defined = np.isfinite(parts)
    return quotient(np.where(defined, parts, 0.0).sum(axis=-1), defined.sum(axis=-1) * 1.0)


def mean_parts(parts: Floats) -> Floats:
    """The parts of the mean of several statistics (the first axis), which may lack some documents.

    A document weighs for each as it does there: [[1 2 3] [5 nan 7]] -> means 2 and 6, 4 together;
    parts [2.75 4 5.25]
    """
    defined = np.isfinite(parts)
    present = defined.any(axis=0)
    value = means(parts)[..., None]
    share = quotient(present.sum(axis=-1, keepdims=True), defined.sum(axis=-1, keepdims=True) * 1.0)
    moved = np.where(defined, parts - value, 0.0) * share
    return np.where(present, (value + moved).mean(axis=0), np.nan)


def error(parts: Floats) -> tuple[float, int]:
    """The standard error of their mean, NaN of fewer than two, and how many there are."""
    finite = parts[np.isfinite(parts)]
    if finite.size < 2:
        return float("nan"), finite.size
    return float(finite.std(ddof=1)) / sqrt(finite.size), finite.size


def reach(error: Floats | float, freedom: Floats | float, choices: int = 1) -> Floats:
    """How far the 95% interval of a value with this error reaches, by Student's t."""
    return np.asarray(stdtrit(freedom, 1 - ALPHA / choices / 2) * error)


def one_sided(value: Floats | float, error: Floats | float, freedom: Floats | float) -> Floats:
    """The p of a value with this error being at least 0, by Student's t.

    Parts that are all alike have no error to judge by: then it is that of their signs alone.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        p = stdtr(freedom, np.divide(value, error))
    by_signs = np.where(np.less(value, 0), 0.5 ** (freedom + 1), 1.0)
    return np.where(error <= ROUNDING * np.abs(value), by_signs, p)


def two_sided(value: Floats | float, error: Floats | float, freedom: Floats | float) -> Floats:
    """The p of a value with this error being 0, likewise."""
    return np.minimum(1.0, 2 * one_sided(-np.abs(value), error, freedom))


def jackknife_error(without: Floats, centre: Floats | float) -> float:
    """The standard error, from the statistics without each document or group of documents."""
    groups = without.size
    return float(np.sqrt((groups - 1) / groups * np.sum((without - centre) ** 2)))


def interval(
    value: float, parts: Floats, level: Level, *, least: float = -1.0, choices: int = 1
) -> tuple[float | None, float | None]:
    """The 95% interval; the best of K `choices` has 1 - .05 / K.

    On Fisher's scale, since correlations vary less the nearer they are to 1: reckoned on their own,
    intervals of the best of ten held it in 86% of worlds with 8 documents. Few systems' means may
    correlate by 1, which that scale does not have; there the interval is cut at 1.

    Documents' correlations that are all alike say nothing of how far others lie: as many others as
    would be missed with a chance of ALPHA / 2 may lie anywhere (six of six have 1: 0.08 to 1). No
    such thing can be said where the jackknife's parts are alike.
    """
    spread, count = error(parts)
    if not np.isfinite(spread) or np.isnan(value):
        return None, None
    if spread < EQUAL:
        if level != "sample":
            return None, None
        others = 1 - (ALPHA / choices / 2) ** (1 / count)
        return value - others * (value - least), value + others * (1 - value)
    half_width = float(reach(spread, count - 1, choices))
    half = (1 - least) / 2
    middle = (value - least) / half - 1  # between -1 and 1
    room = 1 - middle**2
    if level == "system" or room < EQUAL:
        return max(least, value - half_width), min(1.0, value + half_width)
    scaled = half_width / half / room
    ends = atanh(middle) - scaled, atanh(middle) + scaled
    low, high = (least + half * (1 + tanh(end)) for end in ends)
    return min(low, value), max(value, high)


def p_value(difference: float, parts: Floats) -> float | None:
    """Two-sided, that the mean of the parts is 0 but for chance; None of fewer than two."""
    spread, count = error(parts)
    if not np.isfinite(spread):
        return None
    if abs(difference) < EQUAL:
        return 1.0
    return float(two_sided(difference, 0.0 if spread < EQUAL else spread, count - 1))


@dataclass(frozen=True, slots=True)
class Measured:
    value: float | None  # None where undefined
    low: float | None  # 95% bootstrap interval over documents
    high: float | None
    n: int  # what is behind the value: pairs, votes or documents


def multiplicities(units: int, resamples: int, seed: int, block: int) -> Iterator[Floats]:
    """(at most `block`, units) at a time; the draws do not depend on the block."""
    stream = np.random.default_rng(seed)
    evenly = np.full(units, 1.0 / units)
    for start in range(0, resamples, block):
        size = min(block, resamples - start)
        yield stream.multinomial(units, evenly, size=size).astype(np.float64)


def percentiles(values: Floats) -> tuple[float | None, float | None]:
    """Over the resamples where the statistic is defined; None where fewer than half are."""
    defined = values[np.isfinite(values)]
    if defined.size == 0 or 2 * defined.size < values.size:
        return None, None
    low, high = np.percentile(defined, TAILS)
    return float(low), float(high)


def spread(
    statistic: Callable[[Floats], Floats], documents: int, resamples: int, seed: int, width: int = 0
) -> Spread:
    """The value of a statistic over documents, and its interval; each None where undefined.

    `statistic` takes how often each document was drawn, (resamples, documents). `width`: how many
    numbers it holds at once per resample, where these are more than documents.
    """
    value = float(statistic(np.ones((1, documents)))[0])
    if np.isnan(value):
        return None, None, None
    if documents < 2 or resamples < 1:
        return value, None, None
    block = max(1, BUDGET // max(documents, width))
    draws = multiplicities(documents, resamples, seed, block)
    return value, *percentiles(np.concatenate([statistic(some) for some in draws]))


def ratio_of_sums(above: Floats, below: Floats, resamples: int, seed: int, n: int) -> Measured:
    """The ratio of two sums over documents, and its interval; None where the second sum is 0."""
    of_draws = spread(lambda d: quotient(d @ above, d @ below), above.size, resamples, seed)
    return Measured(*of_draws, n=n)


def on_one_thread(statistic: Callable[P, R]) -> Callable[P, R]:
    """One thread for linear algebra: arrays are small, and threads cost more than they bring."""
    limited: Callable[P, R] = _LIBRARIES.wrap(limits=1, user_api="blas")(statistic)
    return limited


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
    scored, rated = (np.asarray(column, dtype=np.float64) for column in (scores, ratings))
    pairs = np.isfinite(scored) & np.isfinite(rated)
    names, place = np.unique(np.asarray(documents), return_inverse=True)
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
