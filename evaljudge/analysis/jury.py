"""What a jury's judges have in common, and what each adds to it.

among_judges   how far two judges agree on the texts of a run, rated or not
left_out       the agreement with people of a combination with all its scorers, and without each; a
               difference above 0 is a gain: the jury agrees better with people without it

A combination by agreement keeps the weights that were fitted on other documents; when one is left
out, the other weights are scaled so that they sum to 1. All intervals are 95%, over documents.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from evaljudge.agreement import AxisPair, among
from evaljudge.agreement.rated import MOST_TESTED, Floats, Ids, Rated
from evaljudge.analysis.combining import Combination, Weights, on_rated
from evaljudge.analysis.findings import JudgePair, LeftOut
from evaljudge.decisions.agreement_differences import AgreementDifference, agreement_differences
from evaljudge.decisions.grid import Grid
from evaljudge.records import ANY_AXIS

# each left out


def left_out(
    combined: Mapping[str, Combination], fitted: Mapping[tuple[str, str], Weights], rated: Rated,
    documents: Ids, seed: int,
) -> Iterator[LeftOut]:  # fmt: skip
    """`fitted`: the weights of combinations by agreement, by name and axis."""
    for name, one in combined.items():
        for axis, human in sorted(rated.human.items()):
            if (name, axis) not in rated.scores and (name, ANY_AXIS) not in rated.scores:
                continue
            known = one, fitted.get((name, axis)), axis, rated, documents
            whole = on_rated(*known)
            without = {scorer: on_rated(*known, scorer) for scorer in one.of_scorers}
            fours = [(whole, smaller, human, human) for smaller in without.values()]
            codes = rated.documents, rated.systems
            found = agreement_differences(*codes, fours, seed=seed)
            for scorer, levels in zip(without, found, strict=True):
                yield from (_left_out(name, scorer, axis, level) for level in levels)


def _left_out(name: str, scorer: str, axis: str, found: AgreementDifference) -> LeftOut:
    at = found.level, found.coefficient
    gain = found.difference, found.low, found.high
    return LeftOut(
        name, scorer, axis, *at, found.first, found.second, *gain, found.n, found.sampled
    )


# among each other


def among_judges(scorers: Sequence[str], grid: Grid, seed: int) -> Iterator[JudgePair]:
    """Each two of these scorers, on every axis that both have."""
    axes = dict.fromkeys(axis for scorer, axis in grid.scores if scorer in scorers)
    for axis in axes:
        tables = {one: grid.scores[one, axis] for one in scorers if (one, axis) in grid.scores}
        if len(tables) > 1:
            rated, is_sample = _as_rows(tables).sampled(MOST_TESTED, seed)
            columns = {scorer: column for (scorer, _), column in rated.scores.items()}
            found = among(rated.documents, rated.systems, columns, seed=seed)
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
