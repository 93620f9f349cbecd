"""May the judge take a rater's place? The alternative annotator test (Calderon et al. 2025).

    >>> replacing(judge, ratings, documents, epsilon=0.1)
    Replacing(winning_rate=0.67, advantage=0.71, low=0.62, high=0.8, ..., raters=(BesideRater(...),
    ...))

Each rater is set aside in turn. On every text that the rater rated, who is closer to the other
raters: the judge, or the rater? Closeness is the root mean squared difference from their ratings.
The judge's advantage beside a rater is the share of texts where it is at least as close. The test's
null hypothesis is that the rater's share of texts exceeds the judge's by `epsilon` or more: what a
rater's higher cost allows the judge to lose. p-values are corrected over the raters by Benjamini
and Yekutieli's procedure, which holds however they depend on each other. The winning rate is the
share of raters whose hypothesis is rejected, and the judge passes from MAJORITY on.

The authors' t test takes every text as independent (`p`). Here the candidates of one document are
not: `p_clustered` takes the document as the unit, with a jackknife over documents and Student's t
for their number, and so does the interval of the advantage.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import false_discovery_control

from evaljudge.agreement.documents import error, jackknife_error, means, one_sided, reach
from evaljudge.agreement.pairs import Codes, Floats

FEWEST_TEXTS = 30
"""The fewest texts of a rater for the t test; the authors leave out raters with fewer."""
FEWEST_RATERS = 3
"""The fewest raters that the authors accept: of two, neither could be far from a group."""
MAJORITY = 0.5
_FALSE_DISCOVERIES = 0.05


@dataclass(frozen=True, slots=True)
class BesideRater:
    """The judge beside one rater; shares of texts, both of which count ties."""

    rater: int  # the column
    n: int  # texts
    documents: int
    judge: float  # where the judge is at least as close to the others
    itself: float  # where the rater is
    p: float  # every text independent: the authors'
    p_corrected: float
    p_clustered: float | None  # None with a single document
    p_clustered_corrected: float | None


@dataclass(frozen=True, slots=True)
class Replacing:
    epsilon: float
    winning_rate: float | None  # by documents; None with a single document
    winning_rate_texts: float  # the authors', who take every text as independent
    advantage: float  # mean over raters
    low: float | None  # 95% interval over documents; None with a single one
    high: float | None
    raters: Sequence[BesideRater]
    left_out: int  # raters with too few texts

    @property
    def passes(self) -> bool:
        return self.winning_rate is not None and self.winning_rate >= MAJORITY


def replacing(
    judge: ArrayLike, ratings: ArrayLike, documents: ArrayLike, *, epsilon: float = 0.1
) -> Replacing | None:
    """Whether the judge can replace a rater, from each text's score on the raters' scale, its
    ratings, NaN where missing, and its document's code. None where no rater has enough texts."""
    scores, table = np.asarray(judge, np.float64), np.asarray(ratings, np.float64)
    kept = np.isfinite(scores) & (np.isfinite(table).sum(axis=1) > 1)
    scores, table = scores[kept], table[kept]
    units, document = np.unique(np.asarray(documents)[kept], return_inverse=True)
    rated = np.isfinite(table).sum(axis=0)
    chosen = np.flatnonzero(rated >= FEWEST_TEXTS)
    if not chosen.size:
        return None
    advantages, raters = list[tuple[float, Floats]](), list[BesideRater]()
    for rater in chosen.tolist():
        rows = np.isfinite(table[:, rater])
        others, document_of = np.delete(table[rows], rater, axis=1), document[rows]
        its, judges = (  # root mean squared differences from the others' ratings of a text
            np.sqrt(means((others - side[rows, None]) ** 2)) for side in (table[:, rater], scores)
        )
        closer, itself = (judges <= its).astype(np.float64), (its <= judges).astype(np.float64)
        lead, there = itself - closer, np.unique(document_of)
        value, without = _jackknifed(lead, document_of, units.size)
        p_clustered = None
        if there.size > 1:
            spread = jackknife_error(without[there], value)
            p_clustered = float(one_sided(value - epsilon, spread, there.size - 1))
        raters.append(
            BesideRater(
                rater=rater,
                n=lead.size,
                documents=there.size,
                judge=float(closer.mean()),
                itself=float(itself.mean()),
                p=float(one_sided(value - epsilon, error(lead)[0], lead.size - 1)),
                p_corrected=np.nan,
                p_clustered=p_clustered,
                p_clustered_corrected=None,
            )
        )
        advantages.append(_jackknifed(closer, document_of, units.size))
    corrected = _corrected([row.p for row in raters])
    clustered = [row.p_clustered for row in raters if row.p_clustered is not None]
    is_clustered = len(clustered) == len(raters)
    by_documents: Sequence[float | None] = [None] * len(raters)
    if is_clustered:
        by_documents = _corrected(clustered)
    advantage = float(np.mean([value for value, _ in advantages]))
    low, high = _interval(advantage, np.mean([without for _, without in advantages], axis=0))
    return Replacing(
        epsilon=epsilon,
        winning_rate=_rejected(_corrected(clustered)) if is_clustered else None,
        winning_rate_texts=_rejected(corrected),
        advantage=advantage,
        low=low,
        high=high,
        raters=tuple(
            replace(row, p_corrected=p, p_clustered_corrected=p_clustered)
            for row, p, p_clustered in zip(raters, corrected, by_documents, strict=True)
        ),
        left_out=int(np.count_nonzero(rated)) - chosen.size,
    )


def _jackknifed(values: Floats, documents: Codes, size: int) -> tuple[float, Floats]:
    """The mean over texts, and that without each document; without one that has no value, it is
    that of all."""
    left = values.size - np.bincount(documents, minlength=size)
    without = (values.sum() - np.bincount(documents, values, size)) / np.maximum(left, 1)
    return float(values.mean()), np.where(left > 0, without, np.nan)


def _interval(value: float, without: Floats) -> tuple[float | None, float | None]:
    if without.size < 2 or not np.isfinite(without).all():
        return None, None
    half = reach(jackknife_error(without, value), without.size - 1)
    return max(0.0, float(value - half)), min(1.0, float(value + half))


def _corrected(p: Sequence[float]) -> list[float]:
    return list(map(float, false_discovery_control(p, method="by")))


def _rejected(corrected: Sequence[float]) -> float:
    return float(np.mean(np.array(corrected) <= _FALSE_DISCOVERIES))
