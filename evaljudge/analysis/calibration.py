"""`calibrate`: scorers of a run mapped to people's ratings, each a further scorer of the report.

    calibrate: [synthetic]
    synthetic             fluency   -0.32  1.10  unscored     whatever scale the judge has
    synthetic.calibrated  fluency    2.41  3.75  unscored     in units of the ratings of fluency

A scorer's axis meets the human axis of the same name; a scorer without axes is calibrated to each.
Maps are fitted on the rated candidates once all shards are scored, in folds of whole documents, so
that no document calibrates itself (see agreement/calibration.py). Then every score file is written
again, with the calibrated scores beside the others. `evaljudge calibrate` does the same to scores
from anywhere (docs/calibration.md).
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cached_property, partial
from itertools import chain
from itertools import count as counting
from math import isfinite, isnan, nan
from typing import Any

import numpy as np

import evaljudge
from evaljudge.agreement import Calibration, CrossFitted, Precise, cross_fitted
from evaljudge.agreement.rated import Floats, Key, Rated, Text
from evaljudge.analysis.scoring import Further
from evaljudge.decisions.certified import Certified
from evaljudge.decisions.conformal import Conformal, Covered, conformal
from evaljudge.records import ANY_AXIS, Score
from evaljudge.storage import Place

FILE = "report/calibration.json"
FOLDS = 5
VERSION = 2  # rises when a calibrated value changes its meaning
SUFFIX = ".calibrated"
LONGEST_NAME = 60
NOT_FINITE = "the score is no finite number"
FEW = "fewer than 2 documents have both a score and a rating"
FLAT = (
    "do not rise with the score (is a lower one better?), so every candidate is calibrated to the "
    "mean rating"
)
ONE_RATING = "are all the same, so there is nothing to learn"
Ends = tuple[float | None, float | None]  # the lower and upper end of a text's interval
NO_ENDS: Ends = (None, None)


def calibrate_shards(
    wanted: Mapping[str, Sequence[str]], seed: int, further: Further
) -> "tuple[list[Fit], list[str]]":
    """Adds the calibrated scores to the score files and the tables of shards that are scored; gives
    the fits, and warnings."""
    rated = further.tables.as_rated()
    fits, warnings = list[Fit](), list[str]()
    for scorer, axes in wanted.items():
        tried = {
            axis: _fit((scorer, own_axis), axis, rated, seed)
            for own_axis in axes
            for axis in (sorted(rated.human) if own_axis == ANY_AXIS else [own_axis])
        }
        fits += [fit for fit in tried.values() if fit is not None]
        warnings += _doubts(scorer, tried)
    rows = {fit.key: fit.as_json({}) for fit in fits}
    further.add(FILE, rows, partial(_calibrated, fits))
    return fits, warnings


def _calibrated(fits: "Sequence[Fit]", scores: Sequence[Score]) -> Iterator[Score]:
    for fit in fits:
        scored = [score for score in scores if (score.scorer, score.axis) == (fit.scorer, fit.own)]
        texts = [(score.doc_id, score.system) for score in scored]
        yield from map(fit.of, scored, fit.ends(texts, [score.value for score in scored]))


def _fit(key: Key, axis: str, rated: Rated, seed: int) -> "Fit | None":
    if axis not in rated.human:
        return None
    rows = rated.doc_ids, rated.scores[key], rated.human[axis]
    fitted = cross_fitted(*rows, folds=FOLDS, seed=seed)
    return None if fitted is None else fit_of(key, axis, rated, fitted, seed)


def _doubts(scorer: str, tried: "Mapping[str, Fit | None]") -> Iterator[str]:
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


@dataclass(frozen=True)
class Fit:
    """A scorer's maps to a human axis."""

    scorer: str
    own: str  # the scorer's own axis, which may be ANY_AXIS
    axis: str
    fitted: CrossFitted
    folds_of: Mapping[str, Sequence[int]] = field(repr=False)
    """The fold in each division of every fitted document; its scores take the mean of the maps of
    these folds."""
    unscored: int  # candidates rated on the axis, without a score
    doubt: str  # what is wrong with the ratings, where the map is flat; empty where it rises
    seed: int
    conformal: Conformal | None
    """The intervals of single texts; None: too few documents have both a score and a rating."""

    @property
    def key(self) -> Key:
        return calibrated_name(self.scorer), self.axis

    @cached_property
    def signature(self) -> str:
        fitted = self.fitted
        return (
            f"{calibrated_name(self.scorer)}@{VERSION} | of {self.scorer} | isotonic, "
            f"{fitted.folds} folds by document, divisions {fitted.divisions}, seed {self.seed} | "
            f"{fitted.pairs} pairs of {fitted.documents} documents | "
            f"evaljudge {evaljudge.__version__}"
        )

    def of(self, score: Score, ends: Ends = NO_ENDS) -> Score:
        """Calibrated; an unscored one stays so, for the same reason."""
        key = (score.doc_id, score.system, *self.key)
        if score.value is None or not isfinite(score.value):
            reason = score.reason if score.value is None else NOT_FINITE
            return Score(*key, None, reason, self.signature)
        (value,) = self.fitted.calibrated([score.value], self.folds_of.get(score.doc_id, ()))
        return Score(*key, float(value), "", self.signature, score.doubt, *ends)

    def ends(self, texts: Sequence[Text], scores: Sequence[float | None]) -> Iterator[Ends]:
        if self.conformal is None:
            return (NO_ENDS for _ in scores)
        values = np.array([nan if score is None else score for score in scores], dtype=np.float64)
        documents, systems = [doc_id for doc_id, _ in texts], [system for _, system in texts]
        low, high = self.conformal.intervals(documents, systems, values)
        pairs = zip(low.tolist(), high.tolist(), strict=True)
        return (NO_ENDS if isnan(least) else (least, most) for least, most in pairs)

    @property
    def intervals(self) -> list[Covered]:
        scorer, axis = self.key
        covered = self.conformal.covered if self.conformal else ()
        return [replace(row, scorer=scorer, axis=axis) for row in covered]

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
    documents, scores, ratings = rated.doc_ids, rated.scores[key], rated.human[axis]
    with_pair = fitted.fold[0] >= 0
    folds_of = dict(zip(documents[with_pair], fitted.fold.T[with_pair].tolist(), strict=True))
    unscored = int(np.sum(np.isfinite(ratings) & ~np.isfinite(scores)))
    intervals = conformal(documents, rated.system_names, scores, ratings, seed=seed)
    pairs = np.isfinite(ratings) & np.isfinite(scores)
    doubt = ONE_RATING if np.unique(ratings[pairs]).size == 1 else FLAT
    if fitted.whole.ratings[0] != fitted.whole.ratings[-1]:  # the map rises
        doubt = ""
    return Fit(*key, axis, fitted, folds_of, unscored, doubt, seed, intervals)


@dataclass(frozen=True)
class CalibratedRow:
    fit: Fit
    scores: Floats = field(repr=False)  # the score of each candidate; NaN where unscored
    calibration: Calibration
    selection: Precise | Certified | None

    @property
    def name(self) -> str:
        return f"{self.fit.scorer} on {self.fit.axis}"

    @property
    def selected(self) -> list[int]:
        if self.selection is None or self.selection.threshold is None:
            return []
        return [int(row) for row in np.flatnonzero(self.scores >= self.selection.threshold)]


def write_calibrated(
    place: Place, texts: Sequence[Text], bodies: Sequence[str], rows: Sequence[CalibratedRow]
) -> None:
    """The values of every candidate first, and calibration.json, which describes them, last."""
    values = (line for row in rows for line in values_of(texts, row))
    _write_lines(place, "calibrated.jsonl", values)
    for row, file in zip(rows, _files(rows), strict=True):
        if row.selection is None or row.selection.threshold is None:
            place.remove(file)  # an earlier calibration may have had one
            continue
        (scorer, axis), own = row.fit.key, row.fit.own
        lines = [
            {"doc_id": texts[at][0], "system": texts[at][1], "text": bodies[at]}
            | {
                "values": {
                    row.fit.scorer: {own: float(row.scores[at])},
                    scorer: {axis: float(row.fit.fitted.values[at])},
                }
            }
            for at in row.selected
        ]
        _write_lines(place, file, lines)
    place.write_json("calibration.json", calibration_json(rows))


def calibration_json(rows: Sequence[CalibratedRow]) -> list[dict[str, Any]]:
    names = [field.name for field in fields(Calibration) if field.name != "fitted"]
    made = []
    for row, file in zip(rows, _files(rows), strict=True):
        measured = {name: asdict(getattr(row.calibration, name)) for name in names}
        selection, chosen = None, len(row.selected)
        if row.selection is not None:
            counted = {"candidates": chosen, "file": file if chosen else None}
            selection = asdict(row.selection) | counted
        made.append(row.fit.as_json(measured) | {"selection": selection})
    return made


def values_of(texts: Sequence[Text], row: CalibratedRow) -> Iterator[dict[str, Any]]:
    scorer, axis = row.fit.key
    ends = row.fit.ends(texts, row.scores.tolist())
    for (doc_id, system), value, (low, high) in zip(
        texts, row.fit.fitted.values.tolist(), ends, strict=True
    ):
        if isfinite(value):
            text = {"doc_id": doc_id, "system": system, "scorer": scorer, "axis": axis}
            interval = {} if low is None else {"low": low, "high": high}
            yield text | {"value": value} | interval


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
