"""Means and pass rates on people's scale: of each scorer and axis where part of the texts is rated.

    with_people_scale(grid) -> [PeopleScale(…, scorer="synthetic", axis="fluency"), …]

A pass rate is asked for by a condition of a selection that says which ratings are `good` and has a
threshold: `at_least`, or the one that its `precision` led to.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

from evaljudge.agreement.rated import Floats, Key, is_repetition
from evaljudge.agreement.significance import holm
from evaljudge.analysis.selection import NONE_FOUND, Found, scale_of, target_of
from evaljudge.config import Condition, Selection
from evaljudge.decisions.grid import Grid
from evaljudge.decisions.labelled import FEWEST
from evaljudge.decisions.pass_rate import PassRate, pass_rate
from evaljudge.decisions.people import PeopleScale, people_scale
from evaljudge.sections.figures import count, probability

ALPHA = 0.05
FEW_DOCUMENTS = 10


def with_people_scale(
    grid: Grid,
    selections: Sequence[Selection] = (),
    thresholds: Found = NONE_FOUND,
    axes: Collection[str] | None = None,
) -> list[PeopleScale]:
    """`axes`: those of people that are looked at; `thresholds`: of each precision asked for.

    Where texts were drawn to be rated with known probabilities, none where the grid lacks unrated
    documents: the mean score of all texts is then not known.
    """
    rows = []
    for axis in sorted(grid.human if axes is None else set(axes) & set(grid.human)):
        human, drawn = grid.human[axis], grid.probabilities.get(axis)
        scorers = {} if _is_unknown(grid, axis) else grid.meeting(axis)
        for key, scores in scorers.items():
            found = people_scale(grid.systems, scores, human, drawn)
            if found is not None and not is_repetition(key[0]):
                rates = list(_pass_rates(key, scores, human, drawn, selections, thresholds))
                found = replace(found, pass_rates=rates, sampled=grid.is_sample)
                rows.append(replace(found, scorer=key[0], axis=axis))
    return rows


def _is_unknown(grid: Grid, axis: str) -> bool:
    return grid.is_sample and axis in grid.probabilities


def _pass_rates(
    key: Key,
    scores: Floats,
    human: Floats,
    drawn: Floats | None,
    selections: Sequence[Selection],
    thresholds: Found,
) -> Iterator[PassRate]:
    asked = {
        (threshold, one.good)
        for rule in selections
        for one in rule.all
        if scale_of(one) == key and one.good is not None
        if (threshold := _threshold(one, thresholds)) is not None
    }
    for threshold, good in sorted(asked):
        found = pass_rate(scores, human, drawn, threshold=threshold, good=good)
        if found is not None:
            yield found


def _threshold(condition: Condition, thresholds: Found) -> float | None:
    """The higher one, where the condition has both."""
    target = target_of(condition)
    found = thresholds.get(target) if target else None
    chosen = found.threshold if found else None
    if target and chosen is None:
        return None
    return max((one for one in (condition.at_least, chosen) if one is not None), default=None)


def scale_warnings(grid: Grid, rows: Sequence[PeopleScale]) -> Iterator[str]:
    """Where the means assume what the ratings speak against, or rest on too little."""
    if unknown := [axis for axis in sorted(grid.human) if _is_unknown(grid, axis)]:
        yield (
            f"{', '.join(unknown)}: too many texts to correct people's means by the scores, as the "
            "rated ones were drawn with different probabilities: the report has their own mean"
        )
    tested = [row for row in rows if row.p_random is not None]
    adjusted = holm([row.p_random for row in tested if row.p_random is not None])
    ps = {(row.scorer, row.axis): p for row, p in zip(tested, adjusted, strict=True)}
    for axis in dict.fromkeys(row.axis for row in rows):
        of_axis = [row for row in rows if row.axis == axis]
        p, scorer = min((ps.get((row.scorer, axis), 1.0), row.scorer) for row in of_axis)
        if p < ALPHA:
            yield (
                f"{axis}: the rated texts differ in score from the others by more than chance "
                f"({scorer}: p {probability(p)}): they do not look drawn at random, so means on "
                "people's scale may be wrong"
            )
        widest = max(of_axis, key=lambda row: row.labels)
        few = [row.system for row in widest.systems if row.texts and row.labels < FEWEST]
        if few:
            more = f" and {count(len(few) - 3)} more" if len(few) > 3 else ""
            yield (
                f"{axis}: no mean on people's scale for {', '.join(few[:3])}{more}: "
                f"fewer than {FEWEST} rated texts"
            )
        elif widest.labelled_documents < FEW_DOCUMENTS:
            yield (
                f"{axis}: means on people's scale rest on {widest.labelled_documents} rated "
                f"documents: rate {FEW_DOCUMENTS} or more"
            )
