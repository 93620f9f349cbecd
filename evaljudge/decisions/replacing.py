"""May the judge take a rater's place? The alternative annotator test (Calderon et al. 2025).

    >>> replacing(judge, ratings, documents, epsilon=0.1)
    Replacing(winning_rate=0.67, advantage=0.71, low=0.62, high=0.8, ..., raters=(BesideRater(...),
    ...))

Each rater is set aside in turn. On every text that the rater rated, who is closer to the other
raters: the judge, or the rater? Closeness is the root mean squared difference from their ratings
(`rmse`), or the share of them that gave the very same label (`accuracy`). The judge's advantage
beside a rater is the share of texts where it is at least as close. The test's null hypothesis is
that the rater's share of texts exceeds the judge's by `epsilon` or more: what a rater's higher cost
allows the judge to lose. p-values are corrected over the raters by Benjamini and Yekutieli's
procedure, which holds however they depend on each other. The winning rate is the share of raters
whose hypothesis is rejected, and the judge passes from MAJORITY on.

The authors' t test takes every text as independent (`p`). Here the candidates of one document are
not: `p_clustered` takes the document as the unit, with a jackknife over documents and Student's t
for their number, and so does the interval of the advantage.

A rater is a column. Where a column holds several people, the test is of one of them at random.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy import special  # type: ignore[import-untyped, unused-ignore]
from scipy.stats import (  # type: ignore[import-untyped, unused-ignore]
    false_discovery_control,
)

from evaljudge.agreement.pairs import Codes, Floats

Closeness = Literal["rmse", "accuracy"]
FEWEST_TEXTS = 30
"""The fewest texts of a rater for the t test; the authors leave out raters with fewer."""
FEWEST_RATERS = 3
"""The fewest raters that the authors accept: of two, neither could be far from a group."""
MAJORITY = 0.5
_FALSE_DISCOVERIES = 0.05
_TAIL = 0.975


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
    judge: ArrayLike, ratings: ArrayLike, documents: ArrayLike, *,
    closeness: Closeness = "rmse", epsilon: float = 0.1, fewest: int = FEWEST_TEXTS,
) -> Replacing | None:  # fmt: skip
    """Whether the judge can replace a rater, from each text's score on the raters' scale, its
    ratings, NaN where missing, and its document's code. None where no rater has enough texts.

    A text counts where the judge scored it and at least two raters rated it.
    """
    scores, table = np.asarray(judge, np.float64), np.asarray(ratings, np.float64)
    kept = np.isfinite(scores) & (np.isfinite(table).sum(axis=1) > 1)
    scores, table = scores[kept], table[kept]
    units, document = np.unique(np.asarray(documents)[kept], return_inverse=True)
    rated = np.isfinite(table).sum(axis=0)
    chosen = np.flatnonzero(rated >= max(fewest, 2))
    if not chosen.size:
        return None
    advantages, texts, clustered = list[tuple[float, Floats]](), list[float](), list[float]()
    raters = []
    for rater in chosen.tolist():
        rows = np.isfinite(table[:, rater])
        others, document_of = np.delete(table[rows], rater, axis=1), document[rows]
        apart = [_distances(x[rows], others, closeness) for x in (scores, table[:, rater])]
        closer, itself = apart[0] <= apart[1], (apart[1] <= apart[0]).astype(np.float64)
        lead = itself - closer
        error = float(lead.std(ddof=1) / np.sqrt(lead.size))
        texts.append(_p(float(lead.mean()) - epsilon, error, lead.size - 1))
        number = np.unique(document_of).size
        by_documents = np.nan
        if number > 1:
            value, without = _jackknifed(lead, document_of, units.size)
            by_documents = _p(value - epsilon, _error(value, without, number), number - 1)
        clustered.append(by_documents)
        advantages.append(_jackknifed(closer.astype(np.float64), document_of, units.size))
        raters.append((rater, lead.size, number, float(closer.mean()), float(itself.mean())))
    corrected, clustered_corrected = _corrected(texts), _corrected(clustered)
    advantage = float(np.mean([value for value, _ in advantages]))
    low, high = _interval(advantage, np.mean([without for _, without in advantages], axis=0))
    is_clustered = np.isfinite(clustered_corrected).all()
    return Replacing(
        epsilon=epsilon,
        winning_rate=_rejected(clustered_corrected) if is_clustered else None,
        winning_rate_texts=_rejected(corrected),
        advantage=advantage,
        low=low,
        high=high,
        raters=tuple(
            BesideRater(*rater, p, float(p_corrected), *map(_number, by_documents))
            for rater, p, p_corrected, *by_documents in zip(
                raters, texts, corrected, clustered, clustered_corrected, strict=True
            )
        ),
        left_out=int(np.count_nonzero(rated)) - chosen.size,
    )


def _distances(ratings: Floats, others: Floats, closeness: Closeness) -> Floats:
    """The distance from the others' ratings of the same text; 0 is closest."""
    apart = others - ratings[:, None]
    apart = apart**2 if closeness == "rmse" else (apart != 0).astype(np.float64)
    there = np.isfinite(others)
    return np.sqrt(np.where(there, apart, 0.0).sum(axis=1) / there.sum(axis=1))


def _jackknifed(values: Floats, documents: Codes, size: int) -> tuple[float, Floats]:
    """The mean over texts, and that without each document; without one that has no value, it is
    that of all."""
    left = values.size - np.bincount(documents, minlength=size)
    without = (values.sum() - np.bincount(documents, values, size)) / np.maximum(left, 1)
    return float(values.mean()), np.where(left > 0, without, np.nan)


def _error(value: float, without: Floats, documents: int) -> float:
    return float(np.sqrt(np.sum((without - value) ** 2) * (documents - 1) / documents))


def _interval(value: float, without: Floats) -> tuple[float | None, float | None]:
    documents = without.size
    if documents < 2 or not np.isfinite(without).all():
        return None, None
    reach = special.stdtrit(documents - 1, _TAIL) * _error(value, without, documents)
    low, high = np.clip([value - reach, value + reach], 0.0, 1.0)
    return float(low), float(high)


def _p(lead: float, error: float, freedom: int) -> float:
    if error == 0:
        return 0.0 if lead < 0 else 1.0
    return float(special.stdtr(freedom, lead / error))


def _corrected(p: Sequence[float]) -> Floats:
    """Benjamini and Yekutieli's; NaN where any is unknown."""
    if np.isnan(p).any():
        return np.full(len(p), np.nan)
    return false_discovery_control(p, method="by")


def _rejected(corrected: Floats) -> float:
    return float(np.mean(corrected <= _FALSE_DISCOVERIES))


def _number(p: float) -> float | None:
    return float(p) if np.isfinite(p) else None
