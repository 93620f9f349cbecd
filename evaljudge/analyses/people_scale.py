"""What mean rating would all texts get, and how many would pass, where few are rated?

| axis    | scorer    | rated texts | one counts as | highest        | lower than it |
| ------- | --------- | ----------- | ------------- | -------------- | ------------- |
| fluency | synthetic | 160 of 1600 | 1.9           | BART (4.21)    | LEAD-3        |

A pass rate is asked for by a condition of a selection that says which ratings are `good` and has a
threshold: `at_least`, or the one that its `precision` led to.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from evaljudge.agreement.rated import Floats, Grid, Key, is_repetition
from evaljudge.agreement.significance import holm
from evaljudge.analyses import Analysis, Rank, Rows, RunFrame, Warned
from evaljudge.analysis.findings import Findings
from evaljudge.analysis.selection import Found, scale_of, target_of
from evaljudge.config import Condition
from evaljudge.decisions.people import (
    Difference,
    PassRate,
    PeopleScale,
    SystemOnScale,
    pass_rate,
    people_scale,
)
from evaljudge.decisions.powered import FEWEST, Bounded
from evaljudge.sections import Cell, Named, Section, Table
from evaljudge.sections.figures import NONE, SAMPLED, bracketed, correlation, count, probability

TITLE = "On people's scale, from few ratings"
ASSUMED = (
    "Assumed: the texts to be rated were drawn at random, whole documents or single texts, or by a "
    "sheet of `evaljudge label`, whose probabilities are used. Ratings alone cannot show that."
)
ABOUT = (
    "Part of the texts is rated and all are scored: the mean rating that all texts would get. "
    "Corrected: the mean of the ratings, moved by what the scores say of the texts without one "
    "(prediction-powered inference). The judge's scale and bias do not matter. In brackets: 95% "
    "intervals over documents, too narrow where few texts fail heavily. The method does not know "
    "the ends of the scale: read a value beyond an end as that end."
)
COUNTS = (
    "One counts as: how many ratings without scores would tell as much as one with them. Where "
    "that is 1 or less, the scores add nothing: take the ratings alone."
)
LOWER = "Lower: the corrected difference is not 0, at 5% after Holm's correction over all pairs."
NO_INTERVAL = "Without an interval: fewer than three documents whose rating is not the usual one."
RATES = (
    "Good: the share of all texts that people would rate so high, by the ratings alone, and "
    "corrected by which texts pass the threshold."
)
SAMPLE = "Of the documents without ratings, a seeded sample."
ALPHA = 0.05
FEW_DOCUMENTS = 10


def rows(run: RunFrame) -> Iterator[PeopleScale]:
    """Where texts were drawn to be rated with known probabilities, none where the grid lacks
    unrated documents: the mean score of all texts is then not known."""
    grid = run.grid
    for axis in sorted(grid.human):
        human, drawn = grid.human[axis], grid.probabilities.get(axis)
        scorers = {} if _is_unknown(grid, axis) else grid.meeting(axis)
        for key, scores in scorers.items():
            found = people_scale(grid.systems, scores, human, drawn)
            if found is not None and not is_repetition(key[0]):
                rates = list(_pass_rates(run, key, scores, human, drawn))
                found = replace(found, pass_rates=rates, sampled=grid.is_sample)
                yield replace(found, scorer=key[0], axis=axis)


def _is_unknown(grid: Grid, axis: str) -> bool:
    return grid.is_sample and axis in grid.probabilities


def _pass_rates(
    run: RunFrame, key: Key, scores: Floats, human: Floats, drawn: Floats | None
) -> Iterator[PassRate]:
    asked = {
        (threshold, one.good)
        for rule in (run.config.select if run.config else ())
        for one in rule.all
        if scale_of(one) == key and one.good is not None
        if (threshold := _threshold(one, run.thresholds)) is not None
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


def warnings(run: RunFrame, rows: Rows) -> Iterator[Warned]:
    """Where the means assume what the ratings speak against, or rest on too little."""
    for kind, said in _doubts(run.grid, rows["people_scale"]):
        yield Warned(kind, Rank.MEANS, said)


def _doubts(grid: Grid, rows: Sequence[PeopleScale]) -> Iterator[tuple[str, str]]:
    """The identifier and the text of each warning."""
    if unknown := [axis for axis in sorted(grid.human) if _is_unknown(grid, axis)]:
        said = (
            "too many texts to correct people's means by the scores, as the rated ones were drawn "
            "with different probabilities: the report has their own mean"
        )
        yield "too many texts", f"{', '.join(unknown)}: {said}"
    tested = [row for row in rows if row.p_random is not None]
    adjusted = holm([row.p_random for row in tested if row.p_random is not None])
    ps = {(row.scorer, row.axis): p for row, p in zip(tested, adjusted, strict=True)}
    for axis in dict.fromkeys(row.axis for row in rows):
        of_axis = [row for row in rows if row.axis == axis]
        p, scorer = min((ps.get((row.scorer, axis), 1.0), row.scorer) for row in of_axis)
        if p < ALPHA:
            said = (
                f"the rated texts differ in score from the others by more than chance ({scorer}: p "
                f"{probability(p)}): they do not look drawn at random, so means on people's scale "
                "may be wrong"
            )
            yield "not at random", f"{axis}: {said}"
        widest = max(of_axis, key=lambda row: row.labels)
        few = [row.system for row in widest.systems if row.texts and row.labels < FEWEST]
        if few:
            more = f" and {count(len(few) - 3)} more" if len(few) > 3 else ""
            said = f"no mean on people's scale for {', '.join(few[:3])}{more}"
            yield "no mean", f"{axis}: {said}: fewer than {FEWEST} rated texts"
        elif widest.labelled_documents < FEW_DOCUMENTS:
            said = f"means on people's scale rest on {widest.labelled_documents} rated documents"
            yield "few documents", f"{axis}: {said}: rate {FEW_DOCUMENTS} or more"


def section(findings: Findings, in_short: bool) -> Iterator[Section]:
    rows: list[PeopleScale] = [row for row in findings["people_scale"] if _is_known(row)]
    chosen = _chosen([row for row in rows if row.slope is not None])
    notes = [f"{SAMPLED} {SAMPLE}"] if any(row.sampled for row in rows) else []
    if in_short:
        yield Section(TITLE, [], [_summary(chosen)], [ASSUMED, COUNTS, LOWER, *notes])
        return
    tables = [_summary(chosen), _gains(rows), *map(_systems, chosen), *_rates(rows)]
    about = [ABOUT, ASSUMED, COUNTS]
    if any(row.pass_rates for row in rows):
        about.append(RATES)
    tables = [table for table in tables if table.rows]
    yield Section(TITLE, about, tables, [LOWER, NO_INTERVAL, *notes])


def _is_known(row: PeopleScale) -> bool:
    return row.slope is not None or row.together.value is not None


def _chosen(rows: Sequence[PeopleScale]) -> list[PeopleScale]:
    """Of each axis, that of the scorer which adds most."""
    axes = dict.fromkeys(row.axis for row in rows)
    return [
        max((row for row in rows if row.axis == axis), key=lambda row: row.effective or 0)
        for axis in axes
    ]


def _summary(rows: Sequence[PeopleScale]) -> Table:
    heads = ["axis", "scorer", "highest", "lower than it", "rated texts", "one counts as"]
    cells = [
        [row.axis, row.scorer, *_highest(row), _texts(row), _counts_as(row.effective, row.labels)]
        for row in rows
    ]
    return Table(
        "The highest mean of each axis, by the scorer that adds most", heads, cells, "llllrr"
    )


def _highest(row: PeopleScale) -> tuple[Cell, Cell]:
    best = _best(row)
    lower = [Named(one.system) for one in row.systems if _is_lower(row, one, best)]
    return [Named(best.system, correlation(best.corrected.value))], lower or NONE


def _best(row: PeopleScale) -> SystemOnScale:
    known = [one for one in row.systems if one.corrected.value is not None]
    return max(known, key=lambda one: one.corrected.value or 0.0)


def _is_lower(row: PeopleScale, one: SystemOnScale, best: SystemOnScale) -> bool:
    pair = _pair(row, one, best)
    return pair is not None and pair.p_holm is not None and pair.p_holm < ALPHA


def _pair(row: PeopleScale, one: SystemOnScale, best: SystemOnScale) -> Difference | None:
    names = {one.system, best.system}
    return next((pair for pair in row.differences if {pair.system, pair.other} == names), None)


def _texts(row: PeopleScale) -> str:
    return f"{count(row.labels)} of {count(row.texts)}{SAMPLED if row.sampled else ''}"


def _counts_as(effective: float | None, labels: int) -> str:
    return NONE if effective is None else f"{effective / labels:.2f}"


def _gains(rows: Sequence[PeopleScale]) -> Table:
    heads = ["axis", "scorer", "rated texts", "documents", "one counts as", "for differences",
             "a point is worth", "all texts, ratings alone", "all texts, corrected"]  # fmt: skip
    cells = [
        [
            row.axis,
            row.scorer,
            _texts(row),
            f"{count(row.labelled_documents)} of {count(row.documents)}",
            _counts_as(row.effective, row.labels),
            _counts_as(row.effective_of_differences, row.labels),
            correlation(row.slope),
            _bounded(row.together_by_labels),
            _bounded(row.together),
        ]
        for row in rows
    ]
    return Table("What each scorer's scores add", heads, cells, "llrrrrrrr", lead=2)


def _systems(row: PeopleScale) -> Table:
    best = _best(row)
    heads = ["system", "rated", "judge's own mean", "ratings alone", "corrected",
             "less the highest", "p (Holm)"]  # fmt: skip
    ordered = sorted(row.systems, key=lambda one: -(one.corrected.value or float("-inf")))
    cells = [[*_system(one), *_apart(row, one, best)] for one in ordered]
    return Table(f"{row.axis}: systems, by the scores of {row.scorer}", heads, cells, "lrrrrrr")


def _system(one: SystemOnScale) -> list[str]:
    means = _bounded(one.by_labels), _bounded(one.corrected)
    return [one.system, count(one.labels), correlation(one.judge), *means]


def _apart(row: PeopleScale, one: SystemOnScale, best: SystemOnScale) -> tuple[str, str]:
    pair = _pair(row, one, best)
    if pair is None:
        return NONE, NONE
    apart = pair.corrected
    if pair.system == best.system and apart.value is not None:
        low, high = (None if end is None else -end for end in (apart.high, apart.low))
        apart = Bounded(-apart.value, low, high)
    return _bounded(apart), probability(pair.p_holm)


def _bounded(one: Bounded) -> str:
    return bracketed(one.value, one.low, one.high)


def _rates(rows: Sequence[PeopleScale]) -> Iterator[Table]:
    cells = [_rate(row, rate) for row in rows for rate in row.pass_rates]
    if cells:
        heads = ["axis", "scorer", "good from", "passes from", "passes", "good: ratings alone",
                 "good: corrected"]  # fmt: skip
        yield Table("What share of the texts is good", heads, cells, "llrrrrr", lead=2)


def _rate(row: PeopleScale, rate: PassRate) -> list[Cell]:
    return [
        row.axis,
        row.scorer,
        *(f"{number:.6g}" for number in (rate.good, rate.threshold)),
        correlation(rate.passing),
        *map(_bounded, (rate.by_labels, rate.corrected)),
    ]


ANALYSIS = Analysis(PeopleScale, rows, section, place=40, warnings=warnings)
