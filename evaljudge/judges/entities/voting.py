"""What every prompt is asked about a candidate, and how it votes.

rubric      "The bridge closed"  presence yes, coverage yes, support partially
entities    "The river rose"     [0, 15] under “Events”: facts yes, … | definition yes, …
sentences   [0, 42]              flow no, language no, grammar yes, spelling no

A prompt's vote on an entity or sentence, with its probabilities or its reason:

    presence, "The bridge closed"    {"answer": "yes", "p": {"yes": .8, …}, "mass": .97}
    `reasoning: true`                {"answer": "partially", "reason": "It names no bridge. …"}
    no reply that can be read        {"failed": "the reply was cut at its token limit"}

By default every question is a choice of its own. `batch: 8` asks about eight entities at once;
these replies, and all with reasoning, are written under a schema and have no probabilities.
"""

from __future__ import annotations

from asyncio import gather
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evaljudge.judges.entities.equations import OPTIONS, Aspect, Vote, ruling_of
from evaljudge.judges.entities.extraction import Entity, Extracted, numbered
from evaljudge.judges.shared.passages import same_heading, sentences
from evaljudge.judges.shared.structured import Bill, ask, object_of, one_of, string
from evaljudge.model import Model
from evaljudge.model.asks import Chosen, Failed, Options, Prompt, Writing
from evaljudge.model.counting import cost
from evaljudge.prompts import Task
from evaljudge.records import Candidate, Document

PROMPTS: Mapping[Aspect, tuple[str, ...]] = {
    "completeness": ("presence", "coverage", "support"),
    "correctness": ("facts", "details", "evidence"),
    "alignment": ("definition", "section"),
    "readability": ("flow", "language", "grammar", "spelling"),
}
"""Each aspect's prompts, as in the names of their templates; readability's are kinds of issues."""
MATERIAL = ("source", "truth", "target", "heading", "definition")
"""The slots of the templates, of which every question fills some."""
LONGEST_REASON = 600
"""Characters."""
Material = Mapping[str, str | None]
"""Texts for a question, by slot."""


@dataclass
class BallotQuestion:
    """What one prompt asks about one entity or sentence; its vote goes into `votes`."""

    aspect: Aspect
    prompt: str
    subject: str
    given: Material
    bill: Bill
    votes: dict[str, Vote]


class Sheet:
    """A candidate's evidence: its votes are empty until all `questions` are asked."""

    def __init__(
        self, document: Document, candidate: Candidate, rubric: Sequence[str] | Failed,
        truth: str | None, extracted: Extracted, definitions: Mapping[str, str],
    ) -> None:  # fmt: skip
        """`truth`: the ground truth, where there is one beside the source; `definitions`: what
        belongs under a heading."""
        self.candidate, self.bill = candidate, extracted.bill
        self.questions: list[BallotQuestion] = []
        stated: Material = {"source": document.source, "truth": truth}
        facts = dict.fromkeys(PROMPTS["correctness"], stated)
        target: Material = {"target": candidate.text}
        fitting, style = (
            dict.fromkeys(PROMPTS[aspect], target) for aspect in ("completeness", "readability")
        )
        headings, of_truth = _headings(candidate.text), _headings(truth or "")
        # a single unknown heading does not count: it may be just “Here is the summary:”
        is_sectioned = len(headings) > 1 or any(
            same_heading(h, other) for h in headings for other in [*definitions, *of_truth]
        )

        def placed(entity: Entity) -> dict[str, Material]:
            """What its place is judged by: its heading's definition (without headings, what the
            source is about), and its place in the ground truth."""
            heading = entity.heading if is_sectioned else ""
            defined = (text for name, text in definitions.items() if same_heading(name, heading))
            given: dict[str, Material] = {"definition": {"source": document.source}}
            if heading:
                given["definition"] = {"heading": heading, "definition": next(defined, None)}
            if truth:
                given["section"] = {"truth": truth, "heading": heading if of_truth else ""}
            return given

        parts = {"rubric": rubric, "entities": extracted.entities}
        self._evidence: dict[str, Any] = {
            "rubric": [
                {"entity": entity, "votes": self._ask("completeness", entity, fitting)}
                for entity in ([] if isinstance(rubric, Failed) else rubric)
            ],
            "entities": [
                {
                    "entity": e.text,
                    "span": [e.start, e.end],
                    "heading": e.heading or None,
                    "correctness": self._ask("correctness", e.text, facts),
                    "alignment": self._ask("alignment", e.text, placed(e)),
                }
                for e in ([] if isinstance(extracted.entities, Failed) else extracted.entities)
            ],
            "sentences": [
                {
                    "span": [place.start, place.end],
                    "votes": self._ask("readability", place.text, style),
                }
                for place in sentences(candidate.text)
            ],
            "dropped": list(extracted.dropped),
            "failed": {n: part.reason for n, part in parts.items() if isinstance(part, Failed)},
        }

    def _ask(self, aspect: Aspect, subject: str, given: Mapping[str, Material]) -> dict[str, Vote]:
        """The votes to come; `given`: the material of each prompt."""
        votes: dict[str, Vote] = {prompt: {} for prompt in given}
        self.questions += [
            BallotQuestion(aspect, prompt, subject, material, self.bill, votes)
            for prompt, material in given.items()
        ]
        return votes

    def evidence(self) -> dict[str, Any]:
        """The evidence with the rulings, so that readers can distinguish denied from divided."""
        for entity in self._evidence["rubric"]:
            entity["ruling"] = _ruling("completeness", entity["votes"])
        for entity in self._evidence["entities"]:
            aspects: tuple[Aspect, ...] = ("correctness", "alignment")
            entity["rulings"] = {aspect: _ruling(aspect, entity[aspect]) for aspect in aspects}
        return self._evidence | {"replies": self.bill.replies}


def _ruling(aspect: Aspect, votes: Mapping[str, Vote]) -> dict[str, str]:
    decision = ruling_of(aspect, votes)
    if isinstance(decision, Failed):
        return {"failed": decision.reason}
    return {"verdict": decision.verdict, "rule": decision.rule}


def _headings(text: str) -> list[str]:
    return list(dict.fromkeys(sentence.heading for sentence in sentences(text) if sentence.heading))


def template(aspect: Aspect, prompt: str) -> str:
    return f"entities.{aspect}.{prompt}"


TEMPLATES = [template(aspect, prompt) for aspect, names in PROMPTS.items() for prompt in names]


def slot_of(aspect: Aspect) -> str:
    return "sentence" if aspect == "readability" else "entity"


def options_of(aspect: Aspect) -> Options:
    return Options(tuple(answer.capitalize() for answer in OPTIONS[aspect]))


class Voting:
    """Asks all questions of a case, and stores each vote with its question."""

    def __init__(self, task: Task, how: Writing, reasoning: bool, batch: int) -> None:
        self._pack, self._how = task.pack, how
        self._reasoning, self._batch = reasoning, batch
        self.by_choice = not reasoning and not batch
        self._words = {
            "source_noun": task.nouns["source"],
            "target_noun": task.nouns["target"],
            "mode": "reason" if reasoning else "answer" if batch else "choose",
        }
        for aspect, prompts in PROMPTS.items():
            for prompt in prompts:
                slots, name = [slot_of(aspect)], template(aspect, prompt)
                self._pack.check(name, slots, without=MATERIAL, **self._words)

    async def ask(self, questions: Sequence[BallotQuestion], model: Model) -> None:
        for aspect in OPTIONS:
            if mine := [question for question in questions if question.aspect == aspect]:
                if self.by_choice:
                    await self._choose(mine, aspect, model)
                else:
                    batches = _batches(mine, max(self._batch, 1))
                    await gather(*(self._write(batch, aspect, model) for batch in batches))

    async def _choose(
        self, questions: Sequence[BallotQuestion], aspect: Aspect, model: Model
    ) -> None:
        prompts = [self._prompt(question, question.subject) for question in questions]
        replies = await model.choose(prompts, options_of(aspect))
        for question, reply in zip(questions, replies, strict=True):
            question.bill.tokens += cost([reply])
            question.votes[question.prompt] = _chosen(reply)

    async def _write(self, batch: Sequence[BallotQuestion], aspect: Aspect, model: Model) -> None:
        prompt = self._prompt(batch[0], numbered([question.subject for question in batch]))
        answer = {"answer": one_of(options_of(aspect).names)}
        asked = object_of(({"reason": string(LONGEST_REASON)} if self._reasoning else {}) | answer)
        schema = object_of({str(n): asked for n in range(1, len(batch) + 1)})
        reply = await ask(prompt, schema, self._how, model, batch[0].bill)
        for place, question in enumerate(batch, 1):
            vote: Vote = {"failed": reply.reason} if isinstance(reply, Failed) else {
                "answer": reply[str(place)]["answer"].lower(),
                "reason": reply[str(place)].get("reason", ""),
            }  # fmt: skip
            question.votes[question.prompt] = vote

    def _prompt(self, question: BallotQuestion, subject: str) -> Prompt:
        material = dict.fromkeys(MATERIAL) | dict(question.given)
        given = {**material, slot_of(question.aspect): subject}
        return self._pack.render(template(question.aspect, question.prompt), given, **self._words)


def _batches(questions: Sequence[BallotQuestion], size: int) -> Iterator[list[BallotQuestion]]:
    """The questions in groups that share a prompt, its material and a bill."""
    alike: dict[tuple[Any, ...], list[BallotQuestion]] = {}
    for asked in questions:
        material = tuple(sorted(asked.given.items()))
        alike.setdefault((asked.aspect, asked.prompt, material, id(asked.bill)), []).append(asked)
    for group in alike.values():
        yield from (group[start : start + size] for start in range(0, len(group), size))


def _chosen(reply: Chosen | Failed) -> Vote:
    if isinstance(reply, Failed):
        return {"failed": reply.reason}
    p = {name.lower(): value for name, value in reply.p.items()}
    left_out = {"left_out": reply.left_out} if reply.left_out else {}
    return {"answer": max(p, key=lambda name: p[name]), "p": p, "mass": reply.mass, **left_out}
