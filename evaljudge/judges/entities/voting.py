"""Votes: what each prompt says about each entity or sentence, with its probabilities or reasons.

    presence, "The bridge closed"    {"answer": "yes", "p": {"yes": .8, …}, "mass": .97}
    `reasoning: true`                {"answer": "partially", "reason": "It names no bridge. …"}
    no reply that can be read        {"failed": "the reply was cut at its token limit"}

By default every question is a choice of its own. `batch: 8` asks about eight entities at once;
these replies, and all with reasoning, are written under a schema and have no probabilities.
"""

from __future__ import annotations

from asyncio import gather
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from evaljudge.judges.entities.equations import OPTIONS, Aspect, Vote
from evaljudge.judges.entities.extraction import numbered
from evaljudge.judges.shared.structured import Bill, ask, object_of, one_of, string
from evaljudge.model import Model
from evaljudge.model.asks import Chosen, Failed, Options, Prompt, Writing
from evaljudge.model.counting import cost
from evaljudge.prompts import Task

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
    """What one prompt asks about one entity or sentence, and its vote once it is asked."""

    aspect: Aspect
    prompt: str
    subject: str
    given: Material
    bill: Bill
    vote: Vote = field(default_factory=dict)

    @property
    def template(self) -> str:
        return f"entities.{self.aspect}.{self.prompt}"


def slot_of(aspect: Aspect) -> str:
    return "sentence" if aspect == "readability" else "entity"


def options_of(aspect: Aspect) -> Options:
    return Options(tuple(answer.capitalize() for answer in OPTIONS[aspect]))


class Voting:
    """Asks all questions of a case, and stores each vote with its question."""

    def __init__(self, task: Task, how: Writing, reasoning: bool, batch: int) -> None:
        self._pack, self._how = task.pack, how
        self._reasoning, self._batch = reasoning, batch
        self._words = {
            "source_noun": task.nouns["source"],
            "target_noun": task.nouns["target"],
            "mode": "reason" if reasoning else "answer" if batch else "choose",
        }
        for aspect, prompts in PROMPTS.items():
            for prompt in prompts:
                name = f"entities.{aspect}.{prompt}"
                self._pack.check(name, [slot_of(aspect)], without=MATERIAL, **self._words)

    @property
    def by_choice(self) -> bool:
        return not self._reasoning and not self._batch

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
            question.vote = _chosen(reply)

    async def _write(self, batch: Sequence[BallotQuestion], aspect: Aspect, model: Model) -> None:
        prompt = self._prompt(batch[0], numbered([question.subject for question in batch]))
        answer = {"answer": one_of(options_of(aspect).names)}
        asked = object_of(({"reason": string(LONGEST_REASON)} if self._reasoning else {}) | answer)
        schema = object_of({str(n): asked for n in range(1, len(batch) + 1)})
        reply = await ask(prompt, schema, self._how, model, batch[0].bill)
        for place, question in enumerate(batch, 1):
            question.vote = _written(reply if isinstance(reply, Failed) else reply[str(place)])

    def _prompt(self, question: BallotQuestion, subject: str) -> Prompt:
        material = dict.fromkeys(MATERIAL) | dict(question.given)
        given = {**material, slot_of(question.aspect): subject}
        return self._pack.render(question.template, given, **self._words)


def templates() -> list[str]:
    return [f"entities.{aspect}.{prompt}" for aspect, names in PROMPTS.items() for prompt in names]


def _batches(questions: Sequence[BallotQuestion], size: int) -> Iterator[list[BallotQuestion]]:
    """In groups that share a prompt, its material and a bill."""
    alike: dict[tuple[Any, ...], list[BallotQuestion]] = {}
    for question in questions:
        material = tuple(sorted(question.given.items()))
        alike.setdefault((question.template, material, id(question.bill)), []).append(question)
    for group in alike.values():
        yield from (group[start : start + size] for start in range(0, len(group), size))


def _chosen(reply: Chosen | Failed) -> Vote:
    if isinstance(reply, Failed):
        return {"failed": reply.reason}
    p = {name.lower(): value for name, value in reply.p.items()}
    left_out = {"left_out": reply.left_out} if reply.left_out else {}
    return {"answer": max(p, key=lambda name: p[name]), "p": p, "mass": reply.mass, **left_out}


def _written(reply: Mapping[str, str] | Failed) -> Vote:
    if isinstance(reply, Failed):
        return {"failed": reply.reason}
    return {"answer": reply["answer"].lower(), "reason": reply.get("reason", "")}
