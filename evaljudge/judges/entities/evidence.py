"""What a judge of entities found in one text, read from its verdict's evidence; and as columns.

    {"rubric": [{"entity": "The bridge closed", "votes": {"presence": {"answer": "no", …}, …}}],
     "entities": [{"entity": "The river rose", "span": [0, 15], "heading": None, …}], …}
    ->  JudgedText(
            rubric=(Question("R1", "completeness", "The bridge closed", votes, "no", "majority"),),
            entities=((Question("1", "correctness", "The river rose", …), Question(…)),), …)

The verdicts come from the votes by the same rules as for the scores.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, TypedDict

from evaljudge.judges.collector import SeenShard
from evaljudge.judges.entities.equations import (
    NO_RUBRIC,
    Answer,
    Aspect,
    Rule,
    Votes,
    any_issue,
    issues_found,
    majority,
    ruling_of,
)
from evaljudge.model.asks import Failed
from evaljudge.records import Verdict

COMPLETENESS: Aspect = "completeness"
PLACED: tuple[Aspect, Aspect] = ("correctness", "alignment")
"""What is asked about each entity of a text."""


@dataclass(frozen=True, slots=True)
class Question:
    """What was asked about one entity or sentence, and the answer; people can answer it too."""

    number: str
    """`1` of the text's entities, `R1` of the rubric, `S1` of the sentences."""
    aspect: Aspect
    entity: str
    votes: Votes
    verdict: Answer | None
    """None where the votes give none."""
    rule: Rule | None
    """How the verdict came about: a `no` may be denied, or divided. None for sentences."""
    place: range = range(0)
    """Where the text supports the entity; empty where no words of it do."""
    words: str | None = None
    """The words at this place; None for the rubric."""
    heading: str | None = None

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of issues that a sentence has."""
        return tuple(kind for kind, vote in self.votes.items() if vote.get("answer") == "yes")


@dataclass(frozen=True, slots=True)
class JudgedText:
    """A candidate as a report shows it."""

    doc_id: str
    system: str
    text: str
    rubric: tuple[Question, ...]
    entities: tuple[tuple[Question, Question], ...]
    """On each entity's correctness and alignment."""
    sentences: tuple[Question, ...]
    dropped: tuple[str, ...]
    failed: Mapping[str, str]
    """Why the part `rubric` or `entities` is missing, where it is."""
    replies: Mapping[str, int]
    """How many `structured` ones there were, and how many of them `cut` or `malformed`."""
    reason: str
    """Why there is no verdict at all; empty where there is one."""

    @property
    def no_rubric(self) -> str:
        """Why there is no rubric; empty where there is one."""
        return "" if self.rubric else self.failed.get("rubric") or self.reason or NO_RUBRIC

    @property
    def has_entities(self) -> bool:
        """Whether the text's entities were extracted; there may be none."""
        return not self.reason and "entities" not in self.failed

    @property
    def questions(self) -> list[Question]:
        """All that was asked: what has no votes, not even failed ones, was not."""
        return [one for one in (*self.rubric, *chain(*self.entities), *self.sentences) if one.votes]


def read_judged(verdict: Verdict, text: str = "") -> JudgedText:
    """`text`: the candidate's, where more than the counts is wanted."""
    evidence, wanted = verdict.evidence, COMPLETENESS
    return JudgedText(
        doc_id=verdict.doc_id,
        system=verdict.system,
        text=text,
        rubric=tuple(
            Question(f"R{n}", wanted, own["entity"], own["votes"], *ruled(wanted, own["votes"]))
            for n, own in enumerate(evidence.get("rubric", ()), 1)
        ),
        entities=tuple(
            _on_entity(str(n), one, text) for n, one in enumerate(evidence.get("entities", ()), 1)
        ),
        sentences=tuple(
            _on_sentence(f"S{n}", own, text)
            for n, own in enumerate(evidence.get("sentences", ()), 1)
        ),
        dropped=tuple(evidence.get("dropped", ())),
        failed=evidence.get("failed", {}),
        replies=evidence.get("replies", {}),
        reason=verdict.reason if verdict.status == "unscored" else "",
    )


def judged_texts(shard: SeenShard) -> list[JudgedText]:
    return [read_judged(own, shard.texts[own.doc_id, own.system]) for own in shard.verdicts]


def _on_entity(number: str, one: Mapping[str, Any], text: str) -> tuple[Question, Question]:
    entity, (place, words) = one["entity"], _words(text, *one["span"])
    right, placed = (
        Question(
            *(number, aspect, entity, one[aspect], *ruled(aspect, one[aspect])),
            place=place,
            words=words,
            heading=one["heading"],
        )
        for aspect in PLACED
    )
    return right, placed


def ruled(aspect: Aspect, votes: Votes) -> tuple[Answer | None, Rule | None]:
    """The verdict and its rule; None where the votes give none, and where nothing is voted on."""
    if aspect == "readability":
        verdict = any_issue(issues_found(votes, majority))
        return None if isinstance(verdict, Failed) else verdict, None
    found = ruling_of(aspect, votes)
    return (None, None) if isinstance(found, Failed) else (found.verdict, found.rule)


def _on_sentence(number: str, one: Mapping[str, Any], text: str) -> Question:
    place, words = _words(text, *one["span"])
    aspect: Aspect = "readability"
    return Question(number, aspect, words, one["votes"], *ruled(aspect, one["votes"]), place, words)


def _words(text: str, start: int, end: int) -> tuple[range, str]:
    """The part of a span that lies inside the text, which may be empty, and the words there."""
    start, end = (min(max(0, place), len(text)) for place in (start, end))
    return range(start, max(start, end)), text[start:end]


# columns of a table


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
                {"entity": own["entity"], "completeness": _ruling(COMPLETENESS, own["votes"])}
                for own in one["rubric"]
            ],
            "entities": [
                own | _place(own) | {aspect: _ruling(aspect, own[aspect]) for aspect in PLACED}
                for own in one["entities"]
            ],
            "sentences": [
                own | _place(own) | _ruling("readability", own["votes"]) for own in one["sentences"]
            ],
            "dropped": one["dropped"],
            "failed": one["failed"],
        }
        for one in evidence
    ]


def _place(one: Mapping[str, Any]) -> dict[str, int]:
    start, end = one["span"]
    return {"start": start, "end": end}


def _ruling(aspect: Aspect, votes: Mapping[str, Any]) -> RulingColumns:
    verdict, rule = ruled(aspect, votes)
    return {"verdict": verdict, "rule": rule, "votes": votes}


def brief_columns(contents: Sequence[Mapping[str, Any]]) -> list[EntitiesBriefColumns]:
    return [
        {
            "origin": one["from"],
            "texts": one["texts"],
            "rubric": [own | {"references": own.get("in")} for own in one["entities"]],
            "dropped": one["dropped"],
        }
        for one in contents
    ]
