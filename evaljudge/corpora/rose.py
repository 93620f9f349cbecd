"""RoSE's annotated summaries (Liu et al. 2023): JSON, JSON lines or Parquet, a document a row.

{"example_id": "1a2b", "count_id": 7, "source": "The river …", "reference": "A flood came.",
 "reference_acus": ["A flood came"], "system_outputs": {"bart": "It rained.", …},
 "annotations": {"bart": {"prior": 3.67, "ref_based": 2.33, "ref_free": 4.0,
                          "acu_labels": [0], "acu": 0.0, "normalized_acu": 0.0}, …}, …}

A system's axes are the protocols it is annotated with: `acu` and `normalized_acu` in all splits,
`prior`, `ref_based` and `ref_free` in cnndm_protocol and cnndm_protocol_gpt3. Ratings are means;
those of single raters are not published. A system without annotation is a candidate without rating.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from evaljudge.corpora.files import Readers, read_files
from evaljudge.corpora.published import JSON, Fields, given, number, turned
from evaljudge.corpora.readers import PARQUET, read_parquet
from evaljudge.corpora.rows import KnownFormat, RefusedError, Rows
from evaljudge.text import shown

AXES = ("prior", "ref_based", "ref_free", "acu", "normalized_acu")
FIELDS = ("example_id", "source", "reference", "system_outputs", "annotations")
FILES: Readers = {**JSON, PARQUET: partial(read_parquet, wanted=FIELDS)}


def read_rose(paths: tuple[str, ...]) -> Rows:
    return (turned(row, _case) for row in read_files(paths, FILES))


def _case(fields: Fields) -> dict[str, Any]:
    annotations = _of_systems(fields, "annotations", dict)
    outputs = _of_systems(fields, "system_outputs", str)
    for system in annotations.keys() - outputs.keys():
        raise RefusedError(f"no `system_outputs` of {shown(system)}, which has `annotations`")
    return {
        "doc_id": given(fields, "example_id", str),
        "source": given(fields, "source", str),
        "references": [given(fields, "reference", str)],
        "candidates": [
            {"system": system, "text": text, "ratings": _ratings(system, annotations.get(system))}
            for system, text in outputs.items()
        ],
    }


def _of_systems(fields: Fields, name: str, of: type[Any]) -> dict[str, Any]:
    """The values by system; in Parquet every row names every system, and some values are null."""
    by_system = given(fields, name, dict)
    present = [system for system, value in by_system.items() if value is not None]
    return {system: given(by_system, system, of, f" in `{name}`") for system in present}


def _ratings(system: str, annotated: Fields | None) -> dict[str, Any]:
    if annotated is None:
        return {}
    where = f" of {shown(system)}"
    axes = [axis for axis in AXES if axis in annotated]
    if not axes:
        raise RefusedError(f"`annotations`{where} has none of {', '.join(AXES)}")
    return {axis: number(annotated, axis, where) for axis in axes}


FORMATS = {
    "rose": KnownFormat(
        read_rose, "Summaries with RoSE's atomic content units.", "RoSE's JSON or Parquet files"
    )
}
