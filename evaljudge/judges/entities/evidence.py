"""What a judge of entities found in one text, read from its verdict's evidence.

    {"rubric": [{"entity": "The bridge closed", "votes": {"presence": {"answer": "no", …}, …}}],
     "entities": [{"entity": "The river rose", "span": [0, 15], "heading": None, …}], …}
    ->  EntityEvidence(
            rubric=(RubricEntity("The bridge closed", Ruled(votes, Ruling("no", "majority"))),),
            entities=(TextEntity("The river rose", (0, 15), None, …),), …)

    questions(judged, "The river rose.")
    ->  Question("completeness", "The bridge closed", None, None, "no", "majority")
        Question("correctness", "The river rose", None, "The river rose.", "yes", "majority"), …

Ballots are ruled on here as they are for scores, from the answers that are there. An aspect that
was not asked of an entity (it has no votes, not even failed ones) is no question.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from evaljudge.judges.entities.equations import Answer, Aspect, Kind, Rule, Ruling, issues, ruling
from evaljudge.model.asks import Failed
from evaljudge.records import Verdict

KIND = "entities"
"""The registry's name of the judge whose evidence this is."""
Span = tuple[int, int]
NO_RUBRIC = "the rubric has no entities"


@dataclass(frozen=True, slots=True)
class PromptAnswer:
    """One prompt's answer; without one, `failed` says why."""

    prompt: str
    answer: Answer | None
    p: Mapping[str, float] = field(default_factory=dict)
    mass: float | None = None
    reason: str = ""
    failed: str = ""


@dataclass(frozen=True, slots=True)
class Ruled:
    votes: tuple[PromptAnswer, ...]
    found: Ruling | Failed

    @property
    def verdict(self) -> Answer | None:
        return self.found.verdict if isinstance(self.found, Ruling) else None

    @property
    def rule(self) -> Rule | None:
        return self.found.rule if isinstance(self.found, Ruling) else None


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
    votes: tuple[PromptAnswer, ...]
    verdict: Answer | None
    """Whether it has an issue of any kind."""

    @property
    def kinds(self) -> tuple[str, ...]:
        return tuple(vote.prompt for vote in self.votes if vote.answer == "yes")


@dataclass(frozen=True, slots=True)
class EntityEvidence:
    rubric: tuple[RubricEntity, ...]
    entities: tuple[TextEntity, ...]
    sentences: tuple[JudgedSentence, ...]
    dropped: tuple[str, ...]
    failed: Mapping[str, str]
    """Of the parts `rubric`, `entities` and `sentences` that could not be had: why."""
    structured: int
    cut: int
    malformed: int
    reason: str
    """Why there is no verdict at all; empty where there is one."""

    @property
    def no_rubric(self) -> str:
        """Why there is no rubric; empty where there is one."""
        return "" if self.rubric else self.failed.get("rubric") or self.reason or NO_RUBRIC

    @property
    def has_entities(self) -> bool:
        """They were looked for, and found as many as there are."""
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
    """What was asked of one entity, or of a sentence; people can answer it too."""

    aspect: Aspect
    entity: str
    heading: str | None
    words: str | None
    """Of the text, that support the entity."""
    verdict: Answer | None
    rule: Rule | None = None
    """By which its prompts came to the verdict: `no` may be denied, or divided."""


def read_judged(verdict: Verdict) -> EntityEvidence:
    told = verdict.evidence
    replies = told.get("replies", {})
    return EntityEvidence(
        rubric=tuple(
            RubricEntity(one["entity"], _ruled(one["votes"])) for one in told.get("rubric", ())
        ),
        entities=tuple(map(_text_entity, told.get("entities", ()))),
        sentences=tuple(_sentence(one) for one in told.get("sentences", ())),
        dropped=tuple(told.get("dropped", ())),
        failed=dict(told.get("failed", {})),
        structured=replies.get("structured", 0),
        cut=replies.get("cut", 0),
        malformed=replies.get("malformed", 0),
        reason=verdict.reason if verdict.status == "unscored" else "",
    )


def words_at(text: str, span: Span) -> Span:
    """The part of a span that lies in the text, which may be none of it."""
    start, end = (min(max(0, place), len(text)) for place in span)
    return start, max(start, end)


def questions(judged: EntityEvidence, text: str) -> Iterator[Question]:
    """All that was asked, in the order of the rubric and of the text."""
    for wanted in judged.rubric:
        if wanted.completeness.votes:
            found = wanted.completeness
            yield Question("completeness", wanted.text, None, None, found.verdict, found.rule)
    for entity in judged.entities:
        yield from _of_text_entity(entity, text)
    for sentence in judged.sentences:
        if sentence.votes:
            said = _words(text, sentence.span)
            yield Question("readability", said, None, said, sentence.verdict)


def _of_text_entity(entity: TextEntity, text: str) -> Iterator[Question]:
    words = _words(text, entity.span)
    ruled: Iterable[tuple[Aspect, Ruled]] = (
        ("correctness", entity.correctness),
        ("alignment", entity.alignment),
    )
    for aspect, one in ruled:
        if one.votes:
            yield Question(aspect, entity.text, entity.heading, words, one.verdict, one.rule)


def _words(text: str, span: Span) -> str:
    start, end = words_at(text, span)
    return text[start:end]


def _text_entity(told: Mapping[str, Any]) -> TextEntity:
    return TextEntity(
        text=told["entity"],
        span=_span(told),
        heading=told.get("heading"),
        correctness=_ruled(told.get("correctness", {})),
        alignment=_ruled(told.get("alignment", {})),
    )


def _sentence(told: Mapping[str, Any]) -> JudgedSentence:
    votes = _votes(told["votes"])
    found: dict[Kind, Answer | Failed] = {
        vote.prompt: vote.answer or Failed(vote.failed)  # type: ignore[misc]
        for vote in votes
    }
    counted = issues([found])
    verdict: Answer = "yes" if counted.verdicts["yes"] else "no"
    return JudgedSentence(_span(told), votes, None if counted.unscored else verdict)


def _span(told: Mapping[str, Any]) -> Span:
    start, end = told.get("span") or (0, 0)
    return start, end


def _ruled(votes: Mapping[str, Mapping[str, Any]]) -> Ruled:
    read = _votes(votes)
    given = [vote.answer for vote in read if vote.answer is not None]
    return Ruled(read, ruling(given, lost=len(read) - len(given)))


def _votes(votes: Mapping[str, Mapping[str, Any]]) -> tuple[PromptAnswer, ...]:
    return tuple(_vote(prompt, vote) for prompt, vote in votes.items())


def _vote(prompt: str, told: Mapping[str, Any]) -> PromptAnswer:
    if "failed" in told:
        return PromptAnswer(prompt, None, failed=told["failed"])
    return PromptAnswer(
        prompt, told["answer"], told.get("p", {}), told.get("mass"), told.get("reason", "")
    )
