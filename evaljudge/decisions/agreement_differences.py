"""Whether the second of two lists of scores agrees better with people, at every level.

    agreement_differences(documents, systems, [(first, second, human, human)])
    -> [[AgreementDifference("sample", "spearman", first=0.44, second=0.47, difference=0.03,
                             low=-0.01, high=0.07, n=100), …]]

Both are correlated with ratings on the same texts: those that have all four numbers. At sample
level a document where either correlation is undefined is left out for both, and the interval is
Student's over the documents' differences. At system and summary level the standard error is that of
a paired bootstrap: each resample of documents gives both correlations, and so their difference. The
interval around it is again Student's, because percentiles are too narrow with few documents.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from math import sqrt

import numpy as np
from numpy.typing import ArrayLike

from evaljudge.agreement import COEFFICIENTS, Coefficient, Level
from evaljudge.agreement.agree import replicates_of
from evaljudge.agreement.bootstrap import Estimates, on_one_thread
from evaljudge.agreement.compare import group_correlations
from evaljudge.agreement.pairs import PairTable, paired, tables
from evaljudge.agreement.rated import Floats
from evaljudge.agreement.summary import summary_level
from evaljudge.agreement.system import system_level
from evaljudge.decisions.differences import mean_with_interval, student

SPEARMAN = COEFFICIENTS.index("spearman")
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
    documents: ArrayLike, systems: ArrayLike, compared: Sequence[Four], *,
    resamples: int = 1000, seed: int = 0,
) -> list[list[AgreementDifference]]:  # fmt: skip
    """Of each four columns, one result per level; NaN where unscored or unrated."""
    codes = np.asarray(documents), np.asarray(systems)
    fours = list(map(_on_the_same_texts, compared))
    columns = [column for four in fours for column in four]
    sides = [(at + side, at + 2 + side) for at in range(0, len(columns), 4) for side in (0, 1)]
    found = [[_at_sample_level(*codes, four)] for four in fours]
    for places, table in tables(*codes, columns, sides):
        for at, one in zip(places[::2], _at_other_levels(table, resamples, seed), strict=True):
            found[at // 2] += one
    return found


def _on_the_same_texts(four: Four) -> Four:
    both = np.isfinite(np.stack(four)).all(axis=0)
    one, other, human, other_human = (np.where(both, column, np.nan) for column in four)
    return one, other, human, other_human


def _at_sample_level(documents: ArrayLike, systems: ArrayLike, four: Four) -> AgreementDifference:
    sides = (paired(documents, systems, four[side], four[2 + side]) for side in (0, 1))
    found = np.stack([group_correlations(side, "sample", "spearman") for side in sides])
    both = found[:, np.isfinite(found).all(axis=0)]
    first, second = (float(side.mean()) if side.size else None for side in both)
    difference, low, high, _ = mean_with_interval(both[1] - both[0])
    spread = difference, low, high
    return AgreementDifference("sample", "spearman", first, second, *spread, n=both.shape[1])


def _at_other_levels(
    table: PairTable, resamples: int, seed: int
) -> Iterator[list[AgreementDifference]]:
    """One scorer at a time: more columns would leave room for fewer resamples at once."""
    for part in table.parts(2):
        levels = system_level(part, accuracy=False), summary_level(part, seed, accuracy=False)
        drawn = replicates_of(part, levels, "documents", resamples, seed)[:, :, SPEARMAN]
        yield [
            _at_level(level, seconds - firsts, part.document_count)
            for level, (firsts, seconds) in zip(levels, drawn, strict=True)
        ]


def _at_level(level: Estimates, resampled: Floats, documents: int) -> AgreementDifference:
    """`resampled`: the difference in each resample."""
    first, second = (None if np.isnan(r) else float(r) for r in level.values[:, SPEARMAN])
    difference = None if first is None or second is None else second - first
    low, high = _interval(difference, resampled[np.isfinite(resampled)], resampled.size, documents)
    return AgreementDifference(
        level.level,
        "spearman",
        first,
        second,
        difference,
        low,
        high,
        n=int(level.units[0, SPEARMAN]),
        sampled=level.sampled,
    )


def _interval(
    difference: float | None, defined: Floats, resamples: int, documents: int
) -> tuple[float | None, float | None]:
    """None where fewer than half of the resamples define it, as for every bootstrap here."""
    if difference is None or documents < 2 or defined.size < max(2, resamples / 2):
        return None, None
    error = float(defined.std(ddof=1)) * sqrt(documents / (documents - 1))
    return student(difference, error, documents)[:2]
