"""The systems of every scorer, and of people, compared on each axis: a report's rows.

rankings(grid, tables.systems(), seed=0)
-> [SystemRanking(scorer="human", axis="fluency", …),
    SystemRanking(scorer="synthetic", axis="fluency", …), …]
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import sqrt

from evaljudge.agreement.rated import Key, is_repetition
from evaljudge.analysis.findings import SystemMean
from evaljudge.decisions.grid import Grid
from evaljudge.decisions.systems import RankedSystem, SystemRanking, rank_systems
from evaljudge.records import HUMAN


def rankings(grid: Grid, means: Sequence[SystemMean], seed: int) -> list[SystemRanking]:
    """`means`: of all candidates, where the grid holds a sample of them.

    People are left out on axes where the rated texts were drawn for it: analysis/labelled.py has
    their means, corrected for how they were drawn.
    """
    tables = {
        (HUMAN, axis): table
        for axis, table in sorted(grid.human.items())
        if axis not in grid.probabilities
    }
    tables |= {key: table for key, table in grid.scores.items() if not is_repetition(key[0])}
    ranked = rank_systems(grid.systems, list(tables.values()), seed)
    found = {key: one for key, one in zip(tables, ranked, strict=True) if one}
    whole = {(mean.scorer, mean.axis, mean.system): mean for mean in means}
    return [_named(key, one, whole if grid.is_sample else {}) for key, one in found.items()]


def _named(
    key: Key, ranking: SystemRanking, whole: dict[tuple[str, str, str], SystemMean]
) -> SystemRanking:
    is_sample = (*key, ranking.systems[0].system) in whole
    systems = [_of_all(one, whole.get((*key, one.system))) for one in ranking.systems]
    return replace(ranking, scorer=key[0], axis=key[1], systems=tuple(systems), sampled=is_sample)


def _of_all(one: RankedSystem, mean: SystemMean | None) -> RankedSystem:
    """The mean of all candidates; its interval has the spread of the sample's."""
    if mean is None or one.low is None or one.high is None:
        return one
    reach = (one.high - one.low) / 2 * sqrt(one.n / mean.n)
    return replace(one, mean=mean.mean, low=mean.mean - reach, high=mean.mean + reach, n=mean.n)
