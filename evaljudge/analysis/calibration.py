"""`calibrate`: scorers of a run mapped to people's ratings, each a further scorer of the report.

    calibrate: [synthetic]
    synthetic             fluency   -0.32  1.10  unscored     whatever scale the judge has
    synthetic.calibrated  fluency    2.41  3.75  unscored     in units of the ratings of fluency

A scorer's axis meets the human axis of the same name; a scorer without axes is calibrated to each.
Maps are fitted on the rated candidates once all shards are scored, in folds of whole documents, so
that no document calibrates itself (see agreement/calibration.py). Then the shards are read again,
one at a time, and every score file is written with the calibrated scores beside the others. The
maps lie in report/calibration.json; no model is asked for them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from evaljudge.agreement import cross_fitted
from evaljudge.agreement.rated import Key, Rated
from evaljudge.analysis.calibrated import FEW, FLAT, ONE_RATING, Fit, fit_of
from evaljudge.analysis.scoring import add_further
from evaljudge.analysis.tables import Tables
from evaljudge.records import ANY_AXIS, Score
from evaljudge.storage import Output, Shard

FILE = "report/calibration.json"
FOLDS = 5


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
        named: dict[str, str] = {}
        for scorer, by_axis in lines.items():
            if len(set(by_axis.values())) == 1:
                named[scorer] = next(iter(by_axis.values()))
            else:
                named |= {f"{scorer} on {axis}": line for axis, line in by_axis.items()}
        return named


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
    made, keys = partial(_calibrated, fitted.fits), [fit.key for fit in fitted.fits]
    add_further(made, keys, output, shards, tables)
    output.place.write_json(FILE, [fit.as_json({}) for fit in fitted.fits])
    return fitted


def _calibrated(fits: Sequence[Fit], scores: Sequence[Score]) -> Iterator[Score]:
    of: dict[Key, list[Fit]] = {}
    for fit in fits:
        of.setdefault((fit.scorer, fit.own), []).append(fit)
    ends = {fit.key: fit.ends(*_columns(fit, scores)) for fit in fits}
    for score in scores:
        for fit in of.get((score.scorer, score.axis), ()):
            yield fit.of(score, next(ends[fit.key]))


def _columns(fit: Fit, scores: Iterable[Score]) -> tuple[list[str], list[str], list[float | None]]:
    """Documents, systems and values of the scores that are calibrated."""
    own = [one for one in scores if (one.scorer, one.axis) == (fit.scorer, fit.own)]
    return [one.doc_id for one in own], [one.system for one in own], [one.value for one in own]


def _fitted(wanted: Mapping[str, Sequence[str]], seed: int, tables: Tables) -> CalibrationFits:
    rated = tables.as_rated()
    fits, warnings = list[Fit](), list[str]()
    for scorer, axes in wanted.items():
        tried = {
            axis: _fit((scorer, own), axis, rated, seed)
            for own in axes
            for axis in (sorted(rated.human) if own == ANY_AXIS else [own])
        }
        fits += [fit for fit in tried.values() if fit is not None]
        warnings += _doubts(scorer, tried)
    return CalibrationFits(fits, warnings)


def _fit(key: Key, axis: str, rated: Rated, seed: int) -> Fit | None:
    """None where fewer than two documents have both a score and a rating."""
    if axis not in rated.human:
        return None
    rows = rated.doc_ids, rated.scores[key], rated.human[axis]
    fitted = cross_fitted(*rows, folds=FOLDS, seed=seed)
    if fitted is None:
        return None
    return fit_of(key, axis, rows, rated.system_names, fitted, seed)


def _doubts(scorer: str, tried: Mapping[str, Fit | None]) -> Iterator[str]:
    if not tried:
        yield f"{scorer}: not calibrated: no candidate has human ratings"
    lacking = [axis for axis, fit in tried.items() if fit is None]
    if lacking:
        yield f"{scorer}: not calibrated on {', '.join(lacking)}: {FEW}"
    for doubt in (ONE_RATING, FLAT):
        flat = [axis for axis, fit in tried.items() if fit is not None and fit.doubt == doubt]
        if flat:
            yield f"{scorer}: ratings of {', '.join(flat)} {doubt}"
