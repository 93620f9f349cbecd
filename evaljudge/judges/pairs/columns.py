"""The verdicts of `pairs` as columns of a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypedDict

from evaljudge.judges.pairs.comparing import read_comparison


class ComparisonColumns(TypedDict):
    """`first` has the answers when the text stood first, `second` when it stood second."""

    other: str
    preference: float
    first: Mapping[str, float] | None
    second: Mapping[str, float] | None


class TriedColumns(TypedDict):
    """Of one of several instructions; without a rank where it `failed`."""

    number: str
    rank: float | None
    strength: float | None
    failed: str | None


class PairsColumns(TypedDict):
    """With several instructions, only `instructions` is there."""

    rank: float | None
    order: list[list[str]] | None
    ranks: list[float] | None
    strength: float | None
    comparisons: list[ComparisonColumns] | None
    instructions: list[TriedColumns] | None


def verdict_columns(evidence: Sequence[Mapping[str, Any]]) -> list[PairsColumns]:
    return [_columns(one) for one in evidence]


def _columns(one: Mapping[str, Any]) -> PairsColumns:
    compared, tried = one.get("comparisons"), one.get("instructions")
    return {
        "rank": one.get("rank"),
        "order": one.get("order"),
        "ranks": one.get("ranks"),
        "strength": one.get("strength"),
        "comparisons": None if compared is None else list(map(_comparison, compared)),
        "instructions": None if tried is None else [_tried(*item) for item in tried.items()],
    }


def _tried(number: str, one: Mapping[str, Any]) -> TriedColumns:
    return {
        "number": number,
        "rank": one.get("rank"),
        "strength": one.get("strength"),
        "failed": one.get("failed"),
    }


def _comparison(stored: Mapping[str, Any]) -> ComparisonColumns:
    return {
        "other": stored["other"],
        "preference": read_comparison(stored).preference,
        "first": stored.get("first"),
        "second": stored.get("second"),
    }
