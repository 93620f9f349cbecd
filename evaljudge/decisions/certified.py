"""Which score must a candidate reach, so that a share of the selected is good, with a guarantee?

    >>> certified(documents, scores, ratings, good=4, target=0.7, confidence=0.95).threshold
    3.25

A candidate is good where people rated it `good` or higher. The precision of a threshold is
E[good selected candidates of a document] / E[selected candidates of a document] over the documents
that the labelled ones were drawn from at random. With probability `confidence` over the labelled
documents, the chosen threshold has at least the target precision (Angelopoulos, Bates, Candès,
Jordan and Lei 2021, "Learn then Test"); how good the scores are does not matter for that.

One threshold. The precision misses the target t where the mean over documents of
x = good selected - t * selected is at most 0. If people rated at most one candidate of each
document, the selected ratings are independent, and an exact binomial test rejects this. Otherwise
the candidates of a document may depend on each other in any way, and a bet on each document in turn
does: the wealth, the product of 1 + stake * x, has an expected value of at most 1 where the target
is missed, so that it ever reaches 1 / (1 - confidence) with probability 1 - confidence at most
(Ville's inequality; Waudby-Smith and Ramdas 2024). The stake is set before a rating is seen. As x
is at least -t * (candidates rated per document), wealth stays positive.

All thresholds. They are tested from a start downwards, each at full level, until the first that is
not certified (a fixed sequence); the last one certified is used. Start and steps follow from the
scores and the numbers of documents and candidates, never from ratings: a start that selects too few
could not be certified by any ratings, and one that selects too many has a low precision. The start
selects as much as is needed to certify a precision at LIKELY of the way from the target to 1.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil, log

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import binom

from evaljudge.agreement.documents import Rows
from evaljudge.agreement.pairs import Codes, Floats

STEP = 1.15  # how many times as many candidates each threshold selects as the one before it
LEAST_SHARE, GREATEST_START = 0.02, 0.5
"""Shares of the candidates: the smallest selection that may be tested, and the largest that may be
tested first, where a smaller one could be certified at all."""
LIKELY, SPARE = 0.7, 1.5
"""The start: where a precision so far from the target is certified by this much more evidence than
needed. Simulated powers differ little between 0.5 and 0.9."""
WITHIN = 0.3
"""The correlation within a document that stakes are made for; a wrong one costs power only."""
MOST_STAKED = 0.95
"""The most of the wealth to lose on a document whose candidates are all selected and bad."""
GROWTH, MOST_TIMES = 1.05, 1000
"""The search for the number of documents needed: its steps, and where it ends."""


@dataclass(frozen=True, slots=True)
class Tested:
    """A threshold, and the rated candidates that reach it."""

    threshold: float
    coverage: float  # share of all scored candidates, rated or not, that are selected
    selected: int
    good: int
    p: float  # for the hypothesis that the precision is below the target


@dataclass(frozen=True, slots=True)
class Certified:
    good: float
    target: float
    confidence: float
    threshold: float | None  # None: none is certified
    coverage: float | None  # at the threshold: the share of all scored candidates
    precision: float | None  # among the rated: an estimate, too high on average
    recall: float | None  # likewise: share of the good ones that are selected
    base: float  # the share of the rated that are good
    documents: int  # with a score and a rating
    needed: int | None  # so many such documents would certify some threshold: an estimate
    tested: tuple[Tested, ...]  # in their order; all but the last are certified


def certified(
    documents: ArrayLike, scores: ArrayLike, ratings: ArrayLike, *,
    good: float, target: float, confidence: float, seed: int = 0,
) -> Certified | None:  # fmt: skip
    """The certified threshold, from one row per candidate, NaN where unscored or unrated.

    Unrated candidates count for coverage and for the choice of the thresholds. The documents take
    their turns in a random order of the seed. None where fewer than two documents have both.
    """
    scored, rated = (np.asarray(column, np.float64) for column in (scores, ratings))
    pairs = np.isfinite(scored) & np.isfinite(rated)
    names, document = np.unique(np.asarray(documents)[pairs], return_inverse=True)
    if names.size < 2:
        return None
    turns = np.random.default_rng(seed).permutation(names.size)[document]
    thresholds, coverages = _thresholds(scored[np.isfinite(scored)])
    is_good = rated[pairs] >= good
    labelled = _Labelled(
        target=target,
        level=1 - confidence,
        coverages=coverages,
        selected=_counts(turns, scored[pairs], thresholds, names.size),
        hits=_counts(turns[is_good], scored[pairs][is_good], thresholds, names.size),
        most=int(np.bincount(document).max()),
    )
    tested = tuple(_tested(labelled, thresholds))
    kept = next((test for test in reversed(tested) if test.p <= labelled.level), None)
    return Certified(
        good=good,
        target=target,
        confidence=confidence,
        threshold=kept.threshold if kept else None,
        coverage=kept.coverage if kept else None,
        precision=kept.good / kept.selected if kept else None,
        recall=kept.good / int(is_good.sum()) if kept else None,
        base=float(is_good.mean()),
        documents=names.size,
        needed=None if kept else _needed(labelled),
        tested=tested,
    )


def kept(
    doubts: ArrayLike, agrees: ArrayLike, *, agreement: float, confidence: float
) -> Certified | None:
    """Up to which doubt a first judge answers as a second one would, with doubts below 0: the
    `threshold` is minus the largest doubt, the `coverage` the share of texts that the first judge
    keeps. None where fewer than two are drawn.

    The texts of a run are given, and some are drawn at random, each as probable as any other. So
    the drawn ones up to some doubt are a random sample, however alike the texts of a document are.

    `doubts`: of all texts, infinite or NaN where the first judge has no answer; `agrees`: 1 or 0,
    NaN where the text was not drawn.
    """
    each = np.asarray(doubts, np.float64)
    texts = np.arange(each.size)
    return certified(texts, -each, agrees, good=1, target=agreement, confidence=confidence)


def _thresholds(scores: Floats) -> tuple[Floats, Floats]:
    """Falling, each a score; and what share of the scores is at least so high."""
    steps = int(log(1 / LEAST_SHARE) / log(STEP))
    ranks = np.ceil(scores.size * STEP ** -np.arange(steps + 1.0)).astype(int)
    rising = np.sort(scores)
    distinct = np.unique(rising[scores.size - ranks])
    reached = scores.size - np.searchsorted(rising, distinct)
    return distinct[::-1], reached[::-1] / scores.size


def _counts(document: Codes, scores: Floats, thresholds: Floats, documents: int) -> Floats:
    """(documents, thresholds): how many of a document's candidates reach each."""
    place = thresholds.size - np.searchsorted(thresholds[::-1], scores, side="right")
    counts = np.zeros((documents, thresholds.size + 1))
    np.add.at(counts, (document, place), 1)
    return counts[:, :-1].cumsum(axis=1)


@dataclass(frozen=True)
class _Labelled:
    """The documents with a rating, in their turns: counts for each of the falling thresholds."""

    target: float
    level: float
    coverages: Floats
    selected: Floats  # (documents, thresholds)
    hits: Floats  # the good ones, in the same shape
    most: int  # the largest number of rated candidates of a document

    @property
    def evidence(self) -> float:
        return -log(self.level)

    @property
    def expected(self) -> Floats:
        """The selected rated candidates to expect of a document, by the scores alone."""
        return self.coverages * self.selected[:, -1].mean()

    def stakes(self, documents: int) -> Floats:
        """The stakes for the least precision that this many documents can show above the target."""
        variance = self._variance(self.target)
        best = np.sqrt(2 * self.evidence / (documents * variance))
        return np.minimum(best, MOST_STAKED / (self.target * self.most))

    def start(self, documents: int) -> int:
        stakes, precision = self.stakes(documents), self.target + LIKELY * (1 - self.target)
        gain = stakes * self.expected * (precision - self.target)
        growth = gain - stakes**2 * self._variance(precision) / 2
        if_all_good = np.log1p(stakes * self.expected * (1 - self.target))
        possible = self._first(documents * if_all_good >= self.evidence)
        latest = max(possible, int(np.sum(self.coverages <= GREATEST_START)) - 1)
        return min(latest, self._first(documents * growth >= SPARE * self.evidence))

    def _first(self, where: Rows) -> int:
        """The first threshold where it holds, or the last threshold."""
        return int(np.argmax(where)) if where.any() else where.size - 1

    def p(self, at: int) -> float:
        selected, hits = self.selected[:, at], self.hits[:, at]
        if self.most == 1:
            return _binomial(self.target, int(selected.sum()), int(hits.sum()))
        wealth = self._log_wealth(at, self.selected.shape[0]).cumsum()
        return float(np.exp(-max(0.0, wealth.max())))

    def likely_p(self, at: int, documents: int) -> float:
        """The p that this many documents like these would give."""
        times = documents / self.selected.shape[0]
        if self.most == 1:
            selected, hits = (
                round(float(counts[:, at].sum()) * times) for counts in (self.selected, self.hits)
            )
            return _binomial(self.target, selected, hits)
        return float(np.exp(-max(0.0, times * self._log_wealth(at, documents).sum())))

    def _log_wealth(self, at: int, documents: int) -> Floats:
        excess = self.hits[:, at] - self.target * self.selected[:, at]
        return np.log1p(self.stakes(documents)[at] * excess)

    def _variance(self, precision: float) -> Floats:
        """The variance of a document's good selected candidates, where its ratings are unknown."""
        alone: Floats = precision * (1 - precision) * self.expected
        return alone * (1 + WITHIN * self.expected)


def _binomial(target: float, selected: int, hits: int) -> float:
    return float(binom.sf(hits - 1, selected, target))


def _tested(labelled: _Labelled, thresholds: Floats) -> Iterator[Tested]:
    for at in range(labelled.start(len(labelled.selected)), thresholds.size):
        counts = int(labelled.selected[:, at].sum()), int(labelled.hits[:, at].sum())
        p = labelled.p(at)
        yield Tested(float(thresholds[at]), float(labelled.coverages[at]), *counts, p)
        if p > labelled.level:
            return


def _needed(labelled: _Labelled) -> int | None:
    """None where even MOST_TIMES as many documents would not do."""
    least = len(labelled.selected)
    for step in range(1, int(log(MOST_TIMES) / log(GROWTH)) + 1):
        documents = ceil(least * GROWTH**step)
        if labelled.likely_p(labelled.start(documents), documents) <= labelled.level:
            return documents
    return None
