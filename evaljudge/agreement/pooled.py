"""Pooled correlations of many resamples at once, without building one.

A candidate of a document that was drawn w times weighs w. Weights are whole numbers, so weighted
ranks, ties and concordances are exactly those of the list with repetitions.
"""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from .coefficients import cosine, ratio
from .pairs import Codes, Floats, Pairs


@dataclass(frozen=True, slots=True)
class Side:
    """Scores or ratings, sorted once: candidate i ties with order[first[i]:last[i]]."""

    values: Floats
    order: Codes
    first: Codes
    last: Codes


@dataclass(frozen=True, slots=True)
class Pool:
    documents: Codes
    scores: Side
    human: Side
    concordance: Floats  # (documents, documents): concordant less discordant pairs of candidates


def pool(pairs: Pairs, chosen: Codes) -> Pool:
    """The candidates of the chosen documents, which are renumbered from 0."""
    kept = np.isin(pairs.documents, chosen)
    documents = np.searchsorted(chosen, pairs.documents[kept])
    scores, human = pairs.scores[kept], pairs.human[kept]
    return Pool(documents, _side(scores), _side(human), concordance(documents, scores, human))


def pooled_correlations(pool: Pool, weights: Floats) -> Floats:
    """(3, resamples) from how often each document was drawn, (resamples, documents)."""
    drawn = weights[:, pool.documents]
    ranks_x, untied_x = _standing(pool.scores, drawn)
    ranks_y, untied_y = _standing(pool.human, drawn)
    balance = ((weights @ pool.concordance) * weights).sum(axis=1)
    kendall = ratio(balance, np.sqrt(untied_x * untied_y))
    pearson = cosine(_centred(pool.scores, drawn), _centred(pool.human, drawn), drawn)
    # Centring a constant leaves rounding noise; counting its ties does not.
    pearson = np.where(np.isnan(kendall), np.nan, pearson)
    return np.stack([cosine(ranks_x, ranks_y, drawn), kendall, pearson])


def concordance(documents: Codes, x: Floats, y: Floats) -> Floats:
    """C[d, e] = sum over i in d, j in e of sign(x_i - x_j) sign(y_i - y_j); documents sorted."""
    bounds = np.append(np.flatnonzero(np.diff(documents, prepend=-1)), documents.size)
    found = np.empty((bounds.size - 1, bounds.size - 1))
    for document, (start, end) in enumerate(pairwise(bounds)):
        agreeing = _signs(x[start:end], x) * _signs(y[start:end], y)
        found[document] = np.add.reduceat(agreeing.sum(axis=0), bounds[:-1])
    return found


def _side(values: Floats) -> Side:
    order = np.argsort(values, kind="stable")
    ranked = values[order]
    first = np.searchsorted(ranked, values, side="left")
    return Side(values, order, first, np.searchsorted(ranked, values, side="right"))


def _standing(side: Side, drawn: Floats) -> tuple[Floats, Floats]:
    """Each candidate's weight below less weight above, and each resample's untied pairs.

    The former is twice the mean rank, (weight below + (weight tied + 1) / 2), centred.
    """
    heaped = np.zeros((len(drawn), drawn.shape[1] + 1))
    np.cumsum(drawn[:, side.order], axis=1, out=heaped[:, 1:])
    below, up_to = heaped[:, side.first], heaped[:, side.last]
    total = heaped[:, -1:]
    untied = total[:, 0] ** 2 - (drawn * (up_to - below)).sum(axis=1)
    return below + up_to - total, untied


def _centred(side: Side, drawn: Floats) -> Floats:
    means: Floats = (drawn @ side.values) / np.maximum(drawn.sum(axis=1), 1.0)
    return side.values - means[:, None]


def _signs(x: Floats, y: Floats) -> NDArray[np.int8]:
    above, below = x[:, None] > y, x[:, None] < y
    signs: NDArray[np.int8] = np.subtract(above, below, dtype=np.int8)
    return signs
