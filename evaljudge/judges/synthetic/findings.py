"""How far a run's references and comparisons can be trusted, gathered shard by shard.

What could mislead in any run is in validity.py, and whether the probabilities mean what they say
in reliability.py.
"""

from __future__ import annotations

from typing import Self

from evaljudge.judges.collector import Found, JudgeFindings, SeenShard
from evaljudge.judges.shared.counting import add_by_key
from evaljudge.judges.synthetic.reliability import (
    ReliabilitySums,
    reliability,
    reliability_rows,
    reliability_sums,
)
from evaljudge.judges.synthetic.section import validity, validity_warnings
from evaljudge.judges.synthetic.validity import AxisSums, shard_sums, validity_rows


class SyntheticFindings:
    """Sums of checks and comparisons."""

    def __init__(self, judge: str) -> None:
        self._judge = judge
        self._sums: dict[str, AxisSums] = {}
        self._reliability: dict[str, ReliabilitySums] = {}

    def see(self, shard: SeenShard) -> None:
        add_by_key(self._sums, shard_sums(self._judge, shard))
        add_by_key(self._reliability, reliability_sums(shard))

    def __iadd__(self, other: SyntheticFindings) -> Self:
        add_by_key(self._sums, other._sums)
        add_by_key(self._reliability, other._reliability)
        return self

    def findings(self, found: Found) -> JudgeFindings:
        rows = validity_rows(self._judge, self._sums, found.rated, found.documents)
        probabilities = reliability_rows(self._judge, self._reliability)
        return JudgeFindings(
            sections=[validity(rows), reliability(probabilities)],
            files={"validity": rows, "reliability": probabilities},
            warnings=validity_warnings(rows),
        )
