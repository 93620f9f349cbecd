"""How far a run's references and comparisons can be trusted, gathered shard by shard."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

from evaljudge.judges.collector import Found, JudgeFindings, SeenShard
from evaljudge.judges.shared.counting import add_by_key
from evaljudge.judges.synthetic.grading import GradedSums, graded_sums
from evaljudge.judges.synthetic.section import graded_section, validity, validity_warnings
from evaljudge.judges.synthetic.validity import AxisSums, shard_sums, validity_rows


class SyntheticFindings:
    """Sums of checks and comparisons; and of the references' true levels, where these are known."""

    def __init__(self, judge: str, ratings: Sequence[float]) -> None:
        self._judge, self._ratings = judge, ratings
        self._sums: dict[str, AxisSums] = {}
        self._graded: dict[str, GradedSums] | None = {}
        """By axis; None once a shard held no document whose true levels are known."""

    def see(self, shard: SeenShard) -> None:
        graded = None if self._graded is None else graded_sums(shard, self._ratings)
        self._add(shard_sums(self._judge, shard), graded)

    def __iadd__(self, other: SyntheticFindings) -> Self:
        self._add(other._sums, other._graded)
        return self

    def _add(self, sums: dict[str, AxisSums], graded: dict[str, GradedSums] | None) -> None:
        add_by_key(self._sums, sums)
        if self._graded is None or graded is None:
            self._graded = None
        else:
            add_by_key(self._graded, graded)

    def findings(self, found: Found) -> JudgeFindings:
        rows = validity_rows(self._judge, self._sums, found.rated, found.documents)
        return JudgeFindings(
            sections=[graded_section(self._graded or {}), validity(rows)],
            files={"validity": rows},
            warnings=validity_warnings(rows),
        )
