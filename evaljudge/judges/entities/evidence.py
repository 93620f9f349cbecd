"""What a judge of entities found in one text, read from its verdict's evidence: one type for its
report and its views, whose fields are the columns of a table of verdicts.

    {"rubric": [{"entity": "The bridge closed", "votes": {"presence": {"answer": "no", …}, …}}],
     "entities": [{"entity": "The river rose", "span": [0, 15], "heading": None, …}], …}
    ->  EntitiesEvidence(
            rubric=[WantedEntity("The bridge closed", RuledEntity("no", "majority", votes))],
            entities=[FoundEntity("The river rose", 0, 15, None, …, …)], …)

The verdicts come from the votes by the same rules as for the scores.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypedDict

from evaljudge.judges.entities.equations import Answer, Aspect, Rule, any_issue, majority, ruling_of
from evaljudge.model.asks import Failed

PLACED: tuple[Aspect, Aspect] = ("correctness", "alignment")
"""What is asked about each entity of a text."""


class EntityVote(TypedDict):
    """One prompt's vote: `p` where the options were chosen from, `reason` where one was written;
    the evidence has its `mass` as well."""

    answer: str | None
    p: Mapping[str, float] | None
    reason: str | None
    failed: str | None


Votes = Mapping[str, EntityVote]


@dataclass(frozen=True, slots=True)
class RuledEntity:
    """What the votes come to, by majority; None where they come to nothing."""

    verdict: Answer | None
    rule: Rule | None
    votes: Votes


@dataclass(frozen=True, slots=True)
class WantedEntity:
    entity: str
    completeness: RuledEntity


@dataclass(frozen=True, slots=True)
class FoundEntity:
    """`start` and `end`: its place in the candidate, in characters."""

    entity: str
    start: int
    end: int
    heading: str | None
    correctness: RuledEntity
    alignment: RuledEntity


@dataclass(frozen=True, slots=True)
class RuledSentence:
    """`verdict`: whether it has an issue; nothing is voted on."""

    start: int
    end: int
    verdict: Answer | None
    votes: Votes


@dataclass(frozen=True, slots=True)
class EntitiesEvidence:
    """`failed`: why the part `rubric` or `entities` is missing."""

    rubric: Sequence[WantedEntity]
    entities: Sequence[FoundEntity]
    sentences: Sequence[RuledSentence]
    dropped: Sequence[str]
    failed: Mapping[str, str]


def read_evidence(evidence: Mapping[str, Any]) -> EntitiesEvidence:
    """Empty for the evidence of a text that was not judged."""
    return EntitiesEvidence(
        [
            WantedEntity(entry["entity"], _ruled("completeness", entry["votes"]))
            for entry in evidence.get("rubric", ())
        ],
        [
            FoundEntity(e["entity"], start, end, e["heading"], *(_ruled(a, e[a]) for a in PLACED))
            for e in evidence.get("entities", ())
            for start, end in [e["span"]]
        ],
        [
            RuledSentence(start, end, _has_issue(sentence["votes"]), sentence["votes"])
            for sentence in evidence.get("sentences", ())
            for start, end in [sentence["span"]]
        ],
        evidence.get("dropped", ()),
        evidence.get("failed", {}),
    )


def _ruled(aspect: Aspect, votes: Mapping[str, Any]) -> RuledEntity:
    decision = ruling_of(aspect, votes)
    if isinstance(decision, Failed):
        return RuledEntity(None, None, votes)
    return RuledEntity(decision.verdict, decision.rule, votes)


def _has_issue(votes: Mapping[str, Any]) -> Answer | None:
    verdict = any_issue(votes, majority)
    return None if isinstance(verdict, Failed) else verdict


class Question(NamedTuple):
    """What was asked about one entity or sentence, and the answer; people can answer it too."""

    number: str  # `1` of the text's entities, `R1` of the rubric, `S1` of the sentences
    aspect: Aspect
    entity: str
    heading: str | None
    words: str | None  # the words at its place in the text; None for the rubric
    ruling: RuledEntity


def questions(evidence: EntitiesEvidence, text: str) -> list[Question]:
    """All that was asked: what has no votes, not even failed ones, was not."""
    asked = [
        Question(f"R{n}", "completeness", wanted.entity, None, None, wanted.completeness)
        for n, wanted in enumerate(evidence.rubric, 1)
    ]
    for n, entity in enumerate(evidence.entities, 1):
        about = (entity.entity, entity.heading, text[place(entity, text)])
        asked.append(Question(str(n), "correctness", *about, entity.correctness))
        asked.append(Question(str(n), "alignment", *about, entity.alignment))
    for n, sentence in enumerate(evidence.sentences, 1):
        words = text[place(sentence, text)]
        ruling = RuledEntity(sentence.verdict, None, sentence.votes)
        asked.append(Question(f"S{n}", "readability", words, None, words, ruling))
    return [question for question in asked if question.ruling.votes]


def place(part: FoundEntity | RuledSentence, text: str) -> slice:
    """The part of its place that lies inside the text, which may be empty."""
    start, end = (min(max(0, at), len(text)) for at in (part.start, part.end))
    return slice(start, max(start, end))


class WantedColumns(TypedDict):
    """`references`: the numbers of those that state the entity; null where there is one text."""

    entity: str
    words: str
    heading: str | None
    references: list[int] | None


@dataclass(frozen=True, slots=True)
class EntitiesBrief:
    """`origin`: references, reference or source; `texts`: how many."""

    origin: str
    texts: int
    rubric: list[WantedColumns]
    dropped: list[str]


def read_brief(content: Mapping[str, Any]) -> EntitiesBrief:
    rubric = [entry | {"references": entry.get("in")} for entry in content["entities"]]
    return EntitiesBrief(content["from"], content["texts"], rubric, content["dropped"])
