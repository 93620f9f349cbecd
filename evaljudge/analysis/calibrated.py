"""What a calibration found, told on a terminal and written for other programs.

calibrated.jsonl   {"doc_id": "d1", "system": "A", "scorer": "unieval.calibrated",
                    "axis": "coherence", "value": 2.61}
calibration.json   [{"scorer": "unieval.calibrated", "of": "unieval", "axis": "coherence",
                     "signature": "…", "error_after": {"value": 0.426, …}, "map": {…}, …}]
selected/unieval-coherence.jsonl   {"doc_id": "d1", "system": "A", "text": "…",
                                    "values": {"unieval": {"coherence": 0.99}, …}}

The first is read by `evaljudge agree --scores`. Selected are all candidates, rated or not, that
reach the threshold chosen on all documents; where none was found there is no file.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import chain, count
from typing import Any

import numpy as np

import evaljudge
from evaljudge.agreement import Calibration, CrossFitted, Precise
from evaljudge.agreement.rated import Floats, Ids
from evaljudge.storage import Place

VERSION = 2
"""Of what a calibrated value means."""
SUFFIX = ".calibrated"
LONGEST_NAME = 60


@dataclass(frozen=True)
class Candidates:
    """A row each, in the corpus' order."""

    at: Sequence[tuple[str, str]]
    """doc_id and system"""
    texts: Sequence[str]
    documents: Ids
    human: Mapping[str, Floats]
    """NaN where unrated."""


@dataclass(frozen=True)
class CalibratedRow:
    """A scorer on a human axis."""

    scorer: str
    own: str
    """The scorer's axis, that of no axis too."""
    axis: str
    scores: Floats
    """Of each candidate; NaN where unscored."""
    unscored: int
    """Candidates rated on the axis, without a score."""
    calibration: Calibration
    selection: Precise | None

    @property
    def name(self) -> str:
        return calibrated_name(self.scorer)

    @property
    def told(self) -> str:
        return f"{self.scorer} on {self.axis}"

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
    seed: int
    warnings: Sequence[str]


def calibrated_name(scorer: str) -> str:
    return f"{scorer}{SUFFIX}"


def signature(scorer: str, fitted: CrossFitted, seed: int) -> str:
    """The line that says how the numbers were made."""
    return (
        f"{calibrated_name(scorer)}@{VERSION} | of {scorer} | "
        f"isotonic, {fitted.folds} folds by document, divisions {fitted.divisions}, seed {seed} | "
        f"{fitted.pairs} pairs of {fitted.documents} documents | evaljudge {evaljudge.__version__}"
    )


def write_calibrated(place: Place, found: Calibrated) -> None:
    """The values first, what they rest on last."""
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
    return [_told(found, row, file) for row, file in zip(found.rows, files, strict=True)]


def _told(found: Calibrated, row: CalibratedRow, file: str) -> dict[str, Any]:
    fitted = row.calibration.fitted
    measured = {
        name: asdict(getattr(row.calibration, name))
        for name in (
            "error_before",
            "error_of_mean",
            "error_after",
            "less",
            "spearman_before",
            "spearman_after",
        )
    }
    return {
        **fit_json(row.scorer, row.axis, fitted, row.unscored, found.seed),
        **measured,
        **maps_json(fitted, folds_of(found.candidates.documents, fitted)),
        "selection": _selection(row, file),
    }


def fit_json(
    scorer: str, axis: str, fitted: CrossFitted, unscored: int, seed: int
) -> dict[str, Any]:
    """What was fitted to what; `unscored`: candidates rated on the axis, without a score."""
    return {
        "scorer": calibrated_name(scorer),
        "of": scorer,
        "axis": axis,
        "signature": signature(scorer, fitted, seed),
        "documents": fitted.documents,
        "pairs": fitted.pairs,
        "unscored": unscored,
    }


def folds_of(documents: Ids, fitted: CrossFitted) -> dict[str, list[int]]:
    """Of each document with a pair, by doc_id: its fold in each division."""
    with_pair = fitted.fold[0] >= 0
    return dict(zip(documents[with_pair], fitted.fold.T[with_pair].tolist(), strict=True))


def maps_json(fitted: CrossFitted, folds_of: Mapping[str, Sequence[int]]) -> dict[str, Any]:
    """`folds_of`: of each document with a pair; its scores take the mean of these folds' maps."""
    return {
        "map": asdict(fitted.whole),
        "fold_maps": [asdict(one) for one in fitted.maps],
        "folds_of": dict(sorted(folds_of.items())),
    }


def _selection(row: CalibratedRow, file: str) -> dict[str, Any] | None:
    if row.selection is None:
        return None
    chosen = row.selected
    return asdict(row.selection) | {"candidates": len(chosen), "file": file if chosen else None}


def _values(candidates: Candidates, row: CalibratedRow) -> Iterator[dict[str, Any]]:
    """Of every candidate with a score."""
    for (doc_id, system), value in zip(candidates.at, row.calibration.fitted.values, strict=True):
        if np.isfinite(value):
            at = {"doc_id": doc_id, "system": system}
            yield at | {"scorer": row.name, "axis": row.axis, "value": float(value)}


def _selected(candidates: Candidates, row: CalibratedRow) -> Iterator[dict[str, Any]]:
    """In the form of a run's selections."""
    for index in row.selected:
        doc_id, system = candidates.at[index]
        score, value = row.scores[index], row.calibration.fitted.values[index]
        yield {
            "doc_id": doc_id,
            "system": system,
            "text": candidates.texts[index],
            "values": {
                row.scorer: {row.own: float(score)},
                row.name: {row.axis: float(value)},
            },
        }


def _files(rows: Sequence[CalibratedRow]) -> list[str]:
    """Names of strangers as names of files; two that become one are numbered."""
    taken: dict[str, str] = {}
    for row in rows:
        plain = re.sub(r"[^\w.+-]+", "_", f"{row.scorer}-{row.axis}").lstrip(".")[:LONGEST_NAME]
        numbered = (f"{plain}-{number}" for number in count(2))
        free = next(one for one in chain([plain], numbered) if one.casefold() not in taken)
        taken[free.casefold()] = free
    return [f"selected/{name}.jsonl" for name in taken.values()]


def _write_lines(place: Place, name: str, lines: Iterable[Mapping[str, Any]]) -> None:
    with place.writing(name) as stream:
        for line in lines:
            stream.write(f"{json.dumps(line, ensure_ascii=False)}\n".encode())
