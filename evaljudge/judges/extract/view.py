"""The evidence as columns of a table; and on one text, for people.

The model saw sentences 2 and 3 of the source's 4.

rating  probability
5             0.250
4             0.400  …
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypedDict

from evaljudge.judges.plugin import JudgedCandidate
from evaljudge.judges.shared.ratings import mean_rating, ratings_table
from evaljudge.model.asks import Chosen
from evaljudge.sections import Section


class ExtractColumns(TypedDict):
    """`extract`: the numbers of the sentences that were shown, of so many `sentences`; null where
    the whole source was shown."""

    p: Mapping[str, float]
    extract: Sequence[int] | None
    sentences: int | None


def verdict_columns(evidence: Sequence[Mapping[str, Any]]) -> list[ExtractColumns]:
    each = (
        (Chosen(one["logprobs"]).p, one.get("extract"), one.get("sentences")) for one in evidence
    )
    return [{"p": p, "extract": shown, "sentences": of} for p, shown, of in each]


def shown_evidence(judged: JudgedCandidate) -> Section:
    evidence = judged.verdict.evidence
    p = Chosen(evidence["logprobs"]).p
    table = ratings_table(p)
    mean = f"The mean rating by these probabilities is {mean_rating(p):.2f}."
    return Section(table.title, [_seen(evidence)], [table], [mean])


def _seen(evidence: Mapping[str, Any]) -> str:
    chosen = evidence.get("extract")
    if not chosen:
        return "The model saw the whole source."
    *most, last = map(str, chosen)
    named = f"{', '.join(most)} and {last}" if most else last
    word = "sentences" if most else "sentence"
    return f"The model saw {word} {named} of the source's {evidence['sentences']:,}."
