"""`calibrate`: scorers of a run mapped to people's ratings, each a further scorer of the report.

    calibrate: [synthetic]
    synthetic             fluency   -0.32  1.10  unscored     whatever scale the judge has
    synthetic.calibrated  fluency    2.41  3.75  unscored     in units of the ratings of fluency

A scorer's axis meets the human axis of the same name; a scorer without axes is calibrated to each.
Maps are fitted on the rated candidates once all shards are scored, in folds of whole documents: the
scores of a document that was fitted on take maps of the other folds (the mean over several
divisions into folds), so none calibrates itself; those of any other document, the map of all (see
agreement/calibration.py). The order of the corpus' rows changes nothing. Then the shards are read
again, one at a time, and every score file is written with the calibrated scores beside the others.

The maps lie in report/calibration.json. Nothing is asked for them, so they change freely between
reports.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from math import isfinite
from typing import Any

import numpy as np

from evaljudge.agreement import CrossFitted, cross_fitted
from evaljudge.agreement.rated import Ids, Key, Rated
from evaljudge.analysis.calibrated import calibrated_name, fit_json, folds_of, maps_json, signature
from evaljudge.analysis.scoring import by_document
from evaljudge.analysis.tables import ByScale, Tables
from evaljudge.records import ANY_AXIS, Case, Score
from evaljudge.storage import Output, Shard, ahead

FILE = "report/calibration.json"
FOLDS = 5
NOT_FINITE = "the score is no finite number"


@dataclass(frozen=True)
class Fit:
    """A scorer's maps to a human axis."""

    scorer: str
    own: str
    """The scorer's axis, that of no axis too."""
    axis: str
    fitted: CrossFitted
    folds_of: Mapping[str, Sequence[int]]
    """By document, of those that were fitted on: its fold in each division."""
    unscored: int
    """Candidates rated on the axis, without a score."""
    seed: int

    @property
    def key(self) -> Key:
        return calibrated_name(self.scorer), self.axis

    @cached_property
    def signature(self) -> str:
        return signature(self.scorer, self.fitted, self.seed)

    @property
    def is_flat(self) -> bool:
        ratings = self.fitted.whole.ratings
        return ratings[0] == ratings[-1]

    def of(self, score: Score) -> Score:
        """Calibrated; an unscored one stays so, for the same reason."""
        known = (score.doc_id, score.system, *self.key)
        if score.value is None or not isfinite(score.value):
            reason = score.reason if score.value is None else NOT_FINITE
            return Score(*known, None, reason, self.signature)
        (value,) = self.fitted.calibrated([score.value], self.folds_of.get(score.doc_id, ()))
        return Score(*known, float(value), "", self.signature)

    def as_json(self) -> dict[str, Any]:
        told = fit_json(self.scorer, self.axis, self.fitted, self.unscored, self.seed)
        return told | maps_json(self.fitted, self.folds_of)


@dataclass(frozen=True)
class CalibrationFits:
    fits: Sequence[Fit] = ()
    warnings: Sequence[str] = ()

    @property
    def signatures(self) -> dict[str, str]:
        """A line for each scorer; for each of its axes, where these rest on other numbers."""
        lines: dict[str, dict[str, str]] = {}
        for fit in self.fits:
            lines.setdefault(fit.key[0], {})[fit.axis] = fit.signature
        told: dict[str, str] = {}
        for scorer, by_axis in lines.items():
            if len(set(by_axis.values())) == 1:
                told[scorer] = next(iter(by_axis.values()))
            else:
                told |= {f"{scorer} on {axis}": line for axis, line in by_axis.items()}
        return told


def calibrate_shards(
    wanted: Mapping[str, Sequence[str]],
    seed: int,
    output: Output,
    shards: Sequence[Shard],
    tables: Tables,
) -> CalibrationFits:
    """Adds the calibrated scores to the score files and the tables of shards that are scored.

    `wanted`: the scorers to be calibrated, and the axes of each.
    """
    fitted = _fitted(wanted, seed, tables) if wanted else CalibrationFits()
    if not fitted.fits:
        output.place.remove(FILE)  # an earlier report may have had one
        return fitted
    keys = [fit.key for fit in fitted.fits]
    for cases, found in ahead(partial(_add_to_shard, output, fitted.fits), shards):
        for case in cases:
            tables.add_scores(case, found.get(case.document.doc_id, {}), keys)
    output.place.write_json(FILE, [fit.as_json() for fit in fitted.fits])
    return fitted


def _add_to_shard(
    output: Output, fits: Sequence[Fit], shard: Shard
) -> tuple[list[Case], dict[str, ByScale]]:
    scores = list(output.scores(shard))
    calibrated = list(_calibrated(fits, scores))
    output.write_scores(shard, scores + calibrated)
    return output.cases(shard), by_document(calibrated)


def _calibrated(fits: Sequence[Fit], scores: Iterable[Score]) -> Iterator[Score]:
    of: dict[Key, list[Fit]] = {}
    for fit in fits:
        of.setdefault((fit.scorer, fit.own), []).append(fit)
    for score in scores:
        for fit in of.get((score.scorer, score.axis), ()):
            yield fit.of(score)


def _fitted(wanted: Mapping[str, Sequence[str]], seed: int, tables: Tables) -> CalibrationFits:
    rated, documents = tables.as_rated(), tables.doc_ids()
    fits, warnings = list[Fit](), list[str]()
    for scorer, axes in wanted.items():
        tried = {
            axis: _fit(scorer, own, axis, rated, documents, seed)
            for own in axes
            for axis in (sorted(rated.human) if own == ANY_AXIS else [own])
        }
        fits += [fit for fit in tried.values() if fit is not None]
        warnings += _doubts(scorer, tried)
    return CalibrationFits(fits, warnings)


def _fit(scorer: str, own: str, axis: str, rated: Rated, documents: Ids, seed: int) -> Fit | None:
    """None where fewer than two documents have both a score and a rating."""
    if axis not in rated.human:
        return None
    scores, ratings = rated.scores[scorer, own], rated.human[axis]
    fitted = cross_fitted(documents, scores, ratings, folds=FOLDS, seed=seed)
    if fitted is None:
        return None
    unscored = int(np.sum(np.isfinite(ratings) & ~np.isfinite(scores)))
    return Fit(scorer, own, axis, fitted, folds_of(documents, fitted), unscored, seed)


def _doubts(scorer: str, tried: Mapping[str, Fit | None]) -> Iterator[str]:
    if not tried:
        yield f"{scorer}: not calibrated: no candidate has human ratings"
    lacking = [axis for axis, fit in tried.items() if fit is None]
    if lacking:
        yield (
            f"{scorer}: not calibrated on {', '.join(lacking)}: fewer than 2 documents have both a "
            "score and a rating"
        )
    flat = [axis for axis, fit in tried.items() if fit is not None and fit.is_flat]
    if flat:
        yield (
            f"{scorer}: ratings of {', '.join(flat)} do not rise with the score (is a lower one "
            "better?), so every candidate is calibrated to the mean rating"
        )
