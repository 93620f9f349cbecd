"""How far a run's references and comparisons can be trusted, gathered shard by shard.

What could mislead in any run is in validity.py, and whether the probabilities mean what they say
in reliability.py. For documents of evaljudge's own small world (`bundled.world`) an oracle reads
the true level of any text, so also whether a reference that was written for level 2 is a text of
level 2.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby, pairwise
from typing import Self

from evaljudge.bundled.world import levels_of, read_report
from evaljudge.judges.collector import Found, JudgeFindings, SeenShard
from evaljudge.judges.shared.counting import Summed, add_by_key
from evaljudge.judges.synthetic.reliability import (
    ReliabilitySums,
    reliability,
    reliability_rows,
    reliability_sums,
)
from evaljudge.judges.synthetic.section import validity, validity_warnings
from evaljudge.judges.synthetic.validity import AxisSums, shard_sums, validity_rows
from evaljudge.records import Brief
from evaljudge.sections import Section, Table
from evaljudge.sections.figures import NONE, count, ratio

GRADED = "Are the references graded in truth?"
TRUE_LEVELS = (
    "These documents are of evaljudge's own small world, whose oracle reads the true level of any "
    "text: here, of the references that the writer wrote for each level. An inversion is a "
    "reference whose true level is lower than that of the one below it."
)


class SyntheticFindings:
    """Sums of checks and comparisons; and of the references' true levels, where these are known."""

    def __init__(self, judge: str, ratings: Sequence[float]) -> None:
        self._judge, self._ratings = judge, ratings
        self._sums: dict[str, AxisSums] = {}
        self._reliability: dict[str, ReliabilitySums] = {}
        self._graded: dict[str, GradedSums] | None = {}
        """By axis; None once a shard held no document whose true levels are known."""

    def see(self, shard: SeenShard) -> None:
        graded = None if self._graded is None else graded_sums(shard, self._ratings)
        self._add(shard_sums(self._judge, shard), reliability_sums(shard), graded)

    def __iadd__(self, other: SyntheticFindings) -> Self:
        self._add(other._sums, other._reliability, other._graded)
        return self

    def _add(
        self,
        sums: dict[str, AxisSums],
        reliable: dict[str, ReliabilitySums],
        graded: dict[str, GradedSums] | None,
    ) -> None:
        add_by_key(self._sums, sums)
        add_by_key(self._reliability, reliable)
        if self._graded is None or graded is None:
            self._graded = None
        else:
            add_by_key(self._graded, graded)

    def findings(self, found: Found) -> JudgeFindings:
        rows = validity_rows(self._judge, self._sums, found.rated, found.documents)
        probabilities = reliability_rows(self._judge, self._reliability)
        return JudgeFindings(
            sections=[
                graded_section(self._graded or {}),
                validity(rows),
                reliability(probabilities),
            ],
            files={"validity": rows, "reliability": probabilities},
            warnings=validity_warnings(rows),
        )


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


def graded_section(sums: Mapping[str, GradedSums]) -> Section:
    """`sums`: by axis."""
    ratings = sorted({rating for own in sums.values() for rating in own.texts})
    heads = ["axis", "documents", "no inversion", "all rising", *(f"true {r:g}" for r in ratings)]
    cells = [
        [
            axis,
            count(own.documents),
            ratio(own.documents - own.inverted, own.documents),
            ratio(own.strict, own.documents),
            *(f"{own.means[r]:.2f}" if r in own.means else NONE for r in ratings),
        ]
        for axis, own in sorted(sums.items())
    ]
    table = Table("References by the world's oracle", heads, cells, "l" + "r" * (len(heads) - 1))
    return Section(GRADED, [TRUE_LEVELS], [table])
