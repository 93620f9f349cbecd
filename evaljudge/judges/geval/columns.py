"""The verdicts of `geval` as columns of a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypedDict

from evaljudge.judges.geval.judge import probabilities


class GevalColumns(TypedDict):
    """By rating; `draws` is null where none were asked for."""

    p: Mapping[str, float]
    draws: Mapping[str, int] | None


def verdict_columns(evidence: Sequence[Mapping[str, Any]]) -> list[GevalColumns]:
    return [{"p": probabilities(one), "draws": one.get("draws")} for one in evidence]
