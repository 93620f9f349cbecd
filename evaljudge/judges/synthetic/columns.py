"""The verdicts and briefs of `synthetic` as columns of a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from math import isnan
from typing import Any, TypedDict

from evaljudge.judges.synthetic.evidence import read_levels


class AnswerColumns(TypedDict):
    better: float
    worse: float
    similar: float


class LevelColumns(TypedDict):
    """One comparison with a reference; `mass` is null where it is not known."""

    rating: float
    p: AnswerColumns
    mass: float | None
    inferred: bool


class SyntheticColumns(TypedDict):
    levels: list[LevelColumns]


class ReferenceColumns(TypedDict):
    rating: float
    text: str | None


def verdict_columns(evidence: Sequence[Mapping[str, Any]]) -> list[SyntheticColumns]:
    levels = [one["levels"] for one in evidence]
    p, mass = read_levels(list(chain.from_iterable(levels)))
    read = zip(p.tolist(), mass.tolist(), strict=True)
    return [{"levels": [_level(level, *next(read)) for level in text]} for text in levels]


def _level(level: Mapping[str, Any], p: Sequence[float], mass: float) -> LevelColumns:
    better, worse, similar = p
    return {
        "rating": level["rating"],
        "p": {"better": better, "worse": worse, "similar": similar},
        "mass": None if isnan(mass) else mass,
        "inferred": "inferred" in level,
    }


def brief_columns(contents: Sequence[Mapping[str, Any]]) -> list[ReferenceColumns]:
    return [{"rating": one["rating"], "text": one.get("text")} for one in contents]
