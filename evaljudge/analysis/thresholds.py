"""Selection by a target precision: the score that a rule asks for is found on the rated candidates.

    {scorer: synthetic, axis: fluency, precision: 0.9, good: 4}

    synthetic  4.1  3.0  2.3  1.2      from the top, the share rated 4 or higher: 1/1 2/2 2/3 3/4
    rated        5    4    2    4      so: at least 3.0

How the threshold is chosen, and how it is tested on documents it was not chosen on, stands in
agreement/precision.py. Where no score reaches the precision, or too little is rated to tell,
nothing is selected, and a warning says why.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from evaljudge.agreement import Precise, precise
from evaljudge.agreement.rated import Ids, Rated
from evaljudge.analysis.calibrated import FEW
from evaljudge.analysis.tables import Column
from evaljudge.config import Condition, Selection
from evaljudge.sections.figures import short

Scale = tuple[str, str]
"""A scorer and an axis."""
Target = tuple[Scale, float, float]
"""A precision on a scale, and from which rating on a candidate is good."""
Found = Mapping[Target, Precise | None]
"""The threshold for each target; None where too few documents are rated."""


def scale_of(condition: Condition) -> Scale:
    return condition.scorer, condition.axis


def target_of(condition: Condition) -> Target | None:
    if condition.precision is None or condition.good is None:
        return None
    return scale_of(condition), condition.precision, condition.good


def targets(
    selections: Sequence[Selection], rated: Rated, documents: Ids, resamples: int, seed: int
) -> Found:
    """The threshold for each precision that a condition asks for."""
    found = dict[Target, Precise | None]()
    for condition in (one for rule in selections for one in rule.all):
        if (target := target_of(condition)) is not None:
            (scorer, axis), precision, good = target
            scores, ratings = rated.scores.get((scorer, axis)), rated.human.get(axis)
            if scores is None or ratings is None:
                found[target] = None
            elif target not in found:
                drawn = {"resamples": resamples, "seed": seed}
                rows = documents, scores, ratings
                found[target] = precise(*rows, good=good, target=precision, **drawn)
    return found


def unmet(selections: Sequence[Selection], rated: Rated, found: Found) -> list[str]:
    """Why a selection selects nothing, whatever the candidates."""
    return [
        f"{_where(rule, condition)}: {why}: nothing is selected"
        for rule in selections
        for condition in rule.all
        if (why := _hindrance(condition, rated, found))
    ]


def out_of_reach(selections: Sequence[Selection], columns: Mapping[Scale, Column]) -> Iterator[str]:
    """Thresholds that no score of the run reaches: as a rule they are of another scale."""
    for rule in selections:
        for condition in rule.all:
            column = columns.get(scale_of(condition))
            if column is None or not column.scored:
                continue
            where, least, most = _where(rule, condition), condition.at_least, condition.at_most
            if least is not None and least > column.highest:
                highest = f"the highest is {short(column.highest)}"
                yield f"{where}: no score reaches {short(least)} ({highest}): nothing is selected"
            if most is not None and most < column.lowest:
                lowest = f"the lowest is {short(column.lowest)}"
                yield f"{where}: no score is down to {short(most)} ({lowest}): nothing is selected"


def _where(rule: Selection, condition: Condition) -> str:
    return f"select.{rule.name}: {condition.scorer} on {condition.axis}"


def _hindrance(condition: Condition, rated: Rated, thresholds: Found) -> str:
    """Empty where there is none."""
    target = target_of(condition)
    if scale_of(condition) not in rated.scores:
        axes = ", ".join(rated.axes_of(condition.scorer)) or "no axis"
        return f"no scores there (calibrated on: {axes})"
    if target is None:
        return ""
    found, (_, precision, good) = thresholds[target], target
    if found is None:
        return FEW
    if not found.base.value:
        return f"no candidate is rated {short(good)} or higher"
    if found.threshold is None:
        best = f"the best precision is {short(found.best)}"
        return f"no threshold reaches {short(precision)}; {best}"
    return ""
