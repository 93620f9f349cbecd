"""The verdicts of `direct` as columns of a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypedDict


class DirectColumns(TypedDict):
    reply: str
    rating: float | None


def verdict_columns(evidence: Sequence[Mapping[str, Any]]) -> list[DirectColumns]:
    return [{"reply": one["reply"], "rating": one.get("rating")} for one in evidence]
