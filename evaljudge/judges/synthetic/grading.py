"""Are the references that a judge wrote graded in truth? Known where the documents are the world's.

Of documents that evaljudge invented itself (`bundled.world`) the oracle reads any text's true
level, so also a reference's: what was to be a text of level 2 is one, or is not.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import groupby, pairwise

from evaljudge.bundled.world import levels_of, read_report
from evaljudge.judges.collector import SeenShard
from evaljudge.judges.shared.counting import Summed
from evaljudge.records import Brief


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


@dataclass
class GradedSums(Summed):
    """Of one axis: counts of its documents, and what the true levels of each rating add up to."""

    documents: int = 0
    inverted: int = 0
    strict: int = 0
    levels: Counter[float] = field(default_factory=Counter)
    texts: Counter[float] = field(default_factory=Counter)
    """By the rating that they were written for."""

    def add(self, true: Mapping[float, int]) -> None:
        """A document's: the true level of the text written for each rating."""
        rising = list(pairwise(true[rating] for rating in sorted(true)))
        self.documents += 1
        self.inverted += any(one > other for one, other in rising)
        self.strict += all(one < other for one, other in rising)
        self.levels.update(true)
        self.texts.update(dict.fromkeys(true, 1))

    def row(self, axis: str) -> GradedRow:
        means = {rating: self.levels[rating] / self.texts[rating] for rating in sorted(self.texts)}
        return GradedRow(axis, self.documents, self.inverted, self.strict, means)


def graded_sums(shard: SeenShard, ratings: Iterable[float]) -> dict[str, GradedSums] | None:
    """By axis; None where no document is the world's."""
    found = {case.document.doc_id: read_report(case.document.source) for case in shard.cases}
    reports = {doc_id: report for doc_id, report in found.items() if report}
    if not reports:
        return None
    wanted, sums = set(ratings), dict[str, GradedSums]()
    known = [b for b in shard.briefs() if b.status == "ok" and b.doc_id in reports]
    known = [b for b in sorted(known, key=_whose) if b.content["rating"] in wanted]
    for (doc_id, axis), mine in groupby(known, _whose):
        report = reports[doc_id]
        true = ((b.content["rating"], levels_of(b.content["text"], report)) for b in mine)
        levels = {rating: level[axis] for rating, level in true if axis in level}
        sums.setdefault(axis, GradedSums()).add(levels)
    return sums


def _whose(brief: Brief) -> tuple[str, str]:
    return brief.doc_id, brief.axis
