"""`calibrate`: scorers of a run mapped to people's ratings, each a further scorer of the report.

    calibrate: [synthetic]
    synthetic             fluency   -0.32  1.10  unscored     whatever scale the judge has
    synthetic.calibrated  fluency    2.41  3.75  unscored     in units of the ratings of fluency

A scorer's axis meets the human axis of the same name; a scorer without axes is calibrated to each.
Maps are fitted on the rated candidates once all shards are scored, in folds of whole documents, so
that no document calibrates itself (see agreement/calibration.py). Then the shards are read again,
one at a time, and every score file is written with the calibrated scores beside the others. The
maps lie in report/calibration.json; no model is asked for them.

`evaljudge calibrate` does the same to scores from anywhere, and writes what it found:

calibrated.jsonl   {"doc_id": "d1", "system": "A", "scorer": "unieval.calibrated",
                    "axis": "coherence", "value": 2.61, "low": 2.0, "high": 3.0}
calibration.json   [{"scorer": "unieval.calibrated", "of": "unieval", "axis": "coherence",
                     "signature": "…", "error_after": {"value": 0.426, …}, "map": {…}, …}]
selected/unieval-coherence.jsonl   {"doc_id": "d1", "system": "A", "text": "…",
                                    "values": {"unieval": {"coherence": 0.99}, …}}

All candidates, rated or not, that reach the threshold chosen on all documents are selected; where
none was found there is no file.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from functools import cached_property, partial
from itertools import chain
from itertools import count as counting
from math import isfinite, isnan, nan
from typing import Any

import numpy as np

import evaljudge
from evaljudge.agreement import Calibration, CrossFitted, Precise, cross_fitted
from evaljudge.agreement.rated import Floats, Key, Rated, Text
from evaljudge.analysis.scoring import add_further
from evaljudge.analysis.tables import Tables
from evaljudge.decisions.certified import Certified
from evaljudge.decisions.conformal import Conformal, conformal
from evaljudge.records import ANY_AXIS, Score
from evaljudge.sections.figures import count, short
from evaljudge.storage import Output, Place, Shard

FILE = "report/calibration.json"
FOLDS = 5
VERSION = 2
"""Rises when a calibrated value changes its meaning."""
SUFFIX = ".calibrated"
LONGEST_NAME = 60
NOT_FINITE = "the score is no finite number"
FEW = "fewer than 2 documents have both a score and a rating"
FLAT = (
    "do not rise with the score (is a lower one better?), so every candidate is calibrated to the "
    "mean rating"
)
ONE_RATING = "are all the same, so there is nothing to learn"
Ends = tuple[float | None, float | None]
"""The lower and upper end of a text's interval."""
NO_ENDS: Ends = (None, None)


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
    keys = [fit.key for fit in fitted.fits]
    add_further(partial(_calibrated, fitted.fits), keys, output, shards, tables)
    output.place.write_json(FILE, [fit.as_json({}) for fit in fitted.fits])
    return fitted


def _calibrated(fits: Sequence[Fit], scores: Sequence[Score]) -> Iterator[Score]:
    ends = {}
    for fit in fits:
        scored = [score for score in scores if (score.scorer, score.axis) == (fit.scorer, fit.own)]
        texts = [(score.doc_id, score.system) for score in scored]
        ends[fit.key] = fit.ends(texts, [score.value for score in scored])
    for score in scores:
        for fit in fits:
            if (score.scorer, score.axis) == (fit.scorer, fit.own):
                yield fit.of(score, next(ends[fit.key]))


def _fitted(wanted: Mapping[str, Sequence[str]], seed: int, tables: Tables) -> CalibrationFits:
    rated = tables.as_rated()
    fits, warnings = list[Fit](), list[str]()
    for scorer, axes in wanted.items():
        tried = {
            axis: _fit((scorer, own_axis), axis, rated, seed)
            for own_axis in axes
            for axis in (sorted(rated.human) if own_axis == ANY_AXIS else [own_axis])
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
    return None if fitted is None else fit_of(key, axis, rated, fitted, seed)


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


def calibrated_name(scorer: str) -> str:
    return f"{scorer}{SUFFIX}"


def uncertified(rule: Certified) -> str:
    """Why there is no threshold, and what would help."""
    sure = f"{short(rule.confidence * 100)}% confidence"
    why = f"no threshold is certified to reach {short(rule.target)} with {sure}"
    now = f"now {count(rule.documents)}"
    if rule.needed is None:
        return f"{why}; more rated documents are unlikely to help ({now})"
    return f"{why}; about {count(rule.needed)} rated documents would do ({now})"


@dataclass(frozen=True, slots=True)
class TextInterval:
    """How often, and how wide, the intervals of a calibrated scorer hold the rating of a text."""

    scorer: str
    axis: str
    confidence: float
    system: str  # empty: all systems
    documents: int
    coverage: float  # for a random text of a random document, in cross-validation
    width: float  # the mean


@dataclass(frozen=True)
class Fit:
    """A scorer's maps to a human axis."""

    scorer: str
    own: str
    """The scorer's own axis, which may be ANY_AXIS."""
    axis: str
    fitted: CrossFitted
    folds_of: Mapping[str, Sequence[int]] = field(repr=False)
    """The fold in each division of every fitted document; its scores take the mean of the maps of
    these folds."""
    unscored: int
    """Candidates rated on the axis, without a score."""
    has_one_rating: bool
    """Whether all ratings that have a score are the same."""
    seed: int
    conformal: Conformal | None
    """The intervals of single texts; None: too few documents have both a score and a rating."""

    @property
    def key(self) -> Key:
        return calibrated_name(self.scorer), self.axis

    @cached_property
    def signature(self) -> str:
        """The line that says how the numbers were made."""
        fitted = self.fitted
        return (
            f"{calibrated_name(self.scorer)}@{VERSION} | of {self.scorer} | isotonic, "
            f"{fitted.folds} folds by document, divisions {fitted.divisions}, seed {self.seed} | "
            f"{fitted.pairs} pairs of {fitted.documents} documents | "
            f"evaljudge {evaljudge.__version__}"
        )

    @property
    def doubt(self) -> str:
        """What is wrong with the ratings, where the map is flat; empty where it rises."""
        ratings = self.fitted.whole.ratings
        if ratings[0] != ratings[-1]:
            return ""
        return ONE_RATING if self.has_one_rating else FLAT

    def of(self, score: Score, ends: Ends = NO_ENDS) -> Score:
        """Calibrated; an unscored one stays so, for the same reason."""
        key = (score.doc_id, score.system, *self.key)
        if score.value is None or not isfinite(score.value):
            reason = score.reason if score.value is None else NOT_FINITE
            return Score(*key, None, reason, self.signature)
        (value,) = self.fitted.calibrated([score.value], self.folds_of.get(score.doc_id, ()))
        return Score(*key, float(value), "", self.signature, score.doubt, *ends)

    def ends(self, texts: Sequence[Text], scores: Sequence[float | None]) -> Iterator[Ends]:
        """The interval of each candidate."""
        if self.conformal is None:
            return (NO_ENDS for _ in scores)
        values = np.array([nan if score is None else score for score in scores], dtype=np.float64)
        documents, systems = [doc_id for doc_id, _ in texts], [system for _, system in texts]
        low, high = self.conformal.intervals(documents, systems, values)
        pairs = zip(low.tolist(), high.tolist(), strict=True)
        return (NO_ENDS if isnan(least) else (least, most) for least, most in pairs)

    @property
    def intervals(self) -> list[TextInterval]:
        if (made := self.conformal) is None:
            return []
        return [TextInterval(*self.key, made.confidence, **asdict(row)) for row in made.covered]

    def as_json(self, measured: Mapping[str, Any]) -> dict[str, Any]:
        return {
            "scorer": calibrated_name(self.scorer),
            "of": self.scorer,
            "axis": self.axis,
            "signature": self.signature,
            "documents": self.fitted.documents,
            "pairs": self.fitted.pairs,
            "unscored": self.unscored,
            "intervals": [asdict(row) for row in self.intervals],
            **measured,
            "map": asdict(self.fitted.whole),
            "fold_maps": [asdict(row) for row in self.fitted.maps],
            "folds_of": dict(sorted(self.folds_of.items())),
        }


def fit_of(key: Key, axis: str, rated: Rated, fitted: CrossFitted, seed: int) -> Fit:
    """The fit from the rows that the maps were fitted on."""
    documents, scores, ratings = rated.doc_ids, rated.scores[key], rated.human[axis]
    with_pair = fitted.fold[0] >= 0
    folds_of = dict(zip(documents[with_pair], fitted.fold.T[with_pair].tolist(), strict=True))
    unscored = int(np.sum(np.isfinite(ratings) & ~np.isfinite(scores)))
    intervals = conformal(documents, rated.system_names, scores, ratings, seed=seed)
    pairs = np.isfinite(ratings) & np.isfinite(scores)
    has_one = np.unique(ratings[pairs]).size == 1
    return Fit(*key, axis, fitted, folds_of, unscored, has_one, seed, intervals)


@dataclass(frozen=True)
class CalibratedRow:
    """A scorer on a human axis."""

    fit: Fit
    scores: Floats = field(repr=False)
    """The score of each candidate; NaN where unscored."""
    calibration: Calibration
    selection: Precise | Certified | None

    @property
    def name(self) -> str:
        return f"{self.fit.scorer} on {self.fit.axis}"

    @property
    def selected(self) -> list[int]:
        """The places of the candidates that reach the threshold."""
        if self.selection is None or self.selection.threshold is None:
            return []
        return [int(row) for row in np.flatnonzero(self.scores >= self.selection.threshold)]


def write_calibrated(
    place: Place, texts: Sequence[Text], bodies: Sequence[str], rows: Sequence[CalibratedRow]
) -> None:
    """The values of every candidate first, and calibration.json, which describes them, last."""
    values = (line for row in rows for line in _values(texts, row))
    _write_lines(place, "calibrated.jsonl", values)
    for row, file in zip(rows, _files(rows), strict=True):
        if row.selection is None or row.selection.threshold is None:
            place.remove(file)  # an earlier calibration may have had one
            continue
        lines = [
            {"doc_id": texts[at][0], "system": texts[at][1], "text": bodies[at]}
            | {"values": _selected_values(row, at)}
            for at in row.selected
        ]
        _write_lines(place, file, lines)
    place.write_json("calibration.json", calibration_json(rows))


def calibration_json(rows: Sequence[CalibratedRow]) -> list[dict[str, Any]]:
    return [_row_json(row, file) for row, file in zip(rows, _files(rows), strict=True)]


def _row_json(row: CalibratedRow, file: str) -> dict[str, Any]:
    names = [field.name for field in fields(row.calibration) if field.name != "fitted"]
    measured = {name: asdict(getattr(row.calibration, name)) for name in names}
    selection, chosen = None, row.selected
    if row.selection is not None:
        counted = {"candidates": len(chosen), "file": file if chosen else None}
        selection = asdict(row.selection) | counted
    return row.fit.as_json(measured) | {"selection": selection}


def _values(texts: Sequence[Text], row: CalibratedRow) -> Iterator[dict[str, Any]]:
    scorer, axis = row.fit.key
    ends = row.fit.ends(texts, row.scores.tolist())
    for (doc_id, system), value, (low, high) in zip(
        texts, row.fit.fitted.values, ends, strict=True
    ):
        if np.isfinite(value):
            text = {"doc_id": doc_id, "system": system, "scorer": scorer, "axis": axis}
            interval = {} if low is None else {"low": low, "high": high}
            yield text | {"value": float(value)} | interval


def _selected_values(row: CalibratedRow, at: int) -> dict[str, dict[str, float]]:
    """The values of a candidate, in the form of a run's selections."""
    scorer, axis = row.fit.key
    original = {row.fit.own: float(row.scores[at])}
    return {row.fit.scorer: original, scorer: {axis: float(row.fit.fitted.values[at])}}


def _files(rows: Sequence[CalibratedRow]) -> list[str]:
    """File names made of scorers' and axes' names; equal ones are numbered."""
    taken: dict[str, str] = {}
    for row in rows:
        name = f"{row.fit.scorer}-{row.fit.axis}"
        plain = re.sub(r"[^\w.+-]+", "_", name).lstrip(".")[:LONGEST_NAME]
        numbered = (f"{plain}-{number}" for number in counting(2))
        free = next(name for name in chain([plain], numbered) if name.casefold() not in taken)
        taken[free.casefold()] = free
    return [f"selected/{name}.jsonl" for name in taken.values()]


def _write_lines(place: Place, name: str, lines: Iterable[Mapping[str, Any]]) -> None:
    with place.writing(name) as stream:
        for line in lines:
            stream.write(f"{json.dumps(line, ensure_ascii=False)}\n".encode())
