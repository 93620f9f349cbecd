"""What mean rating would all texts get, and how many would pass, where few are rated?

A pass rate is asked for by a condition of a selection that says which ratings are `good` and has a
threshold: `at_least`, or the one that its `precision` led to.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from evaljudge.agreement.rated import Floats, Grid, Key, is_repetition
from evaljudge.agreement.significance import holm
from evaljudge.analyses import Analysis, Findings, Rank, Rows, RunFrame, Section, Warned
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
from evaljudge.sections import Named, Table
from evaljudge.sections.figures import (
    NONE,
    SAMPLED,
    bounded,
    correlation,
    count,
    notes_on,
    probability,
    short,
    tabled,
)

TITLE = "On people's scale, from few ratings"
ASSUMED = (
    "Assumed: the texts to be rated were drawn at random, whole documents or single texts, or by a "
    "sheet of `evaljudge label`, whose probabilities are used. Ratings alone cannot show that."
)
ABOUT = (
    "Part of the texts is rated and all are scored: the mean rating that all texts would get. "
    "Corrected: the mean of the ratings, moved by what the scores say of the unrated texts "
    "(prediction-powered inference); the judge's scale and bias do not matter. In brackets: 95% "
    "intervals over documents, too narrow where few texts fail heavily. Read a value beyond an end "
    "of the scale as that end."
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
    """The mean score of all texts, where texts were drawn to be rated with known probabilities;
    none where the grid lacks unrated documents, since it is then not known."""
    grid = run.grid
    for axis in sorted(grid.human):
        human, drawn = grid.human[axis], grid.probabilities.get(axis)
        scorers = {} if _is_unknown(grid, axis) else grid.meeting(axis)
        for key, scores in scorers.items():
            scale = people_scale(grid.systems, scores, human, drawn)
            if scale is not None and not is_repetition(key[0]):
                rates = _pass_rates(run, key, scores, human, drawn)
                scale = replace(scale, pass_rates=rates, sampled=grid.is_sample)
                yield replace(scale, scorer=key[0], axis=axis)


def _is_unknown(grid: Grid, axis: str) -> bool:
    return grid.is_sample and axis in grid.probabilities


def _pass_rates(
    run: RunFrame, key: Key, scores: Floats, human: Floats, drawn: Floats | None
) -> list[PassRate]:
    asked = {
        (threshold, condition.good)
        for rule in (run.config.select if run.config else ())
        for condition in rule.all
        if scale_of(condition) == key and condition.good is not None
        if (threshold := _threshold(condition, run.thresholds)) is not None
    }
    rates = (pass_rate(scores, human, drawn, threshold=t, good=good) for t, good in sorted(asked))
    return [rate for rate in rates if rate is not None]


def _threshold(condition: Condition, thresholds: Found) -> float | None:
    """The higher one, where the condition has both."""
    target = target_of(condition)
    rule = thresholds.get(target) if target else None
    chosen = rule.threshold if rule else None
    if target and chosen is None:
        return None
    return max((bound for bound in (condition.at_least, chosen) if bound is not None), default=None)


def warnings(run: RunFrame, rows: Rows) -> Iterator[Warned]:
    grid, scales = run.grid, rows["people_scale"]
    if unknown := [axis for axis in sorted(grid.human) if _is_unknown(grid, axis)]:
        message = (
            "too many texts to correct people's means by the scores, as the rated ones were drawn "
            "with different probabilities: the report has their own mean"
        )
        yield Warned("too many texts", Rank.MEANS, f"{', '.join(unknown)}: {message}")
    tested = [row for row in scales if row.p_random is not None]
    adjusted = holm([row.p_random for row in tested])
    ps = {(row.scorer, row.axis): p for row, p in zip(tested, adjusted, strict=True)}
    for axis in dict.fromkeys(row.axis for row in scales):
        of_axis = [row for row in scales if row.axis == axis]
        p, scorer = min((ps.get((row.scorer, axis), 1.0), row.scorer) for row in of_axis)
        if p < ALPHA:
            message = (
                f"the rated texts differ in score from the others by more than chance ({scorer}: p "
                f"{probability(p)}): they do not look drawn at random, so means on people's scale "
                "may be wrong"
            )
            yield Warned("not at random", Rank.MEANS, f"{axis}: {message}")
        widest = max(of_axis, key=lambda row: row.labels)
        few = [row.system for row in widest.systems if row.texts and row.labels < FEWEST]
        if few:
            more = f" and {count(len(few) - 3)} more" if len(few) > 3 else ""
            message = f"no mean on people's scale for {', '.join(few[:3])}{more}"
            on_sheets = "texts rated on sheets" if axis in grid.probabilities else "rated texts"
            message += f": fewer than {FEWEST} {on_sheets}"
            yield Warned("no mean", Rank.MEANS, f"{axis}: {message}")
        elif widest.labelled_documents < FEW_DOCUMENTS:
            message = f"means on people's scale rest on {widest.labelled_documents} rated documents"
            message += f": rate {FEW_DOCUMENTS} or more"
            yield Warned("few documents", Rank.MEANS, f"{axis}: {message}")


def section(findings: Findings, in_short: bool) -> Iterator[Section]:
    rows: list[PeopleScale] = [
        row
        for row in findings["people_scale"]
        if row.slope is not None or row.together.value is not None
    ]
    estimated = [row for row in rows if row.slope is not None]
    chosen = [  # on each axis, the scorer that adds most
        max((row for row in estimated if row.axis == axis), key=lambda row: row.effective or 0)
        for axis in dict.fromkeys(row.axis for row in estimated)
    ]
    notes = notes_on(rows, SAMPLE)
    if in_short:
        yield Section(TITLE, [], [_summary(chosen)], [ASSUMED, COUNTS, LOWER, *notes])
        return
    rates = [(row, rate) for row in rows for rate in row.pass_rates]
    tables = [_summary(chosen), _gains(rows), *map(_systems, chosen), _rates(rates)]
    about = [ABOUT, ASSUMED, COUNTS, *([RATES] if rates else [])]
    yield Section(TITLE, about, tables, [LOWER, NO_INTERVAL, *notes])


def _summary(rows: Sequence[PeopleScale]) -> Table:
    columns = {
        "axis": "axis",
        "scorer": "scorer",
        "highest": lambda row: [Named(_best(row).system, correlation(_best(row).corrected.value))],
        "lower than it": _lower,
        "rated texts": _texts,
        "one counts as": lambda row: _counts_as(row.effective, row.labels),
    }
    title = "The highest mean of each axis, by the scorer that adds most"
    return tabled(title, rows, 4, columns, lead=1)


def _best(row: PeopleScale) -> SystemOnScale:
    estimated = [system for system in row.systems if system.corrected.value is not None]
    return max(estimated, key=lambda system: system.corrected.value or 0.0)


def _lower(row: PeopleScale) -> list[Named]:
    pairs = {system.system: _pair(row, system, _best(row)) for system in row.systems}
    ps = {name: pair.p_holm for name, pair in pairs.items() if pair}
    return [Named(name) for name, p in ps.items() if p is not None and p < ALPHA]


def _pair(row: PeopleScale, system: SystemOnScale, best: SystemOnScale) -> Difference | None:
    names = {system.system, best.system}
    return next((pair for pair in row.differences if {pair.system, pair.other} == names), None)


def _texts(row: PeopleScale) -> str:
    return f"{count(row.labels)} of {count(row.texts)}{SAMPLED if row.sampled else ''}"


def _counts_as(effective: float | None, labels: int) -> str:
    return NONE if effective is None else f"{effective / labels:.2f}"


def _gains(rows: Sequence[PeopleScale]) -> Table:
    columns = {
        "axis": "axis",
        "scorer": "scorer",
        "rated texts": _texts,
        "documents": lambda row: f"{count(row.labelled_documents)} of {count(row.documents)}",
        "one counts as": lambda row: _counts_as(row.effective, row.labels),
        "for differences": lambda row: _counts_as(row.effective_of_differences, row.labels),
        "a point is worth": "slope",
        "all texts, ratings alone": lambda row: bounded(row.together_by_labels),
        "all texts, corrected": lambda row: bounded(row.together),
    }
    return tabled("What each scorer's scores add", rows, 2, columns)


def _systems(row: PeopleScale) -> Table:
    best = _best(row)
    columns = {
        "system": "system",
        "rated": "labels",
        "judge's own mean": "judge",
        "ratings alone": lambda system: bounded(system.by_labels),
        "corrected": lambda system: bounded(system.corrected),
        "less the highest": lambda system: bounded(_less(_pair(row, system, best), best)),
        "p (Holm)": lambda system: probability(getattr(_pair(row, system, best), "p_holm", None)),
    }
    ordered = sorted(row.systems, key=lambda system: -(system.corrected.value or float("-inf")))
    return tabled(f"{row.axis}: systems, by the scores of {row.scorer}", ordered, 1, columns)


def _less(pair: Difference | None, best: SystemOnScale) -> Bounded | None:
    difference = pair.corrected if pair else None
    if pair is None or pair.system != best.system or difference is None or difference.value is None:
        return difference
    low, high = (None if end is None else -end for end in (difference.high, difference.low))
    return Bounded(-difference.value, low, high)


def _rates(rates: Sequence[tuple[PeopleScale, PassRate]]) -> Table:
    columns = {
        "axis": lambda both: both[0].axis,
        "scorer": lambda both: both[0].scorer,
        "good from": lambda both: short(both[1].good),
        "passes from": lambda both: short(both[1].threshold),
        "passes": lambda both: both[1].passing,
        "good: ratings alone": lambda both: bounded(both[1].by_labels),
        "good: corrected": lambda both: bounded(both[1].corrected),
    }
    return tabled("What share of the texts is good", rates, 2, columns)


ANALYSIS = Analysis(PeopleScale, rows, section, place=40, warnings=warnings)
