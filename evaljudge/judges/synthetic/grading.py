"""Are the references that a judge wrote graded in truth? Known where the documents are the world's.

Of documents that evaljudge invented itself (`bundled.world`) the oracle reads any text's true
level, so also a reference's: what was to be a text of level 2 is one, or is not.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise

from evaljudge.bundled.world import levels_of, read_report
from evaljudge.judges.collector import SeenShard
from evaljudge.records import Brief

Levels = Mapping[float, int]
"""The true level of the text that was written for each rating."""


@dataclass(frozen=True, slots=True)
class GradedRow:
    """The true levels of the references on one axis; `means`: of those written for each rating.

    `inverted`: documents where one falls below the one before; `strict`: where each is above it.
    """

    axis: str
    documents: int
    inverted: int
    strict: int
    means: Mapping[float, float]


def true_levels(shard: SeenShard, ratings: Iterable[float]) -> list[tuple[str, Levels]] | None:
    """Of each document and axis; None where no document is the world's."""
    found = {case.document.doc_id: read_report(case.document.source) for case in shard.cases}
    reports = {doc_id: report for doc_id, report in found.items() if report}
    if not reports:
        return None
    wanted = set(ratings)
    known = [b for b in shard.briefs() if b.status == "ok" and b.doc_id in reports]
    known = [b for b in sorted(known, key=_whose) if b.content["rating"] in wanted]
    levels = list[tuple[str, Levels]]()
    for (doc_id, axis), mine in groupby(known, _whose):
        report = reports[doc_id]
        told = ((b.content["rating"], levels_of(b.content["text"], report)) for b in mine)
        levels.append((axis, {rating: true[axis] for rating, true in told if axis in true}))
    return levels


def _whose(brief: Brief) -> tuple[str, str]:
    return brief.doc_id, brief.axis


def graded_row(axis: str, documents: Sequence[Levels]) -> GradedRow:
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
