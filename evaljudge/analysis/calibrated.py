"""A calibration: a scorer mapped to the human ratings of an axis, and the files of what was found.

calibrated.jsonl   {"doc_id": "d1", "system": "A", "scorer": "unieval.calibrated",
                    "axis": "coherence", "value": 2.61, "low": 2.0, "high": 3.0}
calibration.json   [{"scorer": "unieval.calibrated", "of": "unieval", "axis": "coherence",
                     "signature": "…", "error_after": {"value": 0.426, …}, "map": {…}, …}]
selected/unieval-coherence.jsonl   {"doc_id": "d1", "system": "A", "text": "…",
                                    "values": {"unieval": {"coherence": 0.99}, …}}

`evaljudge agree --scores` reads the first. All candidates, rated or not, that reach the threshold
chosen on all documents are selected; where none was found there is no file.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from functools import cached_property
from itertools import chain
from itertools import count as counting
from math import isfinite, isnan, nan
from typing import Any

import numpy as np

import evaljudge
from evaljudge.agreement import Calibration, CrossFitted, Precise
from evaljudge.agreement.rated import Floats, Ids, Key
from evaljudge.decisions.certified import Certified
from evaljudge.decisions.conformal import Conformal, conformal
from evaljudge.records import Score
from evaljudge.sections.figures import count, short
from evaljudge.storage import Place

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

Rows = tuple[Ids, Floats, Floats]
"""The document, score and rating of each candidate."""
Ends = tuple[float | None, float | None]
"""Of the interval of a text."""
NO_ENDS: Ends = (None, None)


def calibrated_name(scorer: str) -> str:
    return f"{scorer}{SUFFIX}"


def uncertified(found: Certified) -> str:
    """Why there is no threshold, and what would help."""
    sure = f"{short(found.confidence * 100)}% confidence"
    why = f"no threshold is certified to reach {short(found.target)} with {sure}"
    now = f"now {count(found.documents)}"
    if found.needed is None:
        return f"{why}; more rated documents are unlikely to help ({now})"
    return f"{why}; about {count(found.needed)} rated documents would do ({now})"


@dataclass(frozen=True, slots=True)
class TextInterval:
    """How often, and how wide, the intervals of a calibrated scorer hold the rating of a text."""

    scorer: str
    axis: str
    confidence: float
    system: str  # of this one alone; empty: of all systems
    documents: int
    coverage: float  # of a random text of a random document, in cross-validation
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
        known = (score.doc_id, score.system, *self.key)
        if score.value is None or not isfinite(score.value):
            reason = score.reason if score.value is None else NOT_FINITE
            return Score(*known, None, reason, self.signature)
        (value,) = self.fitted.calibrated([score.value], self.folds_of.get(score.doc_id, ()))
        return Score(*known, float(value), "", self.signature, score.doubt, *ends)

    def ends(
        self, documents: Sequence[str], systems: Sequence[str], scores: Sequence[float | None]
    ) -> Iterator[Ends]:
        """The interval of each candidate."""
        if self.conformal is None:
            return (NO_ENDS for _ in scores)
        given = np.array([nan if score is None else score for score in scores], dtype=np.float64)
        low, high = self.conformal.intervals(documents, systems, given)
        pairs = zip(low.tolist(), high.tolist(), strict=True)
        return (NO_ENDS if isnan(least) else (least, most) for least, most in pairs)

    @property
    def intervals(self) -> list[TextInterval]:
        if (found := self.conformal) is None:
            return []
        return [TextInterval(*self.key, found.confidence, **asdict(one)) for one in found.covered]

    def as_json(self, measured: Mapping[str, Any]) -> dict[str, Any]:
        return {
            "scorer": calibrated_name(self.scorer),
            "of": self.scorer,
            "axis": self.axis,
            "signature": self.signature,
            "documents": self.fitted.documents,
            "pairs": self.fitted.pairs,
            "unscored": self.unscored,
            "intervals": [asdict(one) for one in self.intervals],
            **measured,
            "map": asdict(self.fitted.whole),
            "fold_maps": [asdict(one) for one in self.fitted.maps],
            "folds_of": dict(sorted(self.folds_of.items())),
        }


def fit_of(key: Key, axis: str, rows: Rows, systems: Ids, fitted: CrossFitted, seed: int) -> Fit:
    documents, scores, ratings = rows
    with_pair = fitted.fold[0] >= 0
    folds_of = dict(zip(documents[with_pair], fitted.fold.T[with_pair].tolist(), strict=True))
    unscored = int(np.sum(np.isfinite(ratings) & ~np.isfinite(scores)))
    intervals = conformal(documents, systems, scores, ratings, seed=seed)
    pairs = np.isfinite(ratings) & np.isfinite(scores)
    has_one = np.unique(ratings[pairs]).size == 1
    return Fit(*key, axis, fitted, folds_of, unscored, has_one, seed, intervals)


@dataclass(frozen=True)
class Candidates:
    """A row each, in the corpus' order."""

    documents: Ids
    systems: Ids
    texts: Sequence[str]
    human: Mapping[str, Floats]
    """NaN where unrated."""


@dataclass(frozen=True)
class CalibratedRow:
    """A scorer on a human axis."""

    fit: Fit
    scores: Floats = field(repr=False)
    """Of each candidate; NaN where unscored."""
    calibration: Calibration
    selection: Precise | Certified | None

    @property
    def name(self) -> str:
        return f"{self.fit.scorer} on {self.fit.axis}"

    @property
    def selected(self) -> list[int]:
        """Which candidates reach the threshold."""
        if self.selection is None or self.selection.threshold is None:
            return []
        return [int(row) for row in np.flatnonzero(self.scores >= self.selection.threshold)]


@dataclass(frozen=True)
class Calibrated:
    candidates: Candidates
    rows: Sequence[CalibratedRow]
    folds: int
    warnings: Sequence[str]


def write_calibrated(place: Place, found: Calibrated) -> None:
    """The values first, and calibration.json, which describes them, last."""
    candidates = found.candidates
    values = (line for row in found.rows for line in _values(candidates, row))
    _write_lines(place, "calibrated.jsonl", values)
    for row, file in zip(found.rows, _files(found.rows), strict=True):
        if row.selection is None or row.selection.threshold is None:
            place.remove(file)  # an earlier calibration may have had one
        else:
            _write_lines(place, file, _selected(candidates, row))
    place.write_json("calibration.json", calibration_json(found))


def calibration_json(found: Calibrated) -> list[dict[str, Any]]:
    files = _files(found.rows)
    return [_row_json(row, file) for row, file in zip(found.rows, files, strict=True)]


def _row_json(row: CalibratedRow, file: str) -> dict[str, Any]:
    names = [field.name for field in fields(row.calibration) if field.name != "fitted"]
    measured = {name: asdict(getattr(row.calibration, name)) for name in names}
    selection, chosen = None, row.selected
    if row.selection is not None:
        counted = {"candidates": len(chosen), "file": file if chosen else None}
        selection = asdict(row.selection) | counted
    return row.fit.as_json(measured) | {"selection": selection}


def _values(candidates: Candidates, row: CalibratedRow) -> Iterator[dict[str, Any]]:
    """Of every candidate with a score."""
    scorer, axis = row.fit.key
    at = candidates.documents.tolist(), candidates.systems.tolist()
    ends = row.fit.ends(*at, row.scores.tolist())
    values = row.fit.fitted.values
    for doc_id, system, value, (low, high) in zip(*at, values, ends, strict=True):
        if np.isfinite(value):
            text = {"doc_id": doc_id, "system": system, "scorer": scorer, "axis": axis}
            interval = {} if low is None else {"low": low, "high": high}
            yield text | {"value": float(value)} | interval


def _selected(candidates: Candidates, row: CalibratedRow) -> Iterator[dict[str, Any]]:
    """In the form of a run's selections."""
    scorer, axis = row.fit.key
    for index in row.selected:
        own = {row.fit.own: float(row.scores[index])}
        yield {
            "doc_id": candidates.documents[index],
            "system": candidates.systems[index],
            "text": candidates.texts[index],
            "values": {row.fit.scorer: own, scorer: {axis: float(row.fit.fitted.values[index])}},
        }


def _files(rows: Sequence[CalibratedRow]) -> list[str]:
    """File names made of scorers' and axes' names; equal ones are numbered."""
    taken: dict[str, str] = {}
    for row in rows:
        name = f"{row.fit.scorer}-{row.fit.axis}"
        plain = re.sub(r"[^\w.+-]+", "_", name).lstrip(".")[:LONGEST_NAME]
        numbered = (f"{plain}-{number}" for number in counting(2))
        free = next(one for one in chain([plain], numbered) if one.casefold() not in taken)
        taken[free.casefold()] = free
    return [f"selected/{name}.jsonl" for name in taken.values()]


def _write_lines(place: Place, name: str, lines: Iterable[Mapping[str, Any]]) -> None:
    with place.writing(name) as stream:
        for line in lines:
            stream.write(f"{json.dumps(line, ensure_ascii=False)}\n".encode())
