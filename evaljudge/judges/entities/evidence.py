"""What a judge of entities found in one text, read from its verdict's evidence.

    {"rubric": [{"entity": "The bridge closed", "votes": {"presence": {"answer": "no", …}, …}}],
     "entities": [{"entity": "The river rose", "span": [0, 15], "heading": None, …}], …}
    ->  EntityEvidence(
            rubric=(RubricEntity("The bridge closed", Ruled(votes, "no", "majority")),),
            entities=(TextEntity("The river rose", (0, 15), None, …),), …)

    questions(judged, "The river rose.")
    ->  Question("R1", "completeness", "The bridge closed", None, None, votes, "no", "majority")
        Question("1", "correctness", "The river rose", None, "The river rose.", …), …

Ballots are ruled on here as they are for scores, from the answers that are there. An aspect that
was not asked of an entity (it has no votes, not even failed ones) is no question.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from evaljudge.judges.entities.equations import (
    Answer,
    Aspect,
    Kind,
    Rule,
    Votes,
    issues,
    ruling,
)
from evaljudge.model.asks import Failed
from evaljudge.records import Verdict

Span = tuple[int, int]
NO_RUBRIC = "the rubric has no entities"


@dataclass(frozen=True, slots=True)
class Ruled:
    """An aspect's votes; without a verdict, where they give none."""

    votes: Votes
    verdict: Answer | None = None
    rule: Rule | None = None


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
    """Whether it has an issue of any kind."""

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
    """Of the parts `rubric`, `entities` and `sentences` that could not be had: why."""
    replies: Mapping[str, int]
    """`structured` ones, and of them `cut` and `malformed`."""
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

    number: str
    """Of the text `1`, of the rubric `R1`, of the sentences `S1`."""
    aspect: Aspect
    entity: str
    heading: str | None
    words: str | None
    """Of the text, that support the entity."""
    votes: Votes
    verdict: Answer | None
    rule: Rule | None = None
    """By which its prompts came to the verdict: `no` may be denied, or divided."""


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
            RubricEntity(one["entity"], _ruled(one["votes"])) for one in evidence.get("rubric", ())
        ),
        entities=tuple(map(_text_entity, evidence.get("entities", ()))),
        sentences=tuple(map(_sentence, evidence.get("sentences", ()))),
        dropped=tuple(evidence.get("dropped", ())),
        failed=evidence.get("failed", {}),
        replies=evidence.get("replies", {}),
        reason=verdict.reason if verdict.status == "unscored" else "",
    )


def _text_entity(entity: Mapping[str, Any]) -> TextEntity:
    return TextEntity(
        text=entity["entity"],
        span=_span(entity),
        heading=entity.get("heading"),
        correctness=_ruled(entity.get("correctness", {})),
        alignment=_ruled(entity.get("alignment", {})),
    )


def _sentence(sentence: Mapping[str, Any]) -> JudgedSentence:
    votes: Mapping[Kind, Mapping[str, Any]] = sentence["votes"]
    found = {kind: vote.get("answer") or Failed(vote["failed"]) for kind, vote in votes.items()}
    counted = issues([found])
    verdict: Answer = "yes" if counted.verdicts["yes"] else "no"
    return JudgedSentence(_span(sentence), sentence["votes"], None if counted.unscored else verdict)


def _span(of: Mapping[str, Any]) -> Span:
    start, end = of.get("span") or (0, 0)
    return start, end


def _ruled(votes: Votes) -> Ruled:
    given = [vote["answer"] for vote in votes.values() if "failed" not in vote]
    found = ruling(given, lost=len(votes) - len(given))
    return Ruled(votes) if isinstance(found, Failed) else Ruled(votes, found.verdict, found.rule)


def words_at(text: str, span: Span) -> Span:
    """The part of a span that lies in the text, which may be none of it."""
    start, end = (min(max(0, place), len(text)) for place in span)
    return start, max(start, end)


def questions(judged: EntityEvidence, text: str) -> Iterator[Question]:
    """All that was asked, in the order of the rubric and of the text."""
    return (one for one in _all_questions(judged, text) if one.votes)


def _all_questions(judged: EntityEvidence, text: str) -> Iterator[Question]:
    for n, wanted in enumerate(judged.rubric, 1):
        yield _question(f"R{n}", "completeness", wanted.text, wanted.completeness)
    for n, entity in enumerate(judged.entities, 1):
        place = (entity.heading, _words(text, entity.span))
        yield _question(str(n), "correctness", entity.text, entity.correctness, *place)
        yield _question(str(n), "alignment", entity.text, entity.alignment, *place)
    for n, one in enumerate(judged.sentences, 1):
        words = _words(text, one.span)
        yield Question(f"S{n}", "readability", words, None, words, one.votes, one.verdict)


def _question(
    number: str, aspect: Aspect, entity: str, ruled: Ruled,
    heading: str | None = None, words: str | None = None,
) -> Question:  # fmt: skip
    known = (heading, words, ruled.votes, ruled.verdict, ruled.rule)
    return Question(number, aspect, entity, *known)


def _words(text: str, span: Span) -> str:
    start, end = words_at(text, span)
    return text[start:end]
