"""Agreement that remains when the texts' length is held fixed: Spearman's partial correlation.

    >>> held_fixed(documents, scores, human, lengths)[0]
    LengthHeld(level='sample', value=0.03, low=-0.04, high=0.1, n=88, spearman=0.41, ...)

A scorer that only measures length agrees with people as far as people like length. From the three
rank correlations of scores (s), ratings (h) and lengths (l)

    r_sh.l = (r_sh - r_sl r_hl) / sqrt((1 - r_sl^2) (1 - r_hl^2))

is the correlation of what length leaves unexplained of the ranks of scores and of ratings.

- `sample`: the mean over documents of at least FEWEST texts (of three it is always 1 or -1), with
  Student's t interval of the documents' values, on Fisher's scale.
- `summary`: of all texts pooled; the interval is a jackknife over documents (over at most GROUPS
  groups of them) on Fisher's scale, which ranks the texts anew without each.
- Where scores, or ratings, are in the order of the lengths, or in the opposite one, nothing is left
  to correlate: such a document is left out. `in_order` counts those where it is the scores.

The ranks of few texts hold length fixed but roughly: at sample level, a scorer of length alone
keeps a little of its agreement.

What follows from length alone is taken away whether people are right to like it or not.
"""

from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special  # type: ignore[import-untyped, unused-ignore]

from .coefficients import centred_ranks, cosine, quotient
from .documents import interval, means
from .pairs import Codes, Floats

FEWEST = 4
GROUPS = 50
_TAIL = 0.975
Ends = tuple[float | None, float | None]
_ORDERED = 1 - 1e-9  # a correlation of at least this is 1 but for rounding


@dataclass(frozen=True, slots=True)
class LengthHeld:
    """The correlations without length held fixed are over the units where they are defined."""

    scorer: str = field(default="", kw_only=True)  # empty until the caller names it
    axis: str = field(default="", kw_only=True)
    level: Literal["sample", "summary"]
    value: float | None  # with length held fixed; None where undefined
    low: float | None  # 95% interval over documents
    high: float | None
    n: int  # documents (sample) or texts (summary) behind the value
    spearman: float | None  # between scores and ratings
    with_length: float | None  # between scores and lengths
    people_with_length: float | None  # between ratings and lengths
    in_order: int  # documents (sample), or 1: scores in the order of the lengths, or the opposite
    sampled: bool = False  # on a seeded sample of documents


def held_fixed(
    documents: ArrayLike, scores: ArrayLike, human: ArrayLike, lengths: ArrayLike
) -> tuple[LengthHeld, LengthHeld]:
    """Agreement at sample and summary level, from a row for each text; NaN: a number is missing."""
    columns = np.stack([np.asarray(side, np.float64) for side in (scores, human, lengths)])
    kept = np.isfinite(columns).all(axis=0)
    document = np.unique(np.asarray(documents)[kept], return_inverse=True)[1]
    order = np.argsort(document, kind="stable")
    columns, document = columns[:, kept][:, order], document[order]
    return _sample(columns, document), _summary(columns, document)


def partial(correlations: Floats) -> Floats:
    """The partial correlation from r_sh, r_sl and r_hl; NaN where length explains all of a side."""
    agreement, scores, human = correlations
    left = np.where(_in_order(scores) | _in_order(human), 0.0, (1 - scores**2) * (1 - human**2))
    return np.clip(quotient(agreement - scores * human, np.sqrt(left)), -1.0, 1.0)


def _in_order(correlations: Floats) -> NDArray[np.bool_]:
    return np.asarray(np.abs(correlations) >= _ORDERED)


def _sample(columns: Floats, document: Codes) -> LengthHeld:
    sizes = np.bincount(document)
    starts = np.cumsum(sizes) - sizes
    cosines = [np.empty((3, 0))]
    for size in np.unique(sizes[sizes >= FEWEST]):
        cells = starts[sizes == size, None] + np.arange(size)
        cosines.append(_cosines(*map(centred_ranks, columns[:, cells])))
    correlations = np.concatenate(cosines, axis=1)
    values = partial(correlations)
    values = values[np.isfinite(values)]
    ends = interval(float(means(values)), values, "sample")
    return _held("sample", correlations, values, ends, values.size)


def _summary(columns: Floats, document: Codes) -> LengthHeld:
    if columns.shape[1] < FEWEST:
        return _held("summary", np.empty((3, 0)), np.empty(0), (None, None), 0)
    correlations = _cosines(*map(centred_ranks, columns))[:, None]
    values = partial(correlations)
    values = values[np.isfinite(values)]
    ends = _jackknifed(float(means(values)), columns, document)
    return _held("summary", correlations, values, ends, columns.shape[1] * values.size)


def _held(
    level: Literal["sample", "summary"], correlations: Floats, values: Floats, ends: Ends, n: int
) -> LengthHeld:
    spearman, with_length, people_with_length = map(_mean, correlations)
    in_order = int(np.count_nonzero(_in_order(correlations[1])))
    return LengthHeld(
        level, _mean(values), *ends, n, spearman, with_length, people_with_length, in_order
    )


def _jackknifed(value: float, columns: Floats, document: Codes) -> Ends:
    documents = int(document.max()) + 1
    groups = min(documents, GROUPS)
    if groups < 2 or not np.isfinite(value):
        return None, None
    # Documents in the order of their codes, dealt like cards.
    ranks = [_ranks_without(column, document % groups, groups) for column in columns]
    without = partial(_cosines(*ranks))
    if not np.isfinite(without).all():
        return None, None
    squares = np.sum((_scaled(without) - _scaled(value)) ** 2)
    reach = special.stdtrit(groups - 1, _TAIL) * np.sqrt(squares * (groups - 1) / groups)
    return float(np.tanh(_scaled(value) - reach)), float(np.tanh(_scaled(value) + reach))


def _scaled(correlations: Floats | float) -> Floats:
    """The correlations on Fisher's scale."""
    return np.asarray(np.arctanh(np.clip(correlations, -_ORDERED, _ORDERED)))


def _ranks_without(column: Floats, group: Codes, groups: int) -> Floats:
    """Mean ranks less their mean, without each group of texts: (groups, texts), 0 in the group."""
    values, codes = np.unique(column, return_inverse=True)
    counted = np.zeros((groups, values.size))
    np.add.at(counted, (group, codes), 1.0)
    counts = counted.sum(axis=0) - counted
    middles = np.cumsum(counts, axis=1) - counts / 2 - counts.sum(axis=1, keepdims=True) / 2
    ranks: Floats = middles[:, codes]
    ranks[group, np.arange(codes.size)] = 0.0
    return ranks


def _cosines(scores: Floats, human: Floats, lengths: Floats) -> Floats:
    """The three correlations, from centred ranks."""
    return np.stack([cosine(scores, human), cosine(scores, lengths), cosine(human, lengths)])


def _mean(values: Floats) -> float | None:
    defined = values[np.isfinite(values)]
    return float(defined.mean()) if defined.size else None
