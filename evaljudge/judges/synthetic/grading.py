"""Whether the references that a judge wrote are really graded, where this can be known.

For documents of its own small world (`bundled.world`) an oracle reads the true level of any text,
so also whether a reference that was written for level 2 is a text of level 2.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import groupby, pairwise

from evaljudge.bundled.world import levels_of, read_report
from evaljudge.judges.collector import SeenShard
from evaljudge.judges.shared.counting import Summed
from evaljudge.records import Brief


@dataclass
class GradedSums(Summed):
    """The true levels of the references on one axis.

    `inverted`: documents where one falls below the one before; `strict`: where each is above it.
    `levels` adds up the true levels of the `texts` that were written for each rating.
    """

    documents: int = 0
    inverted: int = 0
    strict: int = 0
    levels: Counter[float] = field(default_factory=Counter)
    texts: Counter[float] = field(default_factory=Counter)

    @property
    def means(self) -> dict[float, float]:
        return {rating: self.levels[rating] / self.texts[rating] for rating in sorted(self.texts)}


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
        true = ((b.content["rating"], levels_of(b.content["text"], reports[doc_id])) for b in mine)
        levels = Counter({rating: level[axis] for rating, level in true if axis in level})
        steps = list(pairwise(levels[rating] for rating in sorted(levels)))
        total = sums.setdefault(axis, GradedSums())
        total += GradedSums(
            documents=1,
            inverted=any(worse > better for worse, better in steps),
            strict=all(worse < better for worse, better in steps),
            levels=levels,
            texts=Counter(levels.keys()),
        )
    return sums


def _whose(brief: Brief) -> tuple[str, str]:
    return brief.doc_id, brief.axis
