"""The prompt of G-Eval: steps of evaluation written once for an axis, and a rating by these steps.

The steps are a brief of every document although they say nothing of it. As the question for them
holds no text of a document, it is asked once (see model/remembering.py), so all documents are rated
by the same steps, and judges that ask for them alike share them.
"""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, Generic, TypeVar

from evaljudge.errors import UserError
from evaljudge.judges.protocol import Judge, Judged, Part
from evaljudge.judges.shared.asking import ANY_WORDS, document_texts, reason_unscorable
from evaljudge.judges.shared.references import text_of
from evaljudge.model import Model
from evaljudge.model.asks import Chosen, Failed, Prompt, Writing, Written
from evaljudge.model.counting import cost
from evaljudge.prompts import Pack, Task
from evaljudge.records import Axis, Brief, Candidate, Case, Document, Verdict

STEPS = "steps"
MOST_TOKENS = 512
"""The limit of an axis' steps, where the settings give no other."""
_WHOLE = re.compile(r".*(?<!\d)[.!?](?=\s|$)|.*(?=\n)", re.DOTALL)
"""Up to the last end of a sentence or a line."""
Reply = TypeVar("Reply", Written, Chosen)


class RatingJudge(Judge, Generic[Reply]):
    """A judge that asks one question about each candidate on each axis."""

    def __init__(self, name: str, task: Task, template: str, steps_tokens: int | None) -> None:
        """`steps_tokens`: the limit of the steps' reply; None for a question without steps."""
        self.name, self._axes, self._pack, self._template = name, task.axes, task.pack, template
        self._writing = None if steps_tokens is None else Writing(steps_tokens)
        self._prompts: dict[str, str] = {}
        if self._writing:
            _check_steps(self._pack)
            self._prompts["writing"] = self._pack.hash(["geval.steps"])
        needed = ["steps", "target"] if self._writing else ["target"]
        self._pack.check(template, needed, **ANY_WORDS)
        self._prompts["rating"] = self._pack.hash([template])

    @property
    def axes(self) -> Sequence[str]:
        return [axis.name for axis in self._axes]

    # stage one: the steps of each axis

    def parts(self) -> list[Part]:
        if not self._writing:
            return []
        how = {"prompts": self._prompts["writing"], "max_tokens": self._writing.max_tokens}
        return [Part(a.name, STEPS, {"name": a.name} | a.words | how) for a in self._axes]

    async def brief(self, document: Document, known: Sequence[Brief], model: Model) -> list[Brief]:
        if not self._writing:
            return []
        there = {brief.axis for brief in known}
        missing = [axis for axis in self._axes if axis.name not in there]
        replies: Sequence[Written | Failed] = [Failed("empty source")] * len(missing)
        if document.source.strip():
            prompts = [self._pack.render("geval.steps", {}, **axis.words) for axis in missing]
            replies = await model.write(prompts, self._writing)
        return [self._brief(document, a, r) for a, r in zip(missing, replies, strict=True)]

    def _brief(self, document: Document, axis: Axis, reply: Written | Failed) -> Brief:
        known, tokens = (document.doc_id, "", self.kind, axis.name, STEPS), cost([reply])
        steps, cut = _usable(reply)
        if isinstance(steps, Failed):
            return Brief(*known, {}, "unscored", steps.reason, tokens=tokens)
        return Brief(*known, {"text": steps} | ({"cut": True} if cut else {}), tokens=tokens)

    # stage two: the question for a rating

    async def verdicts(self, case: Case, briefs: Sequence[Brief], model: Model) -> Judged:
        pairs = [(axis, candidate) for axis in self._axes for candidate in case.candidates]
        asked = [self._prompt(case.document, axis, c, briefs) for axis, c in pairs]
        prompts = [prompt for prompt in asked if isinstance(prompt, Prompt)]
        replies = iter(await self._ask(prompts, model))
        verdicts = [
            self._verdict(case, axis, c, next(replies) if isinstance(one, Prompt) else one)
            for (axis, c), one in zip(pairs, asked, strict=True)
        ]
        return Judged(verdicts)

    def _prompt(
        self, document: Document, axis: Axis, candidate: Candidate, briefs: Sequence[Brief]
    ) -> Prompt | Failed:
        """The prompt, or why this candidate cannot be rated at all."""
        if reason := reason_unscorable(document, candidate):
            return Failed(reason)
        texts = document_texts(document, axis) | {"target": candidate.text}
        if self._writing:
            written = (text_of(brief) for brief in briefs if brief.axis == axis.name)
            steps = next(written, Failed("never written"))
            if isinstance(steps, Failed):
                return Failed(f"no steps for {axis.name}: {steps.reason}")
            texts["steps"] = steps
        return self._pack.render(self._template, texts, **axis.words)

    def _verdict(
        self, case: Case, axis: Axis, candidate: Candidate, reply: Reply | Failed
    ) -> Verdict:
        known = (case.document.doc_id, candidate.system, self.name, axis.name)
        if isinstance(reply, Failed):
            return Verdict(*known, {}, "unscored", reply.reason, cost([reply]))
        evidence, reason = self._read(axis, reply)
        return Verdict(*known, evidence, "unscored" if reason else "ok", reason, cost([reply]))

    @abstractmethod
    async def _ask(self, prompts: Sequence[Prompt], model: Model) -> Sequence[Reply | Failed]:
        """One reply to each prompt."""

    @abstractmethod
    def _read(self, axis: Axis, reply: Reply) -> tuple[dict[str, Any], str]:
        """A verdict's evidence, and why it is unscored, where it is."""


def _check_steps(pack: Pack) -> None:
    """Steps are written from the axis alone: no text of a document may be asked for."""
    prompt = pack.render("geval.steps", {}, axis="the axis", description="what it is")
    if "the axis" not in prompt.text or "what it is" not in prompt.text:
        raise UserError("prompt geval.steps: needs a place for {{ axis }} and {{ description }}")


def _usable(reply: Written | Failed) -> tuple[str | Failed, bool]:
    """The steps, and whether some were cut: then they are kept to their last whole sentence."""
    if isinstance(reply, Failed):
        return reply, False
    sample = reply.samples[0]
    text, cut = sample.text.strip(), sample.finish == "length"
    if cut:
        whole = _WHOLE.match(text)
        text = whole[0].strip() if whole else ""
    if not text:
        said = "the reply was cut before its first step ended" if cut else "the reply was empty"
        return Failed(said), cut
    return text, cut
