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
"""

from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .coefficients import quotient
from .documents import interval, jackknife_error, means, reach
from .levels import document_correlations
from .pairs import Floats, PairTable, tables
from .summary import SPEARMAN, leaving_out

FEWEST = 4
GROUPS = 50
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
    sides = [np.asarray(side, np.float64) for side in (scores, human, lengths)]
    no_systems = np.zeros_like(documents)  # these levels ask for none
    every = (0, 1, 2), (0, 2, 1), (1, 2, 0)  # the texts that have all three numbers
    ((_, table),) = tables(documents, no_systems, sides, every)
    return _sample(table), _summary(table)


def partial(correlations: Floats) -> Floats:
    """The partial correlation from r_sh, r_sl and r_hl; NaN where length explains all of a side."""
    agreement, scores, human = correlations
    left = np.where(_in_order(scores) | _in_order(human), 0.0, (1 - scores**2) * (1 - human**2))
    return np.clip(quotient(agreement - scores * human, np.sqrt(left)), -1.0, 1.0)


def _in_order(correlations: Floats) -> NDArray[np.bool_]:
    return np.asarray(np.abs(correlations) >= _ORDERED)


def _sample(table: PairTable) -> LengthHeld:
    correlations = document_correlations(table, "spearman")
    correlations = correlations[:, np.bincount(table.documents) >= FEWEST]
    values = partial(correlations)
    ends = interval(float(means(values)), values, "sample")
    return _held("sample", correlations, values, ends, int(np.isfinite(values).sum()))


def _summary(table: PairTable) -> LengthHeld:
    if table.documents.size < FEWEST:
        return _held("summary", np.empty((3, 0)), np.empty(0), (None, None), 0)
    # Documents in the order of their codes, dealt like cards.
    dealt = replace(table, groups=np.arange(table.document_count) % GROUPS)
    coefficients, _ = leaving_out(dealt, np.arange(table.document_count), ("spearman",))
    correlations = coefficients[:, SPEARMAN]
    values = partial(correlations)
    n = table.documents.size if np.isfinite(values[0]) else 0
    ends = _jackknifed(values[0], values[1:])
    return _held("summary", correlations[:, :1], values[:1], ends, n)


def _held(
    level: Literal["sample", "summary"], correlations: Floats, values: Floats, ends: Ends, n: int
) -> LengthHeld:
    averages = means(np.vstack([values, correlations])).tolist()
    value, spearman, with_length, people_with_length = (
        None if np.isnan(average) else average for average in averages
    )
    in_order = int(np.count_nonzero(_in_order(correlations[1])))
    return LengthHeld(level, value, *ends, n, spearman, with_length, people_with_length, in_order)


def _jackknifed(value: float, without: Floats) -> Ends:
    groups = without.size
    if groups < 2 or not np.isfinite(np.append(without, value)).all():
        return None, None
    scaled = _scaled(value)
    half = reach(jackknife_error(_scaled(without), scaled), groups - 1)
    return float(np.tanh(scaled - half)), float(np.tanh(scaled + half))


def _scaled(correlations: Floats | float) -> Floats:
    """The correlations on Fisher's scale."""
    return np.asarray(np.arctanh(np.clip(correlations, -_ORDERED, _ORDERED)))
