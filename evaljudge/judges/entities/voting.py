"""Ballots: what each prompt says of each entity or sentence, with its probabilities or reasons.

    presence, "The bridge closed"    {"answer": "yes", "p": {"yes": .8, …}, "mass": .97}
    `reasoning: true`                {"answer": "partially", "reason": "It names no bridge. …"}
    no reply that can be read        {"failed": "the reply was cut at its token limit"}

By default every question is a choice of its own. `batch: 8` asks about eight at once; these, and
all with reasoning, are written under a schema, which has no probabilities.
"""

from __future__ import annotations

from asyncio import gather
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evaljudge.judges.entities.equations import OPTIONS, Aspect, Vote
from evaljudge.judges.entities.extraction import numbered
from evaljudge.judges.shared.structured import Bill, Schema, ask, object_of, one_of, string
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
"""Each aspect's angles, as their templates are named; readability's are kinds of issues."""
MATERIAL = ("source", "truth", "target", "heading", "definition")
"""Of which every question has some."""
LONGEST_REASON = 600
"""Letters."""


@dataclass(frozen=True, slots=True)
class BallotQuestion:
    """What one prompt is asked about one entity or sentence; `given`: its material."""

    aspect: Aspect
    prompt: str
    subject: str
    given: Mapping[str, str | None]

    @property
    def template(self) -> str:
        return f"entities.{self.aspect}.{self.prompt}"

    @property
    def slot(self) -> str:
        return "sentence" if self.aspect == "readability" else "entity"


Ballot = tuple[BallotQuestion, Bill]
"""A question, and who pays for it."""


def options_of(aspect: Aspect) -> Options:
    return Options(tuple(answer.capitalize() for answer in OPTIONS[aspect]))


class Voting:
    """Asks all questions of a case, and gives each its vote."""

    def __init__(self, task: Task, how: Writing, reasoning: bool, batch: int) -> None:
        self._pack, self._how = task.pack, how
        self._reasoning, self._batch = reasoning, batch
        self._words = {
            "source_noun": task.nouns["source"],
            "target_noun": task.nouns["target"],
            "mode": "reason" if reasoning else "answer" if batch else "choose",
        }
        for template in templates():
            slot = "sentence" if ".readability." in template else "entity"
            self._pack.check(template, [slot], without=MATERIAL, **self._words)

    @property
    def by_choice(self) -> bool:
        return not self._reasoning and not self._batch

    async def ask(self, ballots: Sequence[Ballot], model: Model) -> list[Vote]:
        votes: dict[int, Vote] = {}
        for aspect in OPTIONS:
            if mine := {n: one for n, one in enumerate(ballots) if one[0].aspect == aspect}:
                votes |= await (self._choose if self.by_choice else self._write)(
                    mine, aspect, model
                )
        return [votes[n] for n in range(len(ballots))]

    async def _choose(
        self, ballots: Mapping[int, Ballot], aspect: Aspect, model: Model
    ) -> dict[int, Vote]:
        prompts = [self._prompt(question, question.subject) for question, _ in ballots.values()]
        replies = await model.choose(prompts, options_of(aspect))
        for (_, bill), reply in zip(ballots.values(), replies, strict=True):
            bill.tokens += cost([reply])
        return dict(zip(ballots, map(_chosen, replies), strict=True))

    async def _write(
        self, ballots: Mapping[int, Ballot], aspect: Aspect, model: Model
    ) -> dict[int, Vote]:
        batches = _batches(ballots, max(self._batch, 1))
        written = await gather(*(self._write_batch(batch, aspect, model) for batch in batches))
        return {n: vote for votes in written for n, vote in votes.items()}

    async def _write_batch(
        self, batch: Sequence[tuple[int, Ballot]], aspect: Aspect, model: Model
    ) -> dict[int, Vote]:
        (_, (first, bill)), subjects = batch[0], [one.subject for _, (one, _) in batch]
        schema, prompt = self._schema(aspect, len(batch)), self._prompt(first, numbered(subjects))
        reply = await ask(prompt, schema, self._how, model, bill)
        if isinstance(reply, Failed):
            return {n: {"failed": reply.reason} for n, _ in batch}
        return {n: _written(reply[str(place)]) for place, (n, _) in enumerate(batch, 1)}

    def _schema(self, aspect: Aspect, count: int) -> Schema:
        answer = {"answer": one_of(options_of(aspect).names)}
        reason = {"reason": string(LONGEST_REASON)} if self._reasoning else {}
        return object_of({str(n): object_of(reason | answer) for n in range(1, count + 1)})

    def _prompt(self, question: BallotQuestion, subject: str) -> Prompt:
        material = dict.fromkeys(MATERIAL) | dict(question.given)
        given = {**material, question.slot: subject}
        return self._pack.render(question.template, given, **self._words)


def templates() -> list[str]:
    return [f"entities.{aspect}.{prompt}" for aspect, names in PROMPTS.items() for prompt in names]


def _batches(ballots: Mapping[int, Ballot], size: int) -> Iterator[list[tuple[int, Ballot]]]:
    """Numbered, in groups that share a prompt, its material and who pays."""
    alike: dict[tuple[Any, ...], list[tuple[int, Ballot]]] = {}
    for n, (question, bill) in ballots.items():
        material = tuple(sorted(question.given.items()))
        alike.setdefault((question.template, material, id(bill)), []).append((n, (question, bill)))
    for group in alike.values():
        yield from (group[start : start + size] for start in range(0, len(group), size))


def _chosen(reply: Chosen | Failed) -> Vote:
    if isinstance(reply, Failed):
        return {"failed": reply.reason}
    p = {name.lower(): value for name, value in reply.p.items()}
    return {"answer": max(p, key=lambda name: p[name]), "p": p, "mass": reply.mass}


def _written(reply: Mapping[str, str]) -> Vote:
    return {"answer": reply["answer"].lower(), "reason": reply.get("reason", "")}
