"""How far do judges agree with each other, on texts that are rated or not?

| axis    | judge | other judge |         sample level |         system level | …
| ------- | ----- | ----------- | -------------------: | -------------------: | …
| fluency | geval | direct      | 0.512 [0.431, 0.590] | 0.802 [0.671, 0.913] | …
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from evaljudge.agreement import LEVELS, AxisPair, Level, among
from evaljudge.agreement.rated import MOST_TESTED, Floats, Rated
from evaljudge.analyses import Analysis, RunFrame
from evaljudge.analyses.jury import notes, spread
from evaljudge.analysis.findings import Findings
from evaljudge.sections import Section, Table

AMONG = "Judges among themselves"
ABOUT_AMONG = (
    "Spearman's correlation of each two judges on the texts that both have scored, whether people "
    "rated them or not. Judges that agree with each other and not with people share an error, "
    "which no combination of them removes."
)
PAIRS_SAMPLED = "Comes from a seeded sample of documents."


@dataclass(frozen=True, slots=True)
class JudgePair:
    one: str
    other: str
    axis: str
    level: Level
    coefficient: str
    value: float | None  # None where undefined
    low: float | None
    high: float | None
    n: int  # documents (sample), systems (system) or texts (summary)
    sampled: bool  # the interval, or both it and the value, come from a sample of documents


def rows(run: RunFrame) -> Iterator[JudgePair]:
    """Each two scorers of combinations, and each two judges of several models or with families, on
    every axis that both have."""
    scorers = [scorer for one in run.combined.values() for scorer in one.of_scorers]
    if run.models > 1 or run.families:
        scorers += run.headlines.values()
    scorers, grid = list(dict.fromkeys(scorers)), run.grid
    axes = dict.fromkeys(axis for scorer, axis in grid.scores if scorer in scorers)
    for axis in axes:
        tables = {one: grid.scores[one, axis] for one in scorers if (one, axis) in grid.scores}
        if len(tables) > 1:
            rated, is_sample = _as_rows(tables).sampled(MOST_TESTED, run.seed)
            columns = {scorer: column for (scorer, _), column in rated.scores.items()}
            found = among(rated.documents, rated.systems, columns, seed=run.seed)
            yield from (_pair(axis, one, is_sample or grid.is_sample) for one in found)


def _pair(axis: str, found: AxisPair, is_sample: bool) -> JudgePair:
    at = found.level, found.coefficient
    spread = found.value, found.low, found.high
    return JudgePair(
        found.axis, found.other, axis, *at, *spread, found.n, found.sampled or is_sample
    )


def _as_rows(tables: Mapping[str, Floats]) -> Rated:
    """A row for each text that any of them has scored."""
    there = np.isfinite(np.stack(list(tables.values()))).any(axis=0)
    documents, systems = np.nonzero(there)
    documents = np.unique(documents, return_inverse=True)[1]
    columns = {(scorer, ""): table[there] for scorer, table in tables.items()}
    return Rated(documents, systems, columns, {}, {})


def section(findings: Findings, in_short: bool) -> Iterator[Section]:
    """In short, the first level alone."""
    pairs: list[JudgePair] = [
        row for row in findings["among_judges"] if row.coefficient == "spearman"
    ]
    among = _among_table(pairs, LEVELS[:1] if in_short else LEVELS)
    yield Section(AMONG, [ABOUT_AMONG], [among], notes(pairs, PAIRS_SAMPLED))


def _among_table(pairs: Sequence[JudgePair], levels: Sequence[Level]) -> Table:
    known = {(one.axis, one.one, one.other, one.level): one for one in pairs}
    cells = [
        [*at, *(_of(known[*at, level]) for level in levels)]
        for at in dict.fromkeys((one.axis, one.one, one.other) for one in pairs)
    ]
    heads = ["axis", "judge", "other judge", *(f"{level} level" for level in levels)]
    title = "On the texts that both have scored"
    return Table(title, heads, cells, "lll" + "r" * len(levels), lead=3)


def _of(one: JudgePair) -> str:
    return spread(one.level, one.n, one.value, one.low, one.high, one.sampled)


ANALYSIS = Analysis(JudgePair, rows, section, place=61)
