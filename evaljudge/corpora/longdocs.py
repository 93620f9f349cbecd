"""Annotated summaries of long documents (Koh et al. 2022): arXiv papers and government reports.

[{"dataset": "arXiv", "dataset_id": "ID_1603.04792", "model_type": "BART (LEAD 1K)",
  "model_summary": "We study rivers.", "relevance": 0.38, "factual_consistency": 0.93}, …]

in robust_long_abstractive_human_annotation_dataset.jsonl (one list) or .csv; or, rater by rater,

[{"a1": {"dataset": "arXiv", "document_id": "ID_1603.04792", "model": "BART (LEAD 1K)",
         "summary": "We study rivers.", "relevance_score": 0.4, "factual_score": 0.9, …},
  "a2": {…}, "a3": {…}}, …]

in annotation_data.jsonl. It lacks the documents: `sources` names generic rows of them (and of
others), `doc_id` with or without `ID_`. Without `sources` each source stays empty.
"""

from collections.abc import Collection
from functools import partial
from typing import Any

from evaljudge.corpora.files import read_generic
from evaljudge.corpora.published import CSV, JSON, Fields, rating, read_turned
from evaljudge.corpora.rows import BadRow, KnownFormat, RefusedError, Row, Rows
from evaljudge.errors import UserError
from evaljudge.text import shown

DATASETS = {"arXiv": "papers", "GovReport": "reports"}
FIRST_RATER = "a1"
AXES = {"relevance": "relevance_score", "factual_consistency": "factual_score"}
"""With their names in the file of single raters."""
PREFIX = "ID_"


def read_longdocs(dataset: str, paths: tuple[str, ...], sources: str | None = None) -> Rows:
    """The part of the benchmark on this data set: `arXiv` or `GovReport`."""
    annotated = set()
    for summary in read_turned(_summary, {**JSON, **CSV}, paths):
        if isinstance(summary, BadRow):
            yield summary
        elif summary.fields["dataset"] == dataset:
            annotated.add(str(summary.fields["doc_id"]))
            yield summary
    if sources:
        yield from _documents(sources, annotated)


def _summary(fields: Fields) -> dict[str, Any]:
    if FIRST_RATER in fields:
        about, names = fields[FIRST_RATER], ("document_id", "model", "summary")
        ratings = {
            axis: [rating(rater[name]) for rater in fields.values()] for axis, name in AXES.items()
        }
    else:
        about, names = fields, ("dataset_id", "model_type", "model_summary")
        ratings = {axis: rating(fields[axis]) for axis in AXES}
    if about["dataset"] not in DATASETS:
        known = " or ".join(map(repr, DATASETS))
        raise RefusedError(f"`dataset` must be {known}, not {shown(str(about['dataset']))}")
    doc_id, system, text = (about[name] for name in names)
    case = {"doc_id": doc_id, "source": None, "system": system, "text": text, "ratings": ratings}
    return {**case, "dataset": about["dataset"]}


def _documents(sources: str, annotated: Collection[str]) -> Rows:
    """The rows of annotated documents, as cases without candidates."""
    found = False
    for row in read_generic((sources,)):
        name = "" if isinstance(row, BadRow) else str(row.fields.get("doc_id"))
        known = next((n for n in (name, PREFIX + name) if n in annotated), None)
        if isinstance(row, BadRow):
            yield row
        elif known:
            found = True
            yield Row(row.place, {**row.fields, "doc_id": known, "candidates": []})
    if annotated and not found:
        example = shown(min(annotated))
        raise UserError(
            f"{sources}: no row's `doc_id` is one of the annotated documents', as {example}"
        )


NEEDS = "the annotations' file, and `sources`: rows with the documents"
FORMATS = {
    dataset.lower(): KnownFormat(
        partial(read_longdocs, dataset), f"Summaries of {texts}, rated by people.", NEEDS, True
    )
    for dataset, texts in DATASETS.items()
}
