"""Whether the second of two lists of scores agrees better with people, at every level.

    agreement_differences(documents, systems, [(first, second, human, human)])
    -> [[AgreementDifference("sample", "spearman", first=0.44, second=0.47, difference=0.03,
                             low=-0.01, high=0.07, n=100), …]]

Both are correlated with ratings on the same texts: those that have all four numbers. At sample
level a document where either correlation is undefined is left out for both. The interval is
Student's over documents, of the parts that each adds to both (agreement/jackknife.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import isnan

import numpy as np
from numpy.typing import ArrayLike

from evaljudge.agreement import LEVELS, Coefficient, Level
from evaljudge.agreement.bootstrap import on_one_thread
from evaljudge.agreement.jackknife import error
from evaljudge.agreement.rated import Floats
from evaljudge.agreement.significance import Correlated, measured, paired_values
from evaljudge.decisions.differences import student

Four = tuple[Floats, Floats, Floats, Floats]
"""The first scores, the second ones, and the ratings that each are compared with: a row a text."""


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


@on_one_thread
def agreement_differences(
    documents: ArrayLike, systems: ArrayLike, compared: Sequence[Four], *, seed: int = 0
) -> list[list[AgreementDifference]]:
    """Of each four columns, one result per level; NaN where unscored or unrated."""
    columns = [column for four in compared for column in _on_the_same_texts(four)]
    sides = [(at + side, at + 2 + side) for at in range(0, len(columns), 4) for side in (0, 1)]
    found = measured(documents, systems, columns, sides, LEVELS, "spearman", seed)
    by_level = [
        [_difference(level, *two) for two in zip(each[::2], each[1::2], strict=True)]
        for level, each in zip(LEVELS, found, strict=True)
    ]
    return [list(levels) for levels in zip(*by_level, strict=True)]


def _on_the_same_texts(four: Four) -> Four:
    both = np.isfinite(np.stack(four)).all(axis=0)
    one, other, human, other_human = (np.where(both, column, np.nan) for column in four)
    return one, other, human, other_human


def _difference(level: Level, one: Correlated, other: Correlated) -> AgreementDifference:
    first, second, gaps, n = paired_values(level, one, other)
    defined = not (isnan(first) or isnan(second))
    spread, units = error(gaps)
    low = high = None
    if defined and not isnan(spread):
        low, high, _ = student(second - first, spread, units)
    return AgreementDifference(
        level,
        "spearman",
        None if isnan(first) else first,
        None if isnan(second) else second,
        second - first if defined else None,
        low,
        high,
        n=n,
        sampled=one.sampled,
    )
