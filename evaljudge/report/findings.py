"""What a run found, as plain values: all that the report shows, and nothing of how it was counted.

Coverage("synthetic", "fluency", scored=97, unscored=3, reasons={"empty text": 3})
AgreementRow("synthetic", "fluency", "sample", "spearman", 0.44, 0.31, 0.55, 100, 2, False)
SystemMean("synthetic", "fluency", "BART", mean=3.92, n=100)
Selected("good", {"name": "good", "all": […]}, considered=1600, selected=412, unscored=3)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Coverage:
    """How many candidates got a number; `reasons` says, for the others, how often which."""

    scorer: str
    axis: str
    scored: int
    unscored: int
    reasons: Mapping[str, int]

    @property
    def expected(self) -> int:
        return self.scored + self.unscored


@dataclass(frozen=True, slots=True)
class AgreementRow:
    """One coefficient at one level; None where it is undefined, never 0."""

    scorer: str
    axis: str
    level: str
    coefficient: str
    value: float | None
    low: float | None
    high: float | None
    n: int
    skipped: int
    sampled: bool
    epsilon: float | None = None


@dataclass(frozen=True, slots=True)
class SystemMean:
    scorer: str
    axis: str
    system: str
    mean: float
    n: int


@dataclass(frozen=True, slots=True)
class Selected:
    """What one selection came to; `thresholds`: the value that each top_fraction came to."""

    name: str
    rule: Mapping[str, Any]
    considered: int
    selected: int
    unscored: int
    thresholds: Sequence[Mapping[str, Any]] = ()

    @property
    def file(self) -> str:
        return f"selected/{self.name}.jsonl"


@dataclass(frozen=True, slots=True)
class Findings:
    """`tokens`: rows of stage, judge, asks, prompt, prefilled, generated, floor."""

    run: str
    task: str
    corpus: str
    model: str
    writer: str
    cases: int
    candidates: int
    rated: int
    coverage: Sequence[Coverage]
    coverage_floor: float
    agreement: Sequence[AgreementRow]
    systems: Sequence[SystemMean]
    selections: Sequence[Selected]
    signatures: Mapping[str, str]
    tokens: Sequence[Mapping[str, Any]]
    warnings: Sequence[str]

    @property
    def share(self) -> float:
        """Scored of expected, over all scorers and axes; 1.0 when nothing was expected."""
        expected = sum(row.expected for row in self.coverage)
        return sum(row.scored for row in self.coverage) / expected if expected else 1.0

    @property
    def floor_passed(self) -> bool:
        return self.share >= self.coverage_floor
