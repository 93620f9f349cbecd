"""How far do judges agree with each other, on texts that are rated or not?"""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from evaljudge.agreement import LEVELS, Level, among
from evaljudge.agreement.rated import MOST_TESTED, Rated
from evaljudge.analyses import Analysis, Findings, RunFrame, Section
from evaljudge.analyses.jury import INTERVALS
from evaljudge.sections.figures import estimate, notes_on, tabled

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
    scorers = [scorer for name in run.combined.values() for scorer in name.of_scorers]
    if run.models > 1 or run.families:
        scorers += run.headlines.values()
    scorers, grid = list(dict.fromkeys(scorers)), run.grid
    axes = dict.fromkeys(axis for scorer, axis in grid.scores if scorer in scorers)
    for axis in axes:
        tables = {name: grid.scores[name, axis] for name in scorers if (name, axis) in grid.scores}
        if len(tables) > 1:
            # a row for each text that any of them has scored
            there = np.isfinite(np.stack(list(tables.values()))).any(axis=0)
            documents, systems = np.nonzero(there)
            documents = np.unique(documents, return_inverse=True)[1]
            scores = {(scorer, ""): table[there] for scorer, table in tables.items()}
            whole = Rated(documents, systems, scores, {}, {})
            rated, is_sample = whole.sampled(MOST_TESTED, run.seed)
            own_scores = {scorer: column for (scorer, _), column in rated.scores.items()}
            for pair_of_axes in among(rated.documents, rated.systems, own_scores, seed=run.seed):
                pair = asdict(pair_of_axes) | {"one": pair_of_axes.axis, "axis": axis}
                pair["sampled"] = pair_of_axes.sampled or is_sample or grid.is_sample
                del pair["of"]
                yield JudgePair(**pair)


def section(findings: Findings, in_short: bool) -> Iterator[Section]:
    pairs = [row for row in findings["among_judges"] if row.coefficient == "spearman"]
    by_key = {(row.axis, row.one, row.other, row.level): row for row in pairs}
    columns: dict[str, Any] = {"axis": "axis", "judge": "one", "other judge": "other"}
    for level in LEVELS[:1] if in_short else LEVELS:
        columns[f"{level} level"] = lambda row, level=level: estimate(
            by_key[row.axis, row.one, row.other, level]
        )
    rows = {(row.axis, row.one, row.other): row for row in pairs}.values()
    table = tabled("On the texts that both have scored", rows, 3, columns)
    notes = [INTERVALS, *notes_on(pairs, PAIRS_SAMPLED, "value")]
    yield Section(AMONG, [ABOUT_AMONG], [table], notes)


ANALYSIS = Analysis(JudgePair, rows, section, place=61)
