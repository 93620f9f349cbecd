"""Are the references that a judge wrote graded in truth? Known where the documents are the world's.

Of documents that evaljudge invented itself (`bundled.world`) the oracle reads any text's true
level, so also a reference's: what was to be a text of level 2 is one, or is not.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby, pairwise

from evaljudge.bundled.world import Report, levels_of, read_report
from evaljudge.records import Brief
from evaljudge.report import GradedRow
from evaljudge.storage import Output, Shard

WRITER = "synthetic"


def graded_in_truth(output: Output, shards: Sequence[Shard]) -> list[GradedRow]:
    """A row for each axis; none where no document is the world's."""
    found: dict[str, list[dict[float, int]]] = {}
    for shard in shards:
        reports = dict(_reports(output, shard))
        if not reports:
            return []
        for axis, levels in _references(output.own_briefs(WRITER, shard), reports):
            found.setdefault(axis, []).append(levels)
    return [_row(axis, documents) for axis, documents in sorted(found.items())]


def _reports(output: Output, shard: Shard) -> Iterator[tuple[str, Report]]:
    for document in output.sources(shard):
        if report := read_report(document.source):
            yield document.doc_id, report


def _references(
    briefs: Sequence[Brief], reports: Mapping[str, Report]
) -> Iterator[tuple[str, dict[float, int]]]:
    """Of each document and axis the true level of the text written for each rating."""
    known = [b for b in briefs if b.status == "ok" and b.doc_id in reports]
    known.sort(key=_whose)
    for (doc_id, axis), mine in groupby(known, _whose):
        report = reports[doc_id]
        told = ((b.content["rating"], levels_of(b.content["text"], report)) for b in mine)
        yield axis, {rating: true[axis] for rating, true in told if axis in true}


def _whose(brief: Brief) -> tuple[str, str]:
    return brief.doc_id, brief.axis


def _row(axis: str, documents: Sequence[Mapping[float, int]]) -> GradedRow:
    ratings = sorted({rating for levels in documents for rating in levels})
    rising = [[levels[rating] for rating in sorted(levels)] for levels in documents]
    return GradedRow(
        axis=axis,
        documents=len(documents),
        inverted=sum(any(a > b for a, b in pairwise(levels)) for levels in rising),
        strict=sum(all(a < b for a, b in pairwise(levels)) for levels in rising),
        means={
            rating: sum(told) / len(told)
            for rating in ratings
            if (told := [levels[rating] for levels in documents if rating in levels])
        },
    )
