"""`evaljudge calibrate`: scores as the ratings people would give, and what to select by.

    calibrated(CalibrateOptions("cases.jsonl", "scores.jsonl", good=4, precision=0.8)).rows

A scorer's axis meets the human axis of the same name; a scorer without axes is calibrated to each.
"""

import json
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from evaljudge.agreement import Precise, calibration, precise
from evaljudge.agreement.rated import Key, Rated, Text
from evaljudge.analyses.intervals import WIDE
from evaljudge.analysis.calibration import (
    FEW,
    SUFFIX,
    CalibratedRow,
    calibration_json,
    fit_of,
    values_of,
    write_calibrated,
)
from evaljudge.analysis.selection import shortfall
from evaljudge.commands.given import read_rated, refuse_unknown
from evaljudge.commands.options import CalibrateOptions, Shown
from evaljudge.config import Condition
from evaljudge.decisions.certified import Certified, certified
from evaljudge.errors import UserError, unknown
from evaljudge.records import ANY_AXIS
from evaljudge.report.lines import at_once
from evaljudge.report.screen import on_screen, wrapped
from evaljudge.sections import Table
from evaljudge.sections.figures import (
    FEW_DOCUMENTS,
    NONE,
    Rows,
    correlation,
    count,
    measured,
    only,
    short,
)
from evaljudge.settings import AnyPath, as_path, read_settings
from evaljudge.storage import Place
from evaljudge.text import counted, listed, one_line

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True)
class Threshold:
    """As the printed table has it: shares, of which precision has an interval."""

    scorer: str
    axis: str
    threshold: float | None
    good: float | None
    selected: float | None
    precision: float | None
    low: float | None
    high: float | None
    recall: float | None
    documents: int


@dataclass(frozen=True, repr=False)
class CalibratedScores(Shown):
    rows: Rows[CalibratedRow]  # a scorer on a human axis each
    warnings: Sequence[str]
    folds: int
    texts: Sequence[Text]
    bodies: Sequence[str]  # what the texts say

    @property
    def text(self) -> str:
        rows = self.rows
        folds = max((row.fit.fitted.folds for row in rows), default=self.folds)
        head = f"Calibrated to human ratings: isotonic, cross-fitted in {folds} folds by document"
        warnings = [f"warning    {one_line(warning)}\n" for warning in self.warnings]
        blocks = [f"{head}\n{on_screen(_errors(rows))}", wrapped(ERRORS)]
        if any(row.fit.intervals for row in rows):
            blocks.append(f"Intervals for single texts\n{on_screen(_intervals(rows))}")
        if any(i.documents < 19 for row in rows for i in row.fit.intervals if not i.system):
            blocks.append(wrapped(WIDE))
        if any(only("sample", row.fit.fitted.documents) for row in rows):
            blocks.append(wrapped(FEW_DOCUMENTS))
        selections = [(row, row.selection) for row in rows if row.selection is not None]
        if selections:
            blocks += _selections(selections)
        return "".join(warnings) + "\n" * bool(warnings) + "\n\n".join(blocks) + "\n"

    @property
    def thresholds(self) -> Rows[Threshold]:
        return Rows(_threshold(row, row.selection) for row in self.rows if row.selection)

    @property
    def scores(self) -> "pa.Table":
        """Each text's calibrated score, with its interval: what `write` has in calibrated.jsonl."""
        import pyarrow as pa

        each = (value for row in self.rows for value in values_of(self.texts, row))
        return pa.Table.from_pylist([{"low": None, "high": None} | value for value in each])

    @property
    def json(self) -> str:
        return json.dumps(calibration_json(self.rows), indent=1) + "\n"

    def write(self, out: AnyPath) -> None:
        """The calibrated scores, the selections and calibration.json, to a path or URI."""
        write_calibrated(Place(as_path(out, "out")), self.texts, self.bodies, self.rows)


def calibrated(wanted: CalibrateOptions) -> CalibratedScores:
    _check(wanted)
    read = read_rated(wanted, "calibrate to")
    if not read.given:
        raise UserError("--scores: name a run, or a file of scores to calibrate")
    frame, warnings = read.frame, [*read.left_out, *read.notes]
    rows = Rows(_rows(wanted, frame, read.fitted, warnings))
    bodies = [candidate.text for case in read.cases for candidate in case.candidates]
    return CalibratedScores(rows, warnings, wanted.folds, frame.texts, bodies)


def _rows(
    wanted: CalibrateOptions, frame: Rated, fitted: Collection[str], warnings: list[str]
) -> Iterator[CalibratedRow]:
    """The rows of the wanted scorers and axes; each that cannot be calibrated gives a warning."""
    pairs, number = _matched(wanted, frame, warnings), 0
    for (scorer, _), _ in pairs:
        if wanted.confidence is not None and (scorer.endswith(SUFFIX) or scorer in fitted):
            raise UserError(
                f"--confidence: {scorer} was fitted to ratings, so they cannot certify it: name "
                "what it is made of, with --scorer"
            )
    highest = max(float(np.nanmax(frame.human[axis])) for _, axis in pairs)
    if wanted.good is not None and wanted.good > highest:
        highest_is = f"the highest is {short(highest)}"
        raise UserError(f"--good {short(wanted.good)}: above every rating; {highest_is}")
    seed, resamples = wanted.seed, wanted.resamples
    how: dict[str, Any] = {"folds": wanted.folds, "resamples": resamples, "seed": seed}
    for key, axis in pairs:
        rows = frame.doc_ids, frame.scores[key], frame.human[axis]
        made = calibration(*rows, **how)
        if made is None:
            warnings.append(f"{key[0]} on {axis}: {FEW}")
            continue
        fit = fit_of(key, axis, frame, made.fitted, wanted.seed)
        selection: Precise | Certified | None = None
        if wanted.good is not None and wanted.precision is not None:
            aim: dict[str, Any] = {"good": wanted.good, "target": wanted.precision}
            if wanted.confidence is None:
                selection = precise(*rows, **(aim | how))
            else:
                aim |= {"confidence": wanted.confidence, "seed": seed}
                selection = certified(*rows, **aim)
        row = CalibratedRow(fit, rows[1], made, selection)
        if fit.fitted.folds < wanted.folds:
            documents = counted(fit.fitted.documents, "document", "documents")
            warnings.append(f"{row.name}: {documents}, so as many folds")
        if fit.doubt:
            warnings.append(f"{row.name}: ratings {fit.doubt}")
        number += 1
        yield row
    if not number:
        raise UserError(f"nothing can be calibrated: {'; '.join(warnings)}")


def _check(wanted: CalibrateOptions) -> None:
    if (wanted.good is None) != (wanted.precision is None):
        option, needed = ("precision", "good") if wanted.good is None else ("good", "precision")
        raise UserError(
            f"--{option} needs --{needed}: from which rating on a text is good, and what "
            "share of the selected shall be"
        )
    if (wanted.precision, wanted.confidence) != (None, None):
        asked = {name: getattr(wanted, name) for name in ("good", "precision", "confidence")}
        read_settings(Condition, {"scorer": "", "axis": "", **asked}, "")


def _matched(wanted: CalibrateOptions, frame: Rated, warnings: list[str]) -> list[tuple[Key, str]]:
    """The scorers that are wanted, each with the human axes that it meets."""
    human, scorers, on = sorted(frame.human), listed(wanted.scorer), listed(wanted.axis)
    refuse_unknown("--scorer", "scorer", scorers, {scorer for scorer, _ in frame.scores})
    refuse_unknown("--axis", "human axis", on, human)
    chosen = [key for key in frame.scores if not scorers or key[0] in scorers]
    for scorer, own_axis in chosen:
        if own_axis not in human and own_axis != ANY_AXIS:
            strange = unknown("human axis", own_axis, human)
            warnings.append(f"{scorer}: no rating to calibrate to: {strange}")
    axes = [axis for axis in human if not on or axis in on]
    pairs = [(key, axis) for key in chosen for axis in axes if key[1] in (axis, ANY_AXIS)]
    if not pairs:
        some = warnings or [f"no scorer that is wanted has scores of {', '.join(axes)}"]
        raise UserError(f"nothing can be calibrated: {'; '.join(some)}")
    return pairs


ERRORS = (
    "Errors are mean absolute errors, in units of the ratings. Error of mean: if every text got "
    "the mean rating. Avoided: the share of it that the calibrated scores avoid. Each document is "
    "judged by what was learned from others. Spearman's: the mean over documents. Intervals: 95%."
)
SELECTED = (
    "Texts are selected by the threshold: the lowest score that reaches the target on all "
    "documents. Precision and recall are those of thresholds chosen on other documents, so a "
    "precision may miss the target. Good and selected are shares of the texts; recall is the share "
    "of the good that is selected."
)
CERTIFIED = (
    "With this confidence over the rated documents, the threshold has the target precision on new "
    "documents like them. Selected is the share of all texts. Precision and recall are estimates "
    "from the documents that the threshold was chosen on, so they are too high on average."
)


def _errors(rows: Sequence[CalibratedRow]) -> Table:
    heads = [
        *("scorer", "axis", "documents", "texts", "unscored"),
        *("error of mean", "calibrated", "avoided", "Spearman before", "Spearman after"),
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
    few = "sample" if only("sample", rule.documents) else "summary"
    tried = (
        measured(s, few, rule.documents if few == "sample" else s.n, s.value)
        for s in (rule.precision, rule.recall)
    )
    return [correlation(rule.base.value), threshold, correlation(rule.selected.value), *tried]


def _threshold(row: CalibratedRow, rule: Precise | Certified) -> Threshold:
    at = row.fit.scorer, row.fit.axis, rule.threshold
    if isinstance(rule, Certified):
        found = rule.coverage, rule.precision, None, None, rule.recall
        return Threshold(*at, rule.base, *found, rule.documents)
    of = rule.precision
    shares = rule.selected.value, of.value, of.low, of.high, rule.recall.value
    return Threshold(*at, rule.base.value, *shares, rule.documents)


def _shortfalls(rule: Precise | Certified) -> Iterator[str]:
    if why := shortfall(rule):
        yield why
    elif isinstance(rule, Precise) and (lacking := rule.thresholds.count(None)):
        folds = f"in {lacking} of {len(rule.thresholds)} folds nothing is selected"
        yield f"{folds}: no threshold of the others reaches {short(rule.target)}"
