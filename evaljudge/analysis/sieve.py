"""One selection at work: which candidates its rule lets through, written as they come.

{"doc_id": "d1", "system": "A", "text": "A flood.", "values": {"synthetic.level": {"fluency": 4.2}}}
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import IO, TYPE_CHECKING, Any

from evaljudge.analysis.findings import Selected
from evaljudge.records import Candidate

if TYPE_CHECKING:
    from evaljudge.agreement import Precise
    from evaljudge.config import Condition, Selection

Scale = tuple[str, str]
"""A scorer and an axis."""
Values = Mapping[Scale, float]
Thresholds = Mapping[tuple[Scale, float], float | None]
"""By scale and top_fraction; None where nothing is scored on that scale."""
Aim = tuple[Scale, float, float]
"""A precision on a scale, and from which rating on a candidate is good."""
Aims = Mapping[Aim, "Precise | None"]
"""What was found of each; None where too few documents are rated."""


@dataclass
class Sieve:
    """One selection's conditions, the file it writes, and its counts."""

    rule: Selection
    thresholds: Thresholds
    aims: Aims
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
            [told for condition in self.rule.all for told in self._thresholds_of(condition)],
        )

    def _thresholds_of(self, condition: Condition) -> Iterator[dict[str, Any]]:
        """What the condition's words came to, in numbers."""
        known = {"scorer": condition.scorer, "axis": condition.axis}
        if (top := condition.top_fraction) is not None:
            value = self.thresholds[scale_of(condition), top]
            yield known | {"top_fraction": top, "value": value}
        if (aim := aim_of(condition)) is not None:
            _, precision, good = aim
            yield known | {"precision": precision, "good": good} | _came_to(self.aims[aim])

    def _holds(self, condition: Condition, value: float) -> bool:
        least, most = condition.at_least, condition.at_most
        top = condition.top_fraction
        threshold = None if top is None else self.thresholds[scale_of(condition), top]
        return (
            (least is None or value >= least)
            and (most is None or value <= most)
            and (threshold is None or value >= threshold)
            and self._is_precise(condition, value)
        )

    def _is_precise(self, condition: Condition, value: float) -> bool:
        """Where no threshold reaches the precision, nothing does."""
        aim = aim_of(condition)
        if aim is None:
            return True
        found = self.aims[aim]
        return found is not None and found.threshold is not None and value >= found.threshold


def _came_to(found: Precise | None) -> dict[str, Any]:
    if found is None:
        return {"value": None, "best": None, "documents": None, "cross_fitted": None}
    shares = {"precision": asdict(found.precision), "recall": asdict(found.recall)}
    return {
        "value": found.threshold,
        "best": found.best,
        "documents": found.documents,
        "cross_fitted": shares,
    }


def _line(doc_id: str, candidate: Candidate, values: Values) -> bytes:
    told: dict[str, dict[str, float]] = {}
    for (scorer, axis), value in values.items():
        told.setdefault(scorer, {})[axis] = value
    row = {"doc_id": doc_id, "system": candidate.system, "text": candidate.text, "values": told}
    return f"{json.dumps(row, ensure_ascii=False)}\n".encode()


def scale_of(condition: Condition) -> Scale:
    return condition.scorer, condition.axis


def aim_of(condition: Condition) -> Aim | None:
    if condition.precision is None or condition.good is None:
        return None
    return scale_of(condition), condition.precision, condition.good
