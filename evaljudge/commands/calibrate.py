"""`evaljudge calibrate`: given scores as the ratings people would give, and what to select by.

    wanted = CalibrateOptions(CorpusSource("cases.jsonl"), ["scores.jsonl"], good=4, precision=0.8)
    calibrate_with(wanted, out="calibrated", as_json=False)

A scorer's axis meets the human axis of the same name; a scorer without axes is calibrated to each.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite, nan

import numpy as np

from evaljudge.agreement import calibration, precise
from evaljudge.agreement.rated import Key
from evaljudge.analysis.calibrated import (
    Calibrated,
    CalibratedRow,
    Candidates,
    calibration_json,
    write_calibrated,
)
from evaljudge.commands.agree import _named, _strangers, unread_hint
from evaljudge.corpora import BadRows, CorpusSource, open_corpus, refuse_empty
from evaljudge.corpora.scores import Given, read_all_given
from evaljudge.errors import UserError, unknown
from evaljudge.records import ANY_AXIS, Case
from evaljudge.report.calibrated import calibrated_text
from evaljudge.sections.figures import short
from evaljudge.storage import Place
from evaljudge.text import one_line


@dataclass(frozen=True)
class CalibrateOptions:
    """What is to be calibrated, and how."""

    cases: CorpusSource
    scores: Sequence[str]
    scorers: Sequence[str] = ()
    """Those that are calibrated; all, where none is named."""
    axes: Sequence[str] = ()
    """The human axes that are calibrated to; all, where none is named."""
    good: float | None = None
    """A candidate is good where people rated it so or higher."""
    precision: float | None = None
    """What share of the selected shall be good."""
    folds: int = 5
    resamples: int = 1000
    seed: int = 0
    bad_rows: BadRows = "fail"


def calibrate_with(wanted: CalibrateOptions, out: str | None, as_json: bool) -> str:
    found = calibrated(wanted)
    if out:
        write_calibrated(Place(out), found)
    if as_json:
        for warning in found.warnings:
            print(f"warning: {one_line(warning)}", file=sys.stderr)
        return json.dumps(calibration_json(found), indent=1) + "\n"
    return calibrated_text(found)


def calibrated(wanted: CalibrateOptions) -> Calibrated:
    _check(wanted)
    given = read_all_given(wanted.scores)
    with open_corpus(wanted.cases, wanted.bad_rows) as corpus:
        cases = list(corpus)
    name = _named(wanted.cases)
    refuse_empty(corpus, name, "calibrate to")
    if not corpus.rated:
        raise UserError(
            f"{name}: no candidate has human ratings to calibrate to{unread_hint(corpus)}"
        )
    strangers = _strangers(given, cases)
    if strangers == sum(map(len, given.values())):
        raise UserError(f"{', '.join(wanted.scores)}: no score belongs to a candidate of {name}")
    warnings = []
    if strangers:
        warnings.append(
            f"{strangers} scores belong to no candidate of the corpus and were left out"
        )
    if corpus.skipped_rows:
        warnings.append(f"{corpus.skipped_rows} bad rows of the corpus were skipped")
    warnings += [f"corpus: {note}" for note in corpus.unread]
    candidates = _candidates(cases)
    rows = list(_rows(wanted, candidates, given, warnings))
    return Calibrated(candidates, rows, wanted.folds, wanted.seed, warnings)


def _rows(
    wanted: CalibrateOptions, candidates: Candidates, given: Given, warnings: list[str]
) -> Iterator[CalibratedRow]:
    """Those of the wanted scorers and axes; what stands in the way of one is a warning."""
    met = _met(wanted, candidates, given, warnings)
    _refuse_good_above_all(wanted, candidates, {axis for _, axis in met})
    found = 0
    for key, axis in met:
        row = _row(wanted, candidates, key, axis, given[key])
        if row is None:
            told = f"{key[0]} on {axis}"
            warnings.append(f"{told}: fewer than 2 documents have both a score and a rating")
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
    if wanted.good is not None and not isfinite(wanted.good):
        raise UserError(f"--good {wanted.good}: not a rating")
    if wanted.folds < 2:
        raise UserError(
            f"--folds {wanted.folds}: in fewer than 2 a document would calibrate itself"
        )


def _candidates(cases: Sequence[Case]) -> Candidates:
    all_of_them = [(case, candidate) for case in cases for candidate in case.candidates]
    axes = sorted({axis for _, candidate in all_of_them for axis in candidate.ratings})
    return Candidates(
        at=[(case.document.doc_id, candidate.system) for case, candidate in all_of_them],
        texts=[candidate.text for _, candidate in all_of_them],
        documents=np.array([case.document.doc_id for case, _ in all_of_them], dtype=object),
        human={
            axis: np.array([candidate.ratings.get(axis, nan) for _, candidate in all_of_them])
            for axis in axes
        },
    )


def _met(
    wanted: CalibrateOptions, candidates: Candidates, given: Given, warnings: list[str]
) -> list[tuple[Key, str]]:
    """The scorers that are wanted, each with the human axes that it meets."""
    known, human = {scorer for scorer, _ in given}, candidates.human
    for scorer in wanted.scorers:
        if scorer not in known:
            raise UserError(f"--scorer: {unknown('scorer', scorer, known)}")
    for axis in wanted.axes:
        if axis not in human:
            raise UserError(f"--axis: {unknown('human axis', axis, human)}")
    chosen = [key for key in given if not wanted.scorers or key[0] in wanted.scorers]
    for scorer, own in chosen:
        if own not in human and own != ANY_AXIS:
            strange = unknown("human axis", own, human)
            warnings.append(f"{scorer}: no rating to calibrate to: {strange}")
    axes = [axis for axis in human if not wanted.axes or axis in wanted.axes]
    met = [(key, axis) for key in chosen for axis in axes if key[1] in (axis, ANY_AXIS)]
    if not met:
        some = warnings or [f"no scorer that is wanted has scores of {', '.join(axes)}"]
        raise UserError(f"nothing can be calibrated: {'; '.join(some)}")
    return met


def _refuse_good_above_all(
    wanted: CalibrateOptions, candidates: Candidates, axes: Iterable[str]
) -> None:
    highest = max(float(np.nanmax(candidates.human[axis])) for axis in axes)
    if wanted.good is not None and wanted.good > highest:
        said = f"the highest is {short(highest)}"
        raise UserError(f"--good {short(wanted.good)}: above every rating; {said}")


def _row(
    wanted: CalibrateOptions,
    candidates: Candidates,
    key: Key,
    axis: str,
    column: Mapping[tuple[str, str], float | None],
) -> CalibratedRow | None:
    values = [column.get(at) for at in candidates.at]
    scores = np.array([nan if value is None else value for value in values])
    ratings = candidates.human[axis]
    rows = candidates.documents, scores, ratings
    how = {"folds": wanted.folds, "resamples": wanted.resamples, "seed": wanted.seed}
    found = calibration(*rows, **how)
    if found is None:
        return None
    selection = None
    if wanted.good is not None and wanted.precision is not None:
        selection = precise(*rows, good=wanted.good, target=wanted.precision, **how)
    unscored = int(np.sum(np.isfinite(ratings) & ~np.isfinite(scores)))
    return CalibratedRow(*key, axis, scores, unscored, found, selection)


def _doubts(wanted: CalibrateOptions, row: CalibratedRow) -> Iterator[str]:
    fitted = row.calibration.fitted
    if fitted.folds < wanted.folds:
        yield f"{row.told}: {fitted.documents} documents, so as many folds"
    if fitted.whole.ratings[0] == fitted.whole.ratings[-1]:
        yield (
            f"{row.told}: ratings do not rise with the score (is a lower one better?), so every "
            "candidate is calibrated to the mean rating"
        )
