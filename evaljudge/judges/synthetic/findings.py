"""How far a run's references and comparisons can be trusted, gathered shard by shard."""

from __future__ import annotations

from typing import Self

from evaljudge.judges.collector import Found, JudgeFindings, SeenShard
from evaljudge.judges.synthetic.grading import GradedSums, graded_sums
from evaljudge.judges.synthetic.section import graded_section, validity, validity_warnings
from evaljudge.judges.synthetic.validity import Sums, compared, shard_sums, validity_rows


class SyntheticFindings:
    """Sums of checks and comparisons; and of the references' true levels, where these are known."""

    def __init__(self, judge: str, ratings: tuple[float, ...]) -> None:
        self._judge, self._ratings = judge, ratings
        self._sums = Sums()
        self._graded: dict[str, GradedSums] | None = {}
        """By axis; None once a shard held no document whose true levels are known."""

    def see(self, shard: SeenShard) -> None:
        comparisons = {
            (v.doc_id, v.system, v.axis): compared(v) for v in shard.verdicts if v.status == "ok"
        }
        own = {
            (s.doc_id, s.system, s.axis): s.value for s in shard.scores if s.scorer == self._judge
        }
        self._sums += shard_sums(shard.cases, comparisons, shard.checks, own)
        self._add_graded(None if self._graded is None else graded_sums(shard, self._ratings))

    def _add_graded(self, more: dict[str, GradedSums] | None) -> None:
        if self._graded is None or more is None:
            self._graded = None
            return
        for axis, sums in more.items():
            total = self._graded.setdefault(axis, GradedSums())
            total += sums

    def __iadd__(self, other: SyntheticFindings) -> Self:
        self._sums += other._sums
        self._add_graded(other._graded)
        return self

    def findings(self, found: Found) -> JudgeFindings:
        rows = validity_rows(self._judge, self._judge, self._sums, found.rated, found.documents)
        true = [sums.row(axis) for axis, sums in sorted((self._graded or {}).items())]
        return JudgeFindings(
            sections=[graded_section(true), validity(rows)],
            files={"validity": rows},
            warnings=validity_warnings(rows),
        )
