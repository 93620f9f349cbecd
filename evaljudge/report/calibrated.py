"""What a calibration found, for a terminal.

scorer   axis       documents  pairs  unscored  error of mean  calibrated            less by
unieval  coherence         60    360         0          0.570  0.426 [0.392, 0.461]  0.252 [0.18…
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from evaljudge.agreement import Measured, Precise
from evaljudge.analysis.calibrated import Calibrated, CalibratedRow
from evaljudge.report.screen import on_screen, wrapped
from evaljudge.sections import Table
from evaljudge.sections.figures import (
    FEW_DOCUMENTS,
    NONE,
    bracketed,
    correlation,
    count,
    only,
    short,
)
from evaljudge.text import one_line

ERRORS = (
    "Errors are mean absolute ones, in units of the ratings: of always saying the mean rating, and "
    "of the calibrated scores, which are less wrong by the share told. Whatever is said of a "
    "document was learned from the other folds, in the mean over several divisions into folds. "
    "Spearman's is the mean over documents. Intervals: "
    "95%, whole documents resampled."
)
SELECTED = (
    "The threshold is the lowest score that reaches the target on all documents: it is what is "
    "selected by. How well that works is told by the thresholds of the other folds, on documents "
    "they were not chosen on, so a precision may miss the target. Good and selected are shares of "
    "the pairs; recall is the share of the good that is selected."
)


def calibrated_text(found: Calibrated) -> str:
    folds = max((row.fit.fitted.folds for row in found.rows), default=found.folds)
    head = f"Calibrated to human ratings: isotonic, cross-fitted in {folds} folds by document"
    warnings = [f"warning    {one_line(warning)}\n" for warning in found.warnings]
    blocks = [f"{head}\n{on_screen(_errors(found.rows))}", wrapped(ERRORS)]
    if any(only("sample", row.fit.fitted.documents) for row in found.rows):
        blocks.append(wrapped(FEW_DOCUMENTS))
    selections = [(row, row.selection) for row in found.rows if row.selection is not None]
    if selections:
        blocks += _selections(selections)
    return "".join(warnings) + "\n" * bool(warnings) + "\n\n".join(blocks) + "\n"


def _errors(rows: Sequence[CalibratedRow]) -> Table:
    heads = [
        *("scorer", "axis", "documents", "pairs", "unscored"),
        *("error of mean", "calibrated", "less by", "Spearman before", "Spearman after"),
    ]
    return Table("", heads, [_error_cells(row) for row in rows], "ll" + "r" * 8, lead=2)


def _error_cells(row: CalibratedRow) -> list[str]:
    found, fitted = row.calibration, row.fit.fitted
    after = (found.error_after, found.less, found.spearman_before, found.spearman_after)
    return [
        *(row.fit.scorer, row.fit.axis),
        *map(count, (fitted.documents, fitted.pairs, row.fit.unscored)),
        correlation(found.error_of_mean.value),
        *(_within(one, fitted.documents) for one in after),
    ]


def _selections(chosen: Sequence[tuple[CalibratedRow, Precise]]) -> Iterator[str]:
    asked = chosen[0][1]
    heads = ["scorer", "axis", "good", "threshold", "selected", "precision", "recall"]
    rows = [_selection_cells(row, found) for row, found in chosen]
    table = on_screen(Table("", heads, rows, "ll" + "r" * 5, lead=2))
    target = f"a precision of {short(asked.target)}, where a rating of {short(asked.good)} is good"
    yield f"Selected for {target}\n{table}"
    notes = [wrapped(one_line(note)) for one in chosen for note in _shortfalls(*one)]
    yield "\n".join([wrapped(SELECTED), *notes])


def _selection_cells(row: CalibratedRow, found: Precise) -> list[str]:
    threshold = NONE if found.threshold is None else short(found.threshold)
    shares = [_within(one, found.documents) for one in (found.precision, found.recall)]
    plain = [correlation(found.base.value), threshold, correlation(found.selected.value)]
    return [row.fit.scorer, row.fit.axis, *plain, *shares]


def _shortfalls(row: CalibratedRow, found: Precise) -> Iterator[str]:
    """Why there is no threshold, here or in some folds."""
    target = short(found.target)
    lacking = found.thresholds.count(None)
    if not found.base.value:
        yield f"{row.name}: no candidate is rated {short(found.good)} or higher."
    elif found.threshold is None:
        best = short(found.best)
        yield f"{row.name}: no threshold reaches {target}; the best precision is {best}."
    if lacking and found.threshold is not None:
        folds = f"in {lacking} of {len(found.thresholds)} folds nothing is selected"
        yield f"{row.name}: {folds}: no threshold of the others reaches {target}."


def _within(found: Measured, documents: int) -> str:
    few = only("sample", documents)
    if few and found.value is not None:
        return f"{correlation(found.value)} ({few})"
    return bracketed(found.value, found.low, found.high)
