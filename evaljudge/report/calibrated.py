"""What a calibration found, for a terminal."""

from collections.abc import Iterator, Sequence

from evaljudge.agreement import Precise
from evaljudge.analysis.calibration import CalibratedRow
from evaljudge.analysis.selection import shortfall
from evaljudge.decisions.certified import Certified
from evaljudge.report.lines import at_once
from evaljudge.report.screen import on_screen, wrapped
from evaljudge.sections import Table
from evaljudge.sections.figures import (
    FEW_DOCUMENTS,
    NONE,
    correlation,
    count,
    measured,
    only,
    short,
)
from evaljudge.text import one_line

ERRORS = (
    "Errors are mean absolute errors, in units of the ratings. Error of mean: if every text got "
    "the mean rating. Less by: the share of it that the calibrated scores avoid. Each document is "
    "judged by what was learned from others. Spearman's: the mean over documents. Intervals: 95%."
)
SELECTED = (
    "Texts are selected by the threshold: the lowest score that reaches the target on all "
    "documents. Precision and recall are those of thresholds chosen on other documents, so a "
    "precision may miss the target. Good and selected are shares of the pairs; recall is the share "
    "of the good that is selected."
)
CERTIFIED = (
    "With this confidence over the rated documents, the threshold has the target precision on new "
    "documents like them. Selected is the share of all texts. Precision and recall are estimates "
    "from the documents that the threshold was chosen on, so they are too high on average."
)


def calibrated_text(rows: Sequence[CalibratedRow], folds: int, warned: Sequence[str]) -> str:
    folds = max((row.fit.fitted.folds for row in rows), default=folds)
    head = f"Calibrated to human ratings: isotonic, cross-fitted in {folds} folds by document"
    warnings = [f"warning    {one_line(warning)}\n" for warning in warned]
    blocks = [f"{head}\n{on_screen(_errors(rows))}", wrapped(ERRORS)]
    if any(row.fit.intervals for row in rows):
        blocks.append(f"Intervals for single texts\n{on_screen(_intervals(rows))}")
    if any(only("sample", row.fit.fitted.documents) for row in rows):
        blocks.append(wrapped(FEW_DOCUMENTS))
    selections = [(row, row.selection) for row in rows if row.selection is not None]
    if selections:
        blocks += _selections(selections)
    return "".join(warnings) + "\n" * bool(warnings) + "\n\n".join(blocks) + "\n"


def _errors(rows: Sequence[CalibratedRow]) -> Table:
    heads = [
        *("scorer", "axis", "documents", "pairs", "unscored"),
        *("error of mean", "calibrated", "less by", "Spearman before", "Spearman after"),
    ]
    return Table("", heads, [_error_cells(row) for row in rows], "ll" + "r" * 8, lead=2)


def _intervals(rows: Sequence[CalibratedRow]) -> Table:
    heads = ["scorer", "axis", "documents", "nominal", "coverage", "mean width"]
    cells = [
        [row.fit.scorer, row.fit.axis, count(interval.documents),
         *map(correlation, (interval.confidence, interval.coverage, interval.width))]
        for row in rows
        for interval in row.fit.intervals
        if not interval.system
    ]  # fmt: skip
    return Table("", heads, cells, "llrrrr", lead=2)


def _error_cells(row: CalibratedRow) -> list[str]:
    errors, fitted = row.calibration, row.fit.fitted
    after = (errors.error_after, errors.less, errors.spearman_before, errors.spearman_after)
    return [
        *(row.fit.scorer, row.fit.axis),
        *map(count, (fitted.documents, fitted.pairs, row.fit.unscored)),
        correlation(errors.error_of_mean.value),
        *(measured(error, "sample", fitted.documents, error.value) for error in after),
    ]


def _selections(chosen: Sequence[tuple[CalibratedRow, Precise | Certified]]) -> Iterator[str]:
    asked = chosen[0][1]
    heads = ["scorer", "axis", "good", "threshold", "selected", "precision", "recall"]
    rows = [[row.fit.scorer, row.fit.axis, *_selection_cells(rule)] for row, rule in chosen]
    table = on_screen(Table("", heads, rows, "ll" + "r" * 5, lead=2))
    sure, about = "", SELECTED
    if isinstance(asked, Certified):
        sure = f" with {short(asked.confidence * 100)}% confidence"
        about = f"{CERTIFIED} {at_once([asked.confidence] * len(chosen))}".rstrip()
    good = f"where a rating of {short(asked.good)} is good"
    yield f"Selected for a precision of {short(asked.target)}{sure}, {good}\n{table}"
    notes = [f"{row.name}: {note}." for row, rule in chosen for note in _shortfalls(rule)]
    yield "\n".join([wrapped(about), *(wrapped(one_line(note)) for note in notes)])


def _selection_cells(rule: Precise | Certified) -> list[str]:
    threshold = NONE if rule.threshold is None else short(rule.threshold)
    if isinstance(rule, Certified):
        shares = map(correlation, (rule.coverage, rule.precision, rule.recall))
        return [correlation(rule.base), threshold, *shares]
    tried = (measured(s, "sample", rule.documents, s.value) for s in (rule.precision, rule.recall))
    return [correlation(rule.base.value), threshold, correlation(rule.selected.value), *tried]


def _shortfalls(rule: Precise | Certified) -> Iterator[str]:
    if why := shortfall(rule):
        yield why
    elif isinstance(rule, Precise) and (lacking := rule.thresholds.count(None)):
        folds = f"in {lacking} of {len(rule.thresholds)} folds nothing is selected"
        yield f"{folds}: no threshold of the others reaches {short(rule.target)}"
