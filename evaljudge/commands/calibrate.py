"""`evaljudge calibrate`: given scores as the ratings people would give, and what to select by.

    calibrated(CalibrateOptions("cases.jsonl", "scores.jsonl", good=4, precision=0.8)).rows

A scorer's axis meets the human axis of the same name; a scorer without axes is calibrated to each.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite, nan

import numpy as np

from evaljudge.agreement import Precise, calibration, precise
from evaljudge.agreement.rated import Key
from evaljudge.analysis.calibrated import (
    FEW,
    SUFFIX,
    Calibrated,
    CalibratedRow,
    Candidates,
    Rows,
    calibration_json,
    fit_of,
    write_calibrated,
)
from evaljudge.commands.given import read_rated, refuse_unknown
from evaljudge.commands.options import CalibrateOptions
from evaljudge.corpora.scores import Given
from evaljudge.decisions.certified import Certified, certified
from evaljudge.errors import UserError, unknown
from evaljudge.records import ANY_AXIS, Case
from evaljudge.report.calibrated import calibrated_text
from evaljudge.sections.figures import short
from evaljudge.settings import AnyPath, as_path
from evaljudge.storage import Place
from evaljudge.text import listed


@dataclass(frozen=True, repr=False)
class CalibratedScores:
    """What `evaljudge calibrate` found; it is shown as the command prints it."""

    found: Calibrated

    def __repr__(self) -> str:
        return self.text.rstrip("\n")

    @property
    def rows(self) -> Sequence[CalibratedRow]:
        """A scorer on a human axis each."""
        return self.found.rows

    @property
    def warnings(self) -> Sequence[str]:
        return self.found.warnings

    @property
    def text(self) -> str:
        return calibrated_text(self.found)

    @property
    def json(self) -> str:
        return json.dumps(calibration_json(self.found), indent=1) + "\n"

    def write(self, out: AnyPath) -> None:
        """The calibrated scores, the selections and calibration.json, to a path or URI."""
        write_calibrated(Place(as_path(out, "out")), self.found)


def calibrated(wanted: CalibrateOptions) -> Calibrated:
    _check(wanted)
    read = read_rated(wanted, "calibrate to")
    candidates, warnings = _candidates(read.cases), [*read.left_out, *read.notes]
    rows = list(_rows(wanted, candidates, read.given, warnings))
    return Calibrated(candidates, rows, wanted.folds, warnings)


def _rows(
    wanted: CalibrateOptions, candidates: Candidates, given: Given, warnings: list[str]
) -> Iterator[CalibratedRow]:
    """Those of the wanted scorers and axes; what stands in the way of one is a warning."""
    met, found = _met(wanted, candidates, given, warnings), 0
    for (scorer, _), _ in met:
        if wanted.confidence is not None and scorer.endswith(SUFFIX):
            raise UserError(
                f"--confidence: {scorer} was fitted to ratings, so they cannot certify it: name "
                f"what it is made of, with --scorer {scorer.removesuffix(SUFFIX)}"
            )
    highest = max(float(np.nanmax(candidates.human[axis])) for _, axis in met)
    if wanted.good is not None and wanted.good > highest:
        known = f"the highest is {short(highest)}"
        raise UserError(f"--good {short(wanted.good)}: above every rating; {known}")
    for key, axis in met:
        row = _row(wanted, candidates, key, axis, given[key])
        if row is None:
            warnings.append(f"{key[0]} on {axis}: {FEW}")
        else:
            warnings += _doubts(wanted, row)
            found += 1
            yield row
    if not found:
        raise UserError(f"nothing can be calibrated: {'; '.join(warnings)}")


def _check(wanted: CalibrateOptions) -> None:
    if not wanted.scores:
        raise UserError("--scores: name a file of scores to calibrate")
    if (wanted.good is None) != (wanted.precision is None):
        asked, needed = ("precision", "good") if wanted.good is None else ("good", "precision")
        raise UserError(
            f"--{asked} needs --{needed}: from which rating on a candidate is good, and what "
            "share of the selected shall be"
        )
    if wanted.precision is not None and not 0 < wanted.precision <= 1:
        raise UserError(f"--precision {wanted.precision}: a share above 0 and up to 1")
    if wanted.confidence is not None:
        if not 0 < wanted.confidence < 1:
            raise UserError(f"--confidence {wanted.confidence}: a share above 0 and below 1")
        if wanted.precision in (None, 1):
            raise UserError("--confidence needs a --precision below 1: no sample certifies 1")
    if wanted.good is not None and not isfinite(wanted.good):
        raise UserError(f"--good {wanted.good}: not a rating")
    if wanted.folds < 2:
        raise UserError(
            f"--folds {wanted.folds}: in fewer than 2 a document would calibrate itself"
        )


def _candidates(cases: Sequence[Case]) -> Candidates:
    doc_ids = [case.document.doc_id for case in cases for _ in case.candidates]
    every = [candidate for case in cases for candidate in case.candidates]
    axes = sorted({axis for one in every for axis in one.ratings})
    return Candidates(
        np.array(doc_ids, dtype=object),
        np.array([one.system for one in every], dtype=object),
        [one.text for one in every],
        {axis: np.array([one.ratings.get(axis, nan) for one in every]) for axis in axes},
    )


def _met(
    wanted: CalibrateOptions, candidates: Candidates, given: Given, warnings: list[str]
) -> list[tuple[Key, str]]:
    """The scorers that are wanted, each with the human axes that it meets."""
    human, scorers, on = candidates.human, listed(wanted.scorer), listed(wanted.axis)
    refuse_unknown("--scorer", "scorer", scorers, {scorer for scorer, _ in given})
    refuse_unknown("--axis", "human axis", on, human)
    chosen = [key for key in given if not scorers or key[0] in scorers]
    for scorer, own in chosen:
        if own not in human and own != ANY_AXIS:
            strange = unknown("human axis", own, human)
            warnings.append(f"{scorer}: no rating to calibrate to: {strange}")
    axes = [axis for axis in human if not on or axis in on]
    met = [(key, axis) for key in chosen for axis in axes if key[1] in (axis, ANY_AXIS)]
    if not met:
        some = warnings or [f"no scorer that is wanted has scores of {', '.join(axes)}"]
        raise UserError(f"nothing can be calibrated: {'; '.join(some)}")
    return met


def _row(
    wanted: CalibrateOptions,
    candidates: Candidates,
    key: Key,
    axis: str,
    column: Mapping[tuple[str, str], float | None],
) -> CalibratedRow | None:
    documents, systems = candidates.documents, candidates.systems
    values = map(column.get, zip(documents, systems, strict=True))
    scores = np.array([nan if value is None else value for value in values])
    rows = documents, scores, candidates.human[axis]
    how = {"folds": wanted.folds, "resamples": wanted.resamples, "seed": wanted.seed}
    found = calibration(*rows, **how)
    if found is None:
        return None
    fit = fit_of(key, axis, rows, systems, found.fitted, wanted.seed)
    return CalibratedRow(fit, scores, found, _selection(wanted, rows))


def _selection(wanted: CalibrateOptions, rows: Rows) -> Precise | Certified | None:
    good, precision, seed = wanted.good, wanted.precision, wanted.seed
    if good is None or precision is None:
        return None
    if (confidence := wanted.confidence) is not None:
        return certified(*rows, good=good, target=precision, confidence=confidence, seed=seed)
    how = {"folds": wanted.folds, "resamples": wanted.resamples, "seed": seed}
    return precise(*rows, good=good, target=precision, **how)


def _doubts(wanted: CalibrateOptions, row: CalibratedRow) -> Iterator[str]:
    fitted = row.fit.fitted
    if fitted.folds < wanted.folds:
        yield f"{row.name}: {fitted.documents} documents, so as many folds"
    if row.fit.doubt:
        yield f"{row.name}: ratings {row.fit.doubt}"
