"""What every prompt is asked about a candidate, and how it votes.

rubric      "The bridge closed"  presence yes, coverage yes, support partially
entities    "The river rose"     [0, 15] under “Events”: facts yes, … | definition yes, …
sentences   [0, 42]              flow no, language no, grammar yes, spelling no

A prompt's vote on an entity or sentence, with its probabilities or its reason:

    presence, "The bridge closed"    {"answer": "yes", "p": {"yes": .8, …}, "mass": .97}
    `reasoning: true`                {"answer": "partially", "reason": "It names no bridge. …"}
    no reply that can be read        {"failed": "the reply was cut at its token limit"}
"""

from asyncio import gather
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evaljudge.judges.entities.equations import OPTIONS, Aspect, Vote
from evaljudge.judges.entities.extraction import Entity, Extracted, numbered
from evaljudge.judges.shared.asking import fold
from evaljudge.judges.shared.structured import Bill, ask, object_of, one_of, string
from evaljudge.metrics.passages import sentences
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
TEMPLATES = [f"entities.{aspect}.{prompt}" for aspect in PROMPTS for prompt in PROMPTS[aspect]]
CHOICES = {
    aspect: Options(tuple(answer.capitalize() for answer in answers))
    for aspect, answers in OPTIONS.items()
}
MATERIAL = ("source", "truth", "target", "heading", "definition")
"""The slots of the templates, of which every question fills some."""
LONGEST_REASON = 600  # characters
Material = Mapping[str, str | None]  # texts for a question, by slot


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
        self.bill = extracted.bill
        self.questions: list[BallotQuestion] = []
        target: Material = {"target": candidate.text}
        stated: Material = {"source": document.source, "truth": truth}
        fitting = dict.fromkeys(PROMPTS["completeness"], target)
        facts = dict.fromkeys(PROMPTS["correctness"], stated)
        style = dict.fromkeys(PROMPTS["readability"], target)
        headings, of_truth = _headings(candidate.text), _headings(truth or "")
        # a single unknown heading does not count: it may be just “Here is the summary:”
        known = {*map(fold, [*definitions, *of_truth])}
        is_sectioned = len(headings) > 1 or not known.isdisjoint(map(fold, headings))

        def ask(aspect: Aspect, subject: str, given: Mapping[str, Material]) -> dict[str, Vote]:
            """The votes to come; `given`: the material of each prompt."""
            votes: dict[str, Vote] = {prompt: {} for prompt in given}
            self.questions += [
                BallotQuestion(aspect, prompt, subject, material, self.bill, votes)
                for prompt, material in given.items()
            ]
            return votes

        def placing(entity: Entity) -> dict[str, Material]:
            """What its place is judged by: its heading's definition (without headings, what the
            source is about), and its place in the ground truth."""
            heading = entity.heading if is_sectioned else ""
            given: dict[str, Material] = {"definition": {"source": document.source}}
            if heading:
                defined = {fold(name): text for name, text in definitions.items()}
                given["definition"] = {"heading": heading, "definition": defined.get(fold(heading))}
            if truth:
                given["section"] = {"truth": truth, "heading": heading if of_truth else ""}
            return given

        parts = {"rubric": rubric, "entities": extracted.entities}
        self.evidence: dict[str, Any] = {
            "rubric": [
                {"entity": entity, "votes": ask("completeness", entity, fitting)}
                for entity in ([] if isinstance(rubric, Failed) else rubric)
            ],
            "entities": [
                {
                    "entity": e.text,
                    "span": [e.start, e.end],
                    "heading": e.heading or None,
                    "correctness": ask("correctness", e.text, facts),
                    "alignment": ask("alignment", e.text, placing(e)),
                }
                for e in ([] if isinstance(extracted.entities, Failed) else extracted.entities)
            ],
            "sentences": [
                {"span": [s.start, s.end], "votes": ask("readability", s.text, style)}
                for s in sentences(candidate.text)
            ],
            "dropped": list(extracted.dropped),
            "failed": {n: part.reason for n, part in parts.items() if isinstance(part, Failed)},
            "replies": self.bill.replies,
        }


def _headings(text: str) -> list[str]:
    return list(dict.fromkeys(sentence.heading for sentence in sentences(text) if sentence.heading))


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
        for name in TEMPLATES:
            subject = "sentence" if ".readability." in name else "entity"
            self._pack.check(name, [subject], without=MATERIAL, **self._words)

    async def ask(self, questions: Sequence[BallotQuestion], model: Model) -> None:
        for aspect, choices in CHOICES.items():
            mine = [question for question in questions if question.aspect == aspect]
            if self.by_choice and mine:
                await self._choose(mine, choices, model)
            else:
                batches = _batches(mine, max(self._batch, 1))
                await gather(*(self._write(batch, choices, model) for batch in batches))

    async def _choose(
        self, questions: Sequence[BallotQuestion], choices: Options, model: Model
    ) -> None:
        prompts = [self._prompt(question, question.subject) for question in questions]
        for question, reply in zip(questions, await model.choose(prompts, choices), strict=True):
            question.bill.tokens += cost([reply])
            question.votes[question.prompt] = _chosen(reply)

    async def _write(self, batch: Sequence[BallotQuestion], choices: Options, model: Model) -> None:
        prompt = self._prompt(batch[0], numbered([question.subject for question in batch]))
        reason = {"reason": string(LONGEST_REASON)} if self._reasoning else {}
        asked = object_of(reason | {"answer": one_of(choices.names)})
        schema = object_of({str(n): asked for n in range(1, len(batch) + 1)})
        reply = await ask(prompt, schema, self._how, model, batch[0].bill)
        for place, question in enumerate(batch, 1):
            vote: Vote = {"failed": reply.reason} if isinstance(reply, Failed) else {
                "answer": reply[str(place)]["answer"].lower(),
                "reason": reply[str(place)].get("reason", ""),
            }  # fmt: skip
            question.votes[question.prompt] = vote

    def _prompt(self, question: BallotQuestion, subject: str) -> Prompt:
        slot = "sentence" if question.aspect == "readability" else "entity"
        given = dict.fromkeys(MATERIAL) | dict(question.given) | {slot: subject}
        template = f"entities.{question.aspect}.{question.prompt}"
        return self._pack.render(template, given, **self._words)


def _batches(questions: Sequence[BallotQuestion], size: int) -> Iterator[list[BallotQuestion]]:
    """An aspect's questions in groups that share a prompt, its material and a bill."""
    alike: dict[tuple[Any, ...], list[BallotQuestion]] = {}
    for asked in questions:
        material = tuple(sorted(asked.given.items()))
        alike.setdefault((asked.prompt, material, id(asked.bill)), []).append(asked)
    for group in alike.values():
        yield from (group[start : start + size] for start in range(0, len(group), size))


def _chosen(reply: Chosen | Failed) -> Vote:
    if isinstance(reply, Failed):
        return {"failed": reply.reason}
    p = {name.lower(): value for name, value in reply.p.items()}
    doubts = {"left_out": reply.left_out, "within": reply.within}
    more = {name: value for name, value in doubts.items() if value} | reply.thought
    return {"answer": max(p, key=lambda name: p[name]), "p": p, "mass": reply.mass, **more}
