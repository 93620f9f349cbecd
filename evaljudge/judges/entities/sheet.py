"""A candidate's sheet: every question that is asked about it, and the evidence once all have votes.

rubric      "The bridge closed"  presence yes, coverage yes, support partially
entities    "The river rose"     [0, 15] under “Events”: facts yes, … | definition yes, …
sentences   [0, 42]              flow no, language no, grammar yes, spelling no
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

from evaljudge.judges.entities.equations import Aspect, Vote, Votes, ruling_of
from evaljudge.judges.entities.extraction import Entity, Extracted
from evaljudge.judges.entities.passages import Sentence, same_heading, sentences
from evaljudge.judges.entities.voting import PROMPTS, BallotQuestion
from evaljudge.judges.shared.structured import Bill
from evaljudge.model.asks import Failed
from evaljudge.records import Candidate, Document


@dataclass(frozen=True)
class Sheet:
    document: Document
    candidate: Candidate
    rubric: Sequence[str] | Failed
    truth: str | None
    """The ground truth, where there is one beside the source."""
    extracted: Extracted
    definitions: Mapping[str, str]
    """What belongs under a heading."""

    @property
    def bill(self) -> Bill:
        return self.extracted.bill

    @cached_property
    def questions(self) -> list[BallotQuestion]:
        return [
            *(question for entity in self._rubric for question in self._of_rubric(entity)),
            *(question for entity in self._entities for question in self._of_entity(entity)),
            *(question for place in self._sentences for question in self._of_sentence(place)),
        ]

    @property
    def _rubric(self) -> Sequence[str]:
        return () if isinstance(self.rubric, Failed) else self.rubric

    @property
    def _entities(self) -> Sequence[Entity]:
        found = self.extracted.entities
        return () if isinstance(found, Failed) else found

    @cached_property
    def _sentences(self) -> list[Sentence]:
        return sentences(self.candidate.text)

    def _of_rubric(self, entity: str) -> Iterator[BallotQuestion]:
        material = {"target": self.candidate.text}
        for prompt in PROMPTS["completeness"]:
            yield BallotQuestion("completeness", prompt, entity, material)

    def _of_entity(self, entity: Entity) -> Iterator[BallotQuestion]:
        yield from self._on_correctness(entity)
        yield from self._on_alignment(entity)

    def _on_correctness(self, entity: Entity) -> Iterator[BallotQuestion]:
        material = {"source": self.document.source, "truth": self.truth}
        for prompt in PROMPTS["correctness"]:
            yield BallotQuestion("correctness", prompt, entity.text, material)

    def _on_alignment(self, entity: Entity) -> Iterator[BallotQuestion]:
        yield BallotQuestion("alignment", "definition", entity.text, self._by_definition(entity))
        if self.truth:
            heading = entity.heading if self._is_sectioned and self._headings_of_truth else ""
            section = {"truth": self.truth, "heading": heading}
            yield BallotQuestion("alignment", "section", entity.text, section)

    def _by_definition(self, entity: Entity) -> dict[str, str | None]:
        """A heading says what belongs there; in plain text, what the source is about."""
        if not entity.heading or not self._is_sectioned:
            return {"source": self.document.source}
        found = (d for h, d in self.definitions.items() if same_heading(h, entity.heading))
        return {"heading": entity.heading, "definition": next(found, None)}

    @cached_property
    def _is_sectioned(self) -> bool:
        """One heading that is known nowhere else may be no more than “Here is the summary:”."""
        headings = _headings(self.candidate.text)
        known = [*self.definitions, *self._headings_of_truth]
        return len(headings) > 1 or any(same_heading(h, k) for h in headings for k in known)

    @cached_property
    def _headings_of_truth(self) -> list[str]:
        return _headings(self.truth or "")

    def _of_sentence(self, place: Sentence) -> Iterator[BallotQuestion]:
        material = {"target": self.candidate.text}
        for prompt in PROMPTS["readability"]:
            yield BallotQuestion("readability", prompt, place.text, material)

    def evidence(self, votes: Iterator[Vote]) -> dict[str, Any]:
        """`votes`: their next ones are those on `questions`, in their order."""
        return {
            "rubric": [self._of_wanted(entity, votes) for entity in self._rubric],
            "entities": [self._of_found(entity, votes) for entity in self._entities],
            "sentences": [
                {"span": [place.start, place.end], "votes": _next(self._of_sentence(place), votes)}
                for place in self._sentences
            ],
            "dropped": list(self.extracted.dropped),
            "failed": self._failed(),
            "replies": asdict(self.bill.replies),
        }

    def _of_wanted(self, entity: str, votes: Iterator[Vote]) -> dict[str, Any]:
        own = _next(self._of_rubric(entity), votes)
        return {"entity": entity, "votes": own, "ruling": _ruling("completeness", own)}

    def _of_found(self, entity: Entity, votes: Iterator[Vote]) -> dict[str, Any]:
        correctness = _next(self._on_correctness(entity), votes)
        alignment = _next(self._on_alignment(entity), votes)
        return {
            "entity": entity.text,
            "span": [entity.start, entity.end],
            "heading": entity.heading or None,
            "correctness": correctness,
            "alignment": alignment,
            "rulings": {
                "correctness": _ruling("correctness", correctness),
                "alignment": _ruling("alignment", alignment),
            },
        }

    def _failed(self) -> dict[str, str]:
        parts = {"rubric": self.rubric, "entities": self.extracted.entities}
        return {name: part.reason for name, part in parts.items() if isinstance(part, Failed)}


def _ruling(aspect: Aspect, votes: Votes) -> dict[str, str]:
    """So that whoever reads the evidence can tell what is denied from what is divided."""
    found = ruling_of(aspect, votes)
    if isinstance(found, Failed):
        return {"failed": found.reason}
    return {"verdict": found.verdict, "rule": found.rule}


def _headings(text: str) -> list[str]:
    return list(dict.fromkeys(one.heading for one in sentences(text) if one.heading))


def _next(questions: Iterator[BallotQuestion], votes: Iterator[Vote]) -> dict[str, Vote]:
    """By prompt; as many votes are taken as there are questions."""
    return {question.prompt: next(votes) for question in questions}
