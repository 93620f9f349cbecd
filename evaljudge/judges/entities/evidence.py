"""What a judge of entities found in one text, read from its verdict's evidence.

    {"rubric": [{"entity": "The bridge closed", "votes": {"presence": {"answer": "no", …}, …}}],
     "entities": [{"entity": "The river rose", "span": [0, 15], "heading": None, …}], …}
    ->  EntityEvidence(
            rubric=(RubricEntity("The bridge closed", Ruled(votes, "no", "majority")),),
            entities=(TextEntity("The river rose", (0, 15), None, …),), …)

    questions(judged, "The river rose.")
    ->  Question("R1", "completeness", "The bridge closed", None, None, votes, "no", "majority")
        Question("1", "correctness", "The river rose", None, "The river rose.", …), …

The verdicts come from the votes by the same rules as for the scores. An aspect without any votes
(not even failed ones) was not asked of that entity, and makes no question.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from evaljudge.judges.entities.equations import (
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

Span = tuple[int, int]
NO_RUBRIC = "the rubric has no entities"


@dataclass(frozen=True, slots=True)
class Ruled:
    """The votes on one aspect, and the verdict; None where the votes give none."""

    votes: Votes
    verdict: Answer | None = None
    rule: Rule | None = None
    """How the verdict came about: a `no` may be denied, or divided."""


@dataclass(frozen=True, slots=True)
class RubricEntity:
    text: str
    completeness: Ruled


@dataclass(frozen=True, slots=True)
class TextEntity:
    text: str
    span: Span
    heading: str | None
    correctness: Ruled
    alignment: Ruled


@dataclass(frozen=True, slots=True)
class JudgedSentence:
    span: Span
    votes: Votes
    verdict: Answer | None
    """Whether it has an issue of any kind; None where too many prompts failed to tell."""

    @property
    def kinds(self) -> tuple[str, ...]:
        return tuple(kind for kind, vote in self.votes.items() if vote.get("answer") == "yes")


@dataclass(frozen=True, slots=True)
class EntityEvidence:
    rubric: tuple[RubricEntity, ...]
    entities: tuple[TextEntity, ...]
    sentences: tuple[JudgedSentence, ...]
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


@dataclass(frozen=True, slots=True)
class JudgedText:
    """A candidate as a report shows it."""

    doc_id: str
    system: str
    text: str
    judged: EntityEvidence


@dataclass(frozen=True, slots=True)
class Question:
    """What was asked about one entity or sentence; people can answer it too."""

    number: str
    """`1` of the text's entities, `R1` of the rubric, `S1` of the sentences."""
    aspect: Aspect
    entity: str
    heading: str | None
    words: str | None
    """The words of the text that support the entity."""
    votes: Votes
    verdict: Answer | None
    rule: Rule | None = None


def judged_texts(
    verdicts: Iterable[Verdict], texts: Mapping[tuple[str, str], str]
) -> Iterator[JudgedText]:
    for one in verdicts:
        at = (one.doc_id, one.system)
        yield JudgedText(*at, texts[at], read_judged(one))


def read_judged(verdict: Verdict) -> EntityEvidence:
    evidence = verdict.evidence
    return EntityEvidence(
        rubric=tuple(
            RubricEntity(one["entity"], _ruled("completeness", one["votes"]))
            for one in evidence.get("rubric", ())
        ),
        entities=tuple(map(_text_entity, evidence.get("entities", ()))),
        sentences=tuple(map(_sentence, evidence.get("sentences", ()))),
        dropped=tuple(evidence.get("dropped", ())),
        failed=evidence.get("failed", {}),
        replies=evidence.get("replies", {}),
        reason=verdict.reason if verdict.status == "unscored" else "",
    )


def _text_entity(entity: Mapping[str, Any]) -> TextEntity:
    ruled = (_ruled(aspect, entity[aspect]) for aspect in ("correctness", "alignment"))
    return TextEntity(entity["entity"], tuple(entity["span"]), entity["heading"], *ruled)


def _sentence(sentence: Mapping[str, Any]) -> JudgedSentence:
    found = any_issue(issues_found(sentence["votes"], majority))
    verdict = None if isinstance(found, Failed) else found
    return JudgedSentence(tuple(sentence["span"]), sentence["votes"], verdict)


def _ruled(aspect: Aspect, votes: Votes) -> Ruled:
    found = ruling_of(aspect, votes)
    return Ruled(votes) if isinstance(found, Failed) else Ruled(votes, found.verdict, found.rule)


def words_at(text: str, span: Span) -> range:
    """The part of a span that lies inside the text; it may be empty."""
    start, end = (min(max(0, place), len(text)) for place in span)
    return range(start, max(start, end))


def questions(judged: EntityEvidence, text: str) -> list[Question]:
    """All that was asked, in the order of the rubric and of the text."""
    asked = []
    for n, wanted in enumerate(judged.rubric, 1):
        ruled = wanted.completeness
        known = (wanted.text, None, None, ruled.votes, ruled.verdict, ruled.rule)
        asked.append(Question(f"R{n}", "completeness", *known))
    for n, entity in enumerate(judged.entities, 1):
        place = (entity.text, entity.heading, _words(text, entity.span))
        right, placed = entity.correctness, entity.alignment
        asked += [
            Question(str(n), "correctness", *place, right.votes, right.verdict, right.rule),
            Question(str(n), "alignment", *place, placed.votes, placed.verdict, placed.rule),
        ]
    for n, one in enumerate(judged.sentences, 1):
        words = _words(text, one.span)
        asked.append(Question(f"S{n}", "readability", words, None, words, one.votes, one.verdict))
    return [one for one in asked if one.votes]


def _words(text: str, span: Span) -> str:
    place = words_at(text, span)
    return text[place.start : place.stop]
