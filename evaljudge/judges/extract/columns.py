"""The verdicts of `extract` as columns of a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypedDict

from evaljudge.model.asks import Chosen


class ExtractColumns(TypedDict):
    """`extract`: the numbers of the sentences that were shown, of so many `sentences`; null where
    the whole source was shown."""

    p: Mapping[str, float]
    extract: Sequence[int] | None
    sentences: int | None


def verdict_columns(evidence: Sequence[Mapping[str, Any]]) -> list[ExtractColumns]:
    return [
        {
            "p": Chosen(one["logprobs"]).p,
            "extract": one.get("extract"),
            "sentences": one.get("sentences"),
        }
        for one in evidence
    ]
