"""How much higher the second of two tables of scores is, and whether it agrees better with people.

    paired_difference([[4, 3], [5, nan]], [[4, 4], [3, 2]])
    -> PairedDifference(first=4.25, second=3.5, difference=-0.75, low=-16.6, high=15.1, p=0.66,
                        n=2, texts=3, changed=2)
    agreement_differences(documents, systems, [(first, second, human, human)])
    -> [[AgreementDifference("sample", "spearman", first=0.44, second=0.47, difference=0.03,
                             low=-0.01, high=0.07, n=100), …]]

The tables may be two runs of one scorer, or two systems of one run (a column each). A document is
the unit: the texts of a document are averaged first, so each document weighs the same, however
many texts it has. The interval and the p are Student's, of the documents' mean differences: with
few documents a normal or a percentile bootstrap interval is too narrow, and this one is not.

Agreement is that with ratings on the same texts: those that have all four numbers. At sample level
a document where either correlation is undefined is left out for both. The interval is Student's, of
the parts that each document adds to both (agreement/documents.py).
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import isnan, sqrt

import numpy as np
from numpy.typing import ArrayLike

from evaljudge.agreement import LEVELS, Coefficient, Level
from evaljudge.agreement.agree import estimates
from evaljudge.agreement.documents import ROUNDING, Estimate, error, one_sided, reach, two_sided
from evaljudge.agreement.rated import Floats
from evaljudge.agreement.significance import paired_values

Maybe = float | None  # None where undefined
Four = tuple[Floats, Floats, Floats, Floats]
"""The first scores, the second ones, and the ratings that each are compared with: a row a text."""


@dataclass(frozen=True, slots=True)
class PairedDifference:
    first: float | None  # means over documents; None where no text has both scores
    second: float | None
    difference: float | None  # second - first
    low: float | None  # 95% interval over documents; None with fewer than two, and see `student`
    high: float | None
    p: float | None  # two-sided
    error: float | None  # the standard error of the difference
    n: int  # documents
    texts: int
    changed: int  # texts whose two scores differ


def paired_difference(first: ArrayLike, second: ArrayLike) -> PairedDifference:
    """The difference of two tables (documents, systems); NaN where there is no score."""
    tables = [np.asarray(table, dtype=np.float64) for table in (first, second)]
    both = np.isfinite(tables[0]) & np.isfinite(tables[1])
    texts = both.sum(axis=1)
    kept = texts > 0
    left, right = (np.where(both, table, 0.0)[kept] for table in tables)
    gaps = (right - left).sum(axis=1) / texts[kept]
    difference, spread = _mean(gaps), None
    low = high = p = None
    if difference is not None and gaps.size > 1:
        spread = float(gaps.std(ddof=1)) / sqrt(gaps.size)
        low, high, p = student(difference, spread, gaps.size)
    return PairedDifference(
        first=_mean(left.sum(axis=1) / texts[kept]),
        second=_mean(right.sum(axis=1) / texts[kept]),
        difference=difference,
        low=low,
        high=high,
        p=p,
        error=spread,
        n=gaps.size,
        texts=int(texts.sum()),
        changed=int(np.count_nonzero(left != right)),
    )


def p_lower(paired: PairedDifference, tolerance: float) -> float | None:
    """The p of the difference being at least -tolerance; None of fewer than 2 documents."""
    if paired.difference is None or paired.error is None:
        return None
    rounding = ROUNDING * max(abs(paired.difference), tolerance)
    both = paired.difference + tolerance, paired.error
    beyond, error = (0.0 if abs(number) <= rounding else number for number in both)
    return float(one_sided(beyond, error, paired.n - 1))


def _mean(values: Floats) -> float | None:
    return float(values.mean()) if values.size else None


def student(value: float, error: float, units: int) -> tuple[Maybe, Maybe, Maybe]:
    """The 95% interval of a value with this standard error, and the p of its being 0.

    Where nothing changed, the interval is 0 alone. Where every unit changed by the same, there is
    none: how far other units would be from these is not known.
    """
    p = float(two_sided(value, error, units - 1))
    if error <= ROUNDING * abs(value):
        return (None, None, p) if value else (0.0, 0.0, p)
    half = float(reach(error, units - 1))
    return value - half, value + half, p


@dataclass(frozen=True, slots=True)
class AgreementDifference:
    scorer: str = field(default="", kw_only=True)  # empty until the caller names it
    axis: str = field(default="", kw_only=True)
    level: Level
    coefficient: Coefficient
    first: float | None  # each None where undefined
    second: float | None
    difference: float | None  # second - first
    low: float | None  # 95% interval
    high: float | None
    n: int  # documents (sample), systems (system) or texts (summary)
    sampled: bool = False  # the interval comes from a seeded sample of documents


def agreement_differences(
    documents: ArrayLike, systems: ArrayLike, compared: Sequence[Four], *, seed: int = 0
) -> list[list[AgreementDifference]]:
    """The differences of each four columns, one per level; NaN where unscored or unrated."""
    columns = [column for four in compared for column in four]
    sides = [
        side
        for at in range(0, len(columns), 4)
        for side in ((at, at + 2, at + 1, at + 3), (at + 1, at + 3, at, at + 2))
    ]
    found = dict(estimates(documents, systems, columns, sides, LEVELS, ("spearman",), seed))
    return [list(map(_difference, found[at], found[at + 1])) for at in range(0, len(sides), 2)]


def _difference(left: Estimate, right: Estimate) -> AgreementDifference:
    first, second, gaps, n = paired_values(left, right)
    defined = not (isnan(first) or isnan(second))
    spread, units = error(gaps)
    low = high = None
    if defined and not isnan(spread):
        low, high, _ = student(second - first, spread, units)
    return AgreementDifference(
        left.level,
        left.coefficient,
        None if isnan(first) else first,
        None if isnan(second) else second,
        second - first if defined else None,
        low,
        high,
        n=n,
        sampled=left.sampled,
    )
