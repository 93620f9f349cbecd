"""The verdicts of `likelihood` as columns of a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypedDict


class LeastProbable(TypedDict):
    text: str
    logprob: float


class LikelihoodColumns(TypedDict):
    """`logprob` is the sum over the `weighed` tokens."""

    logprob: float
    weighed: int
    least: Sequence[LeastProbable]


def verdict_columns(evidence: Sequence[Mapping[str, Any]]) -> list[LikelihoodColumns]:
    return [
        {"logprob": one["logprob"], "weighed": one["weighed"], "least": one["least"]}
        for one in evidence
    ]
