"""Selection by a target precision: the score that a rule asks for is found on the rated candidates.

    {scorer: synthetic, axis: fluency, precision: 0.9, good: 4}

    synthetic  4.1  3.0  2.3  1.2      from the top, the share rated 4 or higher: 1/1 2/2 2/3 3/4
    rated        5    4    2    4      so: at least 3.0

How the threshold is chosen, and how its worth is told by documents it was not chosen on, stands in
agreement/precision.py. Where no score reaches the precision, or too little is rated to tell,
nothing is selected, and a warning says why.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from evaljudge.agreement import Precise, precise
from evaljudge.agreement.rated import Ids, Rated
from evaljudge.analysis.sieve import Aim, Aims, Scale, aim_of, scale_of
from evaljudge.analysis.tables import Column
from evaljudge.config import Condition, Selection
from evaljudge.sections.figures import short


def targets(
    selections: Sequence[Selection], rated: Rated, documents: Ids, resamples: int, seed: int
) -> Aims:
    """What is found for each precision that a condition asks for."""
    aims = (aim_of(condition) for rule in selections for condition in rule.all)
    return {
        aim: _found(aim, rated, documents, resamples, seed)
        for aim in dict.fromkeys(aims)
        if aim is not None
    }


def unmet(selections: Sequence[Selection], rated: Rated, aims: Aims) -> list[str]:
    """Why a selection selects nothing, whatever the candidates."""
    return [
        f"select.{rule.name}: {condition.scorer} on {condition.axis}: {why}: nothing is selected"
        for rule in selections
        for condition in rule.all
        for why in _hindrance(condition, rated, aims)
    ]


def out_of_reach(selections: Sequence[Selection], columns: Mapping[Scale, Column]) -> Iterator[str]:
    """Thresholds that no score of the run reaches: as a rule they are of another scale."""
    for rule in selections:
        for condition in rule.all:
            column = columns.get(scale_of(condition))
            if column is None or not column.scored:
                continue
            where = f"select.{rule.name}: {condition.scorer} on {condition.axis}"
            least, most = condition.at_least, condition.at_most
            if least is not None and least > column.highest:
                highest = f"the highest is {short(column.highest)}"
                yield f"{where}: no score reaches {short(least)} ({highest}): nothing is selected"
            if most is not None and most < column.lowest:
                lowest = f"the lowest is {short(column.lowest)}"
                yield f"{where}: no score is down to {short(most)} ({lowest}): nothing is selected"


def _found(aim: Aim, rated: Rated, documents: Ids, resamples: int, seed: int) -> Precise | None:
    (scorer, axis), precision, good = aim
    scores, ratings = rated.scores.get((scorer, axis)), rated.human.get(axis)
    if scores is None or ratings is None:
        return None
    rows = documents, scores, ratings
    return precise(*rows, good=good, target=precision, resamples=resamples, seed=seed)


def _hindrance(condition: Condition, rated: Rated, aims: Aims) -> Iterator[str]:
    """One at most."""
    aim = aim_of(condition)
    if scale_of(condition) not in rated.scores:
        axes = ", ".join(rated.axes_of(condition.scorer)) or "no axis"
        yield f"no scores there (calibrated on: {axes})"
    elif aim is not None:
        found, (_, precision, good) = aims[aim], aim
        if found is None:
            yield "fewer than 2 documents have both a score and a rating"
        elif not found.base.value:
            yield f"no candidate is rated {short(good)} or higher"
        elif found.threshold is None:
            best = f"the best precision is {short(found.best)}"
            yield f"no threshold reaches {short(precision)}; {best}"
