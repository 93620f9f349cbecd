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
from evaljudge.corpora.published import JSON, Fields, rating, turned
from evaljudge.corpora.readers import PARQUET, read_parquet
from evaljudge.corpora.rows import KnownFormat, RefusedError, Rows
from evaljudge.text import shown

AXES = ("prior", "ref_based", "ref_free", "acu", "normalized_acu")
FIELDS = ("example_id", "source", "reference", "system_outputs", "annotations")
FILES: Readers = {**JSON, PARQUET: partial(read_parquet, wanted=FIELDS)}


def read_rose(paths: tuple[str, ...]) -> Rows:
    return (turned(row, _case) for row in read_files(paths, FILES))


def _case(fields: Fields) -> dict[str, Any]:
    annotations, outputs = (_present(fields[n]) for n in ("annotations", "system_outputs"))
    for system in annotations.keys() - outputs.keys():
        raise RefusedError(f"no `system_outputs` of {shown(system)}, which has `annotations`")
    return {
        "doc_id": fields["example_id"],
        "source": fields["source"],
        "references": [fields["reference"]],
        "candidates": [
            {"system": system, "text": text, "ratings": _ratings(annotations.get(system))}
            for system, text in outputs.items()
        ],
    }


def _present(by_system: Fields) -> dict[str, Any]:
    """In Parquet every row names every system, and some values are null."""
    return {system: value for system, value in by_system.items() if value is not None}


def _ratings(annotated: Fields | None) -> dict[str, Any]:
    if annotated is None:
        return {}
    ratings = {axis: rating(annotated[axis]) for axis in AXES if axis in annotated}
    if not ratings:
        raise RefusedError(f"`annotations` of a system have none of {', '.join(AXES)}")
    return ratings


FORMATS = {
    "rose": KnownFormat(
        read_rose, "Summaries with RoSE's atomic content units.", "RoSE's JSON or Parquet files"
    )
}
