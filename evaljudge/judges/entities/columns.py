"""The verdicts and briefs of `entities` as columns of a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypedDict

from evaljudge.judges.entities.equations import Aspect, any_issue, issues_found, majority, ruling_of
from evaljudge.model.asks import Failed


class EntityVoteColumns(TypedDict):
    """One prompt's vote: `p` where the options were chosen from, `reason` where one was written."""

    answer: str | None
    p: Mapping[str, float] | None
    reason: str | None
    failed: str | None


class RulingColumns(TypedDict):
    """What the votes come to, by majority; null where they come to nothing."""

    verdict: str | None
    rule: str | None
    votes: Mapping[str, EntityVoteColumns]


class RubricColumns(TypedDict):
    entity: str
    completeness: RulingColumns


class EntityColumns(TypedDict):
    """`start` and `end`: its place in the candidate, in characters."""

    entity: str
    start: int
    end: int
    heading: str | None
    correctness: RulingColumns
    alignment: RulingColumns


class SentenceColumns(TypedDict):
    start: int
    end: int
    verdict: str | None
    votes: Mapping[str, EntityVoteColumns]


class EntitiesColumns(TypedDict):
    """`failed`: why the part `rubric` or `entities` is missing."""

    rubric: list[RubricColumns]
    entities: list[EntityColumns]
    sentences: list[SentenceColumns]
    dropped: list[str]
    failed: Mapping[str, str]


class WantedColumns(TypedDict):
    """`references`: the numbers of those that state the entity; null where there is one text."""

    entity: str
    words: str
    heading: str | None
    references: list[int] | None


class EntitiesBriefColumns(TypedDict):
    """`origin`: references, reference or source; `texts`: how many."""

    origin: str
    texts: int
    rubric: list[WantedColumns]
    dropped: list[str]


def verdict_columns(evidence: Sequence[Mapping[str, Any]]) -> list[EntitiesColumns]:
    return [
        {
            "rubric": [
                {"entity": own["entity"], "completeness": _ruling("completeness", own["votes"])}
                for own in one["rubric"]
            ],
            "entities": [_entity(own) for own in one["entities"]],
            "sentences": [_sentence(own) for own in one["sentences"]],
            "dropped": one["dropped"],
            "failed": one["failed"],
        }
        for one in evidence
    ]


def _entity(one: Mapping[str, Any]) -> EntityColumns:
    start, end = one["span"]
    return {
        "entity": one["entity"],
        "start": start,
        "end": end,
        "heading": one["heading"],
        "correctness": _ruling("correctness", one["correctness"]),
        "alignment": _ruling("alignment", one["alignment"]),
    }


def _sentence(one: Mapping[str, Any]) -> SentenceColumns:
    (start, end), found = one["span"], any_issue(issues_found(one["votes"], majority))
    verdict = None if isinstance(found, Failed) else found
    return {"start": start, "end": end, "verdict": verdict, "votes": _votes(one["votes"])}


def _ruling(aspect: Aspect, votes: Mapping[str, Any]) -> RulingColumns:
    found = ruling_of(aspect, votes)
    if isinstance(found, Failed):
        return {"verdict": None, "rule": None, "votes": _votes(votes)}
    return {"verdict": found.verdict, "rule": found.rule, "votes": _votes(votes)}


def _votes(votes: Mapping[str, Any]) -> dict[str, EntityVoteColumns]:
    return {
        prompt: {
            "answer": vote.get("answer"),
            "p": vote.get("p"),
            "reason": vote.get("reason"),
            "failed": vote.get("failed"),
        }
        for prompt, vote in votes.items()
    }


def brief_columns(contents: Sequence[Mapping[str, Any]]) -> list[EntitiesBriefColumns]:
    return [
        {
            "origin": one["from"],
            "texts": one["texts"],
            "rubric": [
                {
                    "entity": own["entity"],
                    "words": own["words"],
                    "heading": own["heading"],
                    "references": own.get("in"),
                }
                for own in one["entities"]
            ],
            "dropped": one["dropped"],
        }
        for one in contents
    ]
