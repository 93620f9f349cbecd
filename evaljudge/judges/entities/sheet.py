"""A candidate's sheet: every question asked about it, and the evidence that the votes make.

rubric      "The bridge closed"  presence yes, coverage yes, support partially
entities    "The river rose"     [0, 15] under “Events”: facts yes, … | definition yes, …
sentences   [0, 42]              flow no, language no, grammar yes, spelling no
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from itertools import chain
from typing import Any

from evaljudge.judges.entities.equations import Aspect, Vote, Votes, ruling_of
from evaljudge.judges.entities.extraction import Entity, Extracted
from evaljudge.judges.entities.voting import PROMPTS, BallotQuestion, Material
from evaljudge.judges.shared.passages import Sentence, same_heading, sentences
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

    @cached_property
    def questions(self) -> list[BallotQuestion]:
        on_entities = (asked for _, own in self._on_entities for asked in own.values())
        on_sentences = (asked for _, asked in self._on_sentences)
        return list(chain(*self._on_rubric, *on_entities, *on_sentences))

    @cached_property
    def _on_rubric(self) -> list[list[BallotQuestion]]:
        entities = () if isinstance(self.rubric, Failed) else self.rubric
        given = {prompt: {"target": self.candidate.text} for prompt in PROMPTS["completeness"]}
        return [self._ask("completeness", entity, given) for entity in entities]

    @cached_property
    def _on_entities(self) -> list[tuple[Entity, dict[Aspect, list[BallotQuestion]]]]:
        found = self.extracted.entities
        return [] if isinstance(found, Failed) else [(one, self._on_entity(one)) for one in found]

    def _on_entity(self, entity: Entity) -> dict[Aspect, list[BallotQuestion]]:
        material = {"source": self.document.source, "truth": self.truth}
        given = dict.fromkeys(PROMPTS["correctness"], material)
        placed = {"definition": self._by_definition(entity)}
        if self.truth:
            heading = entity.heading if self._is_sectioned and self._headings_of_truth else ""
            placed["section"] = {"truth": self.truth, "heading": heading}
        return {
            "correctness": self._ask("correctness", entity.text, given),
            "alignment": self._ask("alignment", entity.text, placed),
        }

    @cached_property
    def _on_sentences(self) -> list[tuple[Sentence, list[BallotQuestion]]]:
        given = {prompt: {"target": self.candidate.text} for prompt in PROMPTS["readability"]}
        places = sentences(self.candidate.text)
        return [(place, self._ask("readability", place.text, given)) for place in places]

    def _ask(
        self, aspect: Aspect, subject: str, given: Mapping[str, Material]
    ) -> list[BallotQuestion]:
        """`given`: the material of each prompt."""
        return [
            BallotQuestion(aspect, prompt, subject, material, self.extracted.bill)
            for prompt, material in given.items()
        ]

    def _by_definition(self, entity: Entity) -> dict[str, str | None]:
        """What belongs under the entity's heading; without headings, what the source is about."""
        if not entity.heading or not self._is_sectioned:
            return {"source": self.document.source}
        found = (d for h, d in self.definitions.items() if same_heading(h, entity.heading))
        return {"heading": entity.heading, "definition": next(found, None)}

    @cached_property
    def _is_sectioned(self) -> bool:
        """A single unknown heading does not count: it may be just “Here is the summary:”."""
        headings = _headings(self.candidate.text)
        known = [*self.definitions, *self._headings_of_truth]
        return len(headings) > 1 or any(same_heading(h, k) for h in headings for k in known)

    @cached_property
    def _headings_of_truth(self) -> list[str]:
        return _headings(self.truth or "")

    def evidence(self) -> dict[str, Any]:
        """The verdict's evidence, once all questions have their votes."""
        return {
            "rubric": [_wanted(asked) for asked in self._on_rubric],
            "entities": [_found(entity, own) for entity, own in self._on_entities],
            "sentences": [
                {"span": [place.start, place.end], "votes": _votes(asked)}
                for place, asked in self._on_sentences
            ],
            "dropped": list(self.extracted.dropped),
            "failed": self._failed(),
            "replies": asdict(self.extracted.bill.replies),
        }

    def _failed(self) -> dict[str, str]:
        parts = {"rubric": self.rubric, "entities": self.extracted.entities}
        return {name: part.reason for name, part in parts.items() if isinstance(part, Failed)}


def _wanted(asked: Sequence[BallotQuestion]) -> dict[str, Any]:
    votes = _votes(asked)
    return {"entity": asked[0].subject, "votes": votes, "ruling": _ruling("completeness", votes)}


def _found(entity: Entity, asked: Mapping[Aspect, Sequence[BallotQuestion]]) -> dict[str, Any]:
    votes: dict[str, Votes] = {aspect: _votes(own) for aspect, own in asked.items()}
    rulings = {aspect: _ruling(aspect, votes[aspect]) for aspect in asked}
    known = {"entity": entity.text, "span": [entity.start, entity.end]}
    return {**known, "heading": entity.heading or None, **votes, "rulings": rulings}


def _votes(asked: Sequence[BallotQuestion]) -> dict[str, Vote]:
    return {question.prompt: question.vote for question in asked}


def _ruling(aspect: Aspect, votes: Votes) -> dict[str, str]:
    """Kept in the evidence so that its readers can tell what is denied from what is divided."""
    found = ruling_of(aspect, votes)
    if isinstance(found, Failed):
        return {"failed": found.reason}
    return {"verdict": found.verdict, "rule": found.rule}


def _headings(text: str) -> list[str]:
    return list(dict.fromkeys(one.heading for one in sentences(text) if one.heading))
