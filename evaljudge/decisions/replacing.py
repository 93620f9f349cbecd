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
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import special  # type: ignore[import-untyped, unused-ignore]

from evaljudge.agreement.pairs import Codes, Floats

Closeness = Literal["rmse", "accuracy"]
FEWEST_TEXTS = 30
"""Of one rater, for the t test: with fewer the rater is left out, as by the authors."""
FEWEST_RATERS = 3
"""Which the authors ask for: of two, there is no group that a rater could be far from."""
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


class Jackknifed(NamedTuple):
    """A mean over texts: all of them, and without each document (of all, in one order)."""

    value: float
    without: Floats


def replacing(
    judge: ArrayLike, ratings: ArrayLike, documents: ArrayLike, *,
    closeness: Closeness = "rmse", epsilon: float = 0.1, fewest: int = FEWEST_TEXTS,
) -> Replacing | None:  # fmt: skip
    """From a row for each text: the judge's score on the raters' scale, each rater's rating, NaN
    where missing, and the document's code. None where no rater has enough texts.

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
    found = [_Compared.of(scores, table, document, rater, closeness) for rater in chosen]
    texts = [one.p_texts(epsilon) for one in found]
    clustered = [one.p_clustered(units.size, epsilon) for one in found]
    corrected, clustered_corrected = _corrected(texts), _corrected(clustered)
    shares = [_jackknifed(one.judge, one.documents, units.size) for one in found]
    advantage = Jackknifed(
        float(np.mean([share.value for share in shares])),
        np.mean([share.without for share in shares], axis=0),
    )
    low, high = _interval(advantage)
    is_clustered = np.isfinite(clustered_corrected).all()
    return Replacing(
        epsilon=epsilon,
        winning_rate=_rejected(clustered_corrected) if is_clustered else None,
        winning_rate_texts=_rejected(corrected),
        advantage=advantage.value,
        low=low,
        high=high,
        raters=tuple(
            BesideRater(
                rater=int(rater),
                n=one.judge.size,
                documents=np.unique(one.documents).size,
                judge=float(one.judge.mean()),
                itself=float(one.itself.mean()),
                p=float(p),
                p_corrected=float(p_corrected),
                p_clustered=_known(by_documents),
                p_clustered_corrected=_known(by_documents_corrected),
            )
            for rater, one, p, p_corrected, by_documents, by_documents_corrected in zip(
                chosen, found, texts, corrected, clustered, clustered_corrected, strict=True
            )
        ),
        left_out=int(np.count_nonzero(rated)) - chosen.size,
    )


@dataclass(frozen=True, slots=True)
class _Compared:
    """On each text of one rater: 1 where the judge, or the rater, is at least as close."""

    judge: Floats
    itself: Floats
    documents: Codes

    @classmethod
    def of(
        cls, scores: Floats, table: Floats, document: Codes, rater: int, closeness: Closeness
    ) -> "_Compared":
        rows = np.isfinite(table[:, rater])
        others = np.delete(table[rows], rater, axis=1)
        judge = _distances(scores[rows], others, closeness)
        itself = _distances(table[rows, rater], others, closeness)
        return cls(
            judge=(judge <= itself).astype(np.float64),
            itself=(itself <= judge).astype(np.float64),
            documents=document[rows],
        )

    def p_texts(self, epsilon: float) -> float:
        """That the rater's lead is below epsilon: a t test over texts."""
        lead = self.itself - self.judge
        error = lead.std(ddof=1) / np.sqrt(lead.size)
        return _p(float(lead.mean()) - epsilon, float(error), lead.size - 1)

    def p_clustered(self, documents: int, epsilon: float) -> float:
        own = np.unique(self.documents).size
        if own < 2:
            return np.nan
        lead = _jackknifed(self.itself - self.judge, self.documents, documents)
        return _p(lead.value - epsilon, _error(lead, own), own - 1)


def _distances(given: Floats, others: Floats, closeness: Closeness) -> Floats:
    """From the others' ratings of the same text; 0 is closest."""
    apart = others - given[:, None]
    apart = apart**2 if closeness == "rmse" else (apart != 0).astype(np.float64)
    there = np.isfinite(others)
    distances: Floats = np.sqrt(np.where(there, apart, 0.0).sum(axis=1) / there.sum(axis=1))
    return distances


def _jackknifed(values: Floats, documents: Codes, size: int) -> Jackknifed:
    """Without a document that has no value, the mean is that of all."""
    sums = np.bincount(documents, values, size)
    counts = np.bincount(documents, minlength=size)
    left = values.size - counts
    without = (values.sum() - sums) / np.maximum(left, 1)
    return Jackknifed(float(values.mean()), np.where(left > 0, without, np.nan))


def _error(found: Jackknifed, documents: int) -> float:
    squares = np.sum((found.without - found.value) ** 2)
    return float(np.sqrt(squares * (documents - 1) / documents))


def _interval(advantage: Jackknifed) -> tuple[float | None, float | None]:
    documents = advantage.without.size
    if documents < 2 or not np.isfinite(advantage.without).all():
        return None, None
    reach = special.stdtrit(documents - 1, _TAIL) * _error(advantage, documents)
    low, high = np.clip([advantage.value - reach, advantage.value + reach], 0.0, 1.0)
    return float(low), float(high)


def _p(lead: float, error: float, freedom: int) -> float:
    if error == 0:
        return 0.0 if lead < 0 else 1.0
    return float(special.stdtr(freedom, lead / error))


def _corrected(p: Sequence[float]) -> Floats:
    """Benjamini and Yekutieli's; NaN where any is unknown."""
    order, ranks = np.argsort(p), np.arange(1, len(p) + 1)
    scaled = np.asarray(p)[order] * len(p) * np.sum(1 / ranks) / ranks
    corrected = np.empty(len(p))
    corrected[order] = np.minimum(np.minimum.accumulate(scaled[::-1])[::-1], 1.0)
    return corrected


def _rejected(corrected: Floats) -> float:
    return float(np.mean(corrected <= _FALSE_DISCOVERIES))


def _known(p: float) -> float | None:
    return float(p) if np.isfinite(p) else None
