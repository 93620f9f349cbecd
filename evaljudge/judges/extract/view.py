"""The evidence on one text, for people: what the model saw of the source, and its answer.

The model saw sentences 2 and 3 of the source's 4.

rating  probability
5             0.250
4             0.400  …
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evaljudge.judges.plugin import JudgedCandidate
from evaljudge.judges.shared.ratings import mean_rating, ratings_table
from evaljudge.model.asks import Chosen
from evaljudge.sections import Section


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
