"""How far a run's references and comparisons can be trusted, gathered shard by shard."""

from __future__ import annotations

from typing import Self

from evaljudge.judges.collector import Found, JudgeFindings, SeenShard
from evaljudge.judges.synthetic.grading import Levels, graded_row, true_levels
from evaljudge.judges.synthetic.section import graded, validity, validity_warnings
from evaljudge.judges.synthetic.validity import Sums, compared, shard_sums, validity_rows


class SyntheticFindings:
    """Sums of checks and comparisons; and the references' true levels, where these are known."""

    def __init__(self, judge: str, ratings: tuple[float, ...]) -> None:
        self._judge, self._ratings = judge, ratings
        self._sums, self._true = Sums(), list[tuple[str, Levels]]()
        self._is_known = True
        """No shard so far is without a document whose references' true levels are known."""

    def see(self, shard: SeenShard) -> None:
        comparisons = {
            (v.doc_id, v.system, v.axis): compared(v) for v in shard.verdicts if v.status == "ok"
        }
        own = {
            (s.doc_id, s.system, s.axis): s.value for s in shard.scores if s.scorer == self._judge
        }
        self._sums += shard_sums(shard.cases, comparisons, shard.checks, own)
        levels = true_levels(shard, self._ratings) if self._is_known else None
        if levels is None:
            self._is_known = False
        else:
            self._true += levels

    def __iadd__(self, other: SyntheticFindings) -> Self:
        self._sums += other._sums
        self._is_known &= other._is_known
        self._true = [*self._true, *other._true] if self._is_known else []
        return self

    def findings(self, found: Found) -> JudgeFindings:
        rows = validity_rows(self._judge, self._judge, self._sums, found.rated, found.documents)
        axes = sorted({axis for axis, _ in self._true}) if self._is_known else []
        true = [graded_row(axis, [one for at, one in self._true if at == axis]) for axis in axes]
        return JudgeFindings(
            sections=[graded(true), validity(rows)],
            files={"validity": rows},
            warnings=validity_warnings(rows),
        )
