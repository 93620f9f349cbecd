"""The evidence as columns of a table; and on one text, for people.

rating  probability  draws
5             0.250      1
4             0.400      2  …
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypedDict

from evaljudge.judges.geval.judge import probabilities
from evaljudge.judges.plugin import JudgedCandidate
from evaljudge.judges.shared.ratings import mean_rating, ratings_table
from evaljudge.sections import Section


class GevalColumns(TypedDict):
    """By rating; `draws` is null where none were asked for."""

    p: Mapping[str, float]
    draws: Mapping[str, int] | None


def verdict_columns(evidence: Sequence[Mapping[str, Any]]) -> list[GevalColumns]:
    return [{"p": probabilities(one), "draws": one.get("draws")} for one in evidence]


def shown_evidence(judged: JudgedCandidate) -> Section:
    evidence = judged.verdict.evidence
    p = probabilities(evidence)
    table = ratings_table(p, evidence.get("draws"))
    about = "How probable the model's next word makes each rating, among the five."
    mean = f"The mean rating by these probabilities is {mean_rating(p):.2f}."
    return Section(table.title, [about], [table], [mean])
