"""One selection at work: which candidates its rule lets through, written as they come.

{"doc_id": "d1", "system": "A", "text": "A flood.", "values": {"synthetic.level": {"fluency": 4.2}}}
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import IO, TYPE_CHECKING

from evaljudge.records import Candidate
from evaljudge.report.findings import Selected

if TYPE_CHECKING:
    from evaljudge.config import Condition, Selection

Scale = tuple[str, str]
"""A scorer and an axis."""
Values = Mapping[Scale, float]
Thresholds = Mapping[tuple[Scale, float], float | None]
"""By scale and top_fraction; None where nothing is scored on that scale."""


@dataclass
class Sieve:
    """One selection's conditions, the file it writes, and its counts."""

    rule: Selection
    thresholds: Thresholds
    file: IO[bytes]
    considered: int = 0
    passed: int = 0
    unscored: int = 0

    @cached_property
    def scales(self) -> list[Scale]:
        return list(dict.fromkeys(map(scale_of, self.rule.all)))

    def see(self, doc_id: str, candidate: Candidate, values: Values) -> None:
        self.considered += 1
        if any(scale not in values for scale in self.scales):
            self.unscored += 1
        elif all(
            self._holds(condition, values[scale_of(condition)]) for condition in self.rule.all
        ):
            self.passed += 1
            self.file.write(_line(doc_id, candidate, {s: values[s] for s in self.scales}))

    def selected(self) -> Selected:
        return Selected(
            self.rule.name,
            self.rule.model_dump(exclude_none=True),
            self.considered,
            self.passed,
            self.unscored,
            [
                {"scorer": c.scorer, "axis": c.axis, "top_fraction": c.top_fraction}
                | {"value": self.thresholds[scale_of(c), c.top_fraction]}
                for c in self.rule.all
                if c.top_fraction is not None
            ],
        )

    def _holds(self, condition: Condition, value: float) -> bool:
        least, most = condition.at_least, condition.at_most
        top = condition.top_fraction
        threshold = None if top is None else self.thresholds[scale_of(condition), top]
        return (
            (least is None or value >= least)
            and (most is None or value <= most)
            and (threshold is None or value >= threshold)
        )


def _line(doc_id: str, candidate: Candidate, values: Values) -> bytes:
    told: dict[str, dict[str, float]] = {}
    for (scorer, axis), value in values.items():
        told.setdefault(scorer, {})[axis] = value
    row = {"doc_id": doc_id, "system": candidate.system, "text": candidate.text, "values": told}
    return f"{json.dumps(row, ensure_ascii=False)}\n".encode()


def scale_of(condition: Condition) -> Scale:
    return condition.scorer, condition.axis
