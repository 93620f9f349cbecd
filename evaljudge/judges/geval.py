"""G-Eval: steps of evaluation written once for an axis, then the model's distribution of ratings.

After Liu et al. 2023, as the baseline of "Direct-Scoring NLG Evaluators Can Use Pairwise
Comparisons Too". For `fluency`, told its name and description alone, the writer replies

    1. Read the summary sentence by sentence. 2. Note errors of grammar … 5. Give a rating, 1 to 5.

and each candidate is rated by these steps, which gives p(1) … p(5):

    .05 .10 .20 .40 .25        `geval`: Σ p(r)·r = 3.70
    four draws: 4 5 4 3        `geval.sampled`: their mean, 4.00 (with `samples: 4`)

The steps are a brief of every document although they say nothing of it; as the question holds no
text of a document it is asked once (model/common.py), so all documents are rated by the same steps.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from math import fsum
from typing import Annotated, Any

from pydantic import Field

from evaljudge.asks import Chosen, Failed, Options, Prompt, Writing, Written
from evaljudge.errors import UserError
from evaljudge.judges.protocol import Part
from evaljudge.model import Model
from evaljudge.model.counting import cost
from evaljudge.records import Axis, Brief, Candidate, Case, Document, Score, Verdict
from evaljudge.settings import Settings, read_settings
from evaljudge.tasks import Pack, Task

RATINGS = Options(("1", "2", "3", "4", "5"))
STEPS = "steps"
Steps = str | Failed
_WHOLE = re.compile(r".*(?<!\d)[.!?](?=\s|$)|.*(?=\n)", re.DOTALL)
"""Up to the last end of a sentence or a line."""


class GevalSettings(Settings):
    samples: Annotated[int, Field(ge=0)] = 0
    max_tokens: Annotated[int, Field(gt=0)] = 512


class Geval:
    kind = "geval"
    version = "1"
    asks_by_replies = False
    encoders = ()
    options = (RATINGS,)

    def __init__(self, settings: Mapping[str, Any], task: Task, name: str = kind) -> None:
        self.name = name
        self._settings = read_settings(GevalSettings, settings, f"judges.{name}")
        self._axes, self._pack = task.axes, task.pack
        _check_steps(self._pack)
        told = {"axis": "axis", "description": "what it is"}
        self._pack.check("geval.rate", ["steps", "target"], **told)
        self._how = Writing(self._settings.max_tokens)
        self._writing_hash = task.pack.hash(["geval.steps"])
        self._rating_hash = task.pack.hash(["geval.rate"])

    @property
    def asking(self) -> Mapping[str, Any]:
        prompts = {"writing": self._writing_hash, "rating": self._rating_hash}
        return self._settings.model_dump() | {"prompts": prompts}

    @property
    def scorers(self) -> Sequence[str]:
        sampled = [f"{self.name}.sampled"] if self._settings.samples else []
        return [self.name, *sampled]

    @property
    def axes(self) -> Sequence[str]:
        return [axis.name for axis in self._axes]

    def axes_of(self, scorer: str) -> Sequence[str]:
        return self.axes

    # stage one: the steps of each axis

    def parts(self) -> list[Part]:
        return [Part(axis.name, STEPS, self._told(axis)) for axis in self._axes]

    def _told(self, axis: Axis) -> dict[str, Any]:
        how = self._settings.model_dump(exclude={"samples"})
        return {"axis": axis.name, "description": axis.description,
                "prompts": self._writing_hash, **how}  # fmt: skip

    async def brief(self, document: Document, known: Sequence[Brief], model: Model) -> list[Brief]:
        there = {brief.axis for brief in known}
        missing = [axis for axis in self._axes if axis.name not in there]
        replies: Sequence[Written | Failed] = [Failed("empty source")] * len(missing)
        if document.source.strip():
            replies = await model.write([self._writing_prompt(a) for a in missing], self._how)
        return [self._brief(document, a, r) for a, r in zip(missing, replies, strict=True)]

    def _writing_prompt(self, axis: Axis) -> Prompt:
        return self._pack.render("geval.steps", {}, axis=axis.name, description=axis.description)

    def _brief(self, document: Document, axis: Axis, reply: Written | Failed) -> Brief:
        known, tokens = (document.doc_id, "", self.kind, axis.name, STEPS), cost([reply])
        steps, cut = _usable(reply)
        if isinstance(steps, Failed):
            return Brief(*known, {}, "unscored", steps.reason, tokens=tokens)
        return Brief(*known, {"text": steps} | ({"cut": True} if cut else {}), tokens=tokens)

    # stage two: one choice among the ratings per candidate

    async def verdicts(self, case: Case, briefs: Sequence[Brief], model: Model) -> list[Verdict]:
        steps = {brief.axis: _steps_of(brief) for brief in briefs}
        pairs = [(axis, candidate) for axis in self._axes for candidate in case.candidates]
        asked = [self._rating_prompt(case.document, a, c, steps.get(a.name)) for a, c in pairs]
        prompts = [prompt for prompt in asked if isinstance(prompt, Prompt)]
        replies = iter(await model.choose(prompts, RATINGS, self._settings.samples))
        return [
            self._verdict(case, axis, c, next(replies) if isinstance(one, Prompt) else one)
            for (axis, c), one in zip(pairs, asked, strict=True)
        ]

    def _rating_prompt(
        self, document: Document, axis: Axis, candidate: Candidate, steps: Steps | None
    ) -> Prompt | Failed:
        """The prompt, or why this candidate cannot be rated at all."""
        if not document.source.strip():
            return Failed("empty source")
        if not candidate.text.strip():
            return Failed("empty text")
        if steps is None or isinstance(steps, Failed):
            reason = steps.reason if steps else "never written"
            return Failed(f"no steps for {axis.name}: {reason}")
        context = document.context if axis.context else None
        texts = {"source": document.source, "context": context}
        given = texts | {"steps": steps, "target": candidate.text}
        return self._pack.render("geval.rate", given, axis=axis.name, description=axis.description)

    def _verdict(
        self, case: Case, axis: Axis, candidate: Candidate, reply: Chosen | Failed
    ) -> Verdict:
        known = (case.document.doc_id, candidate.system, self.name, axis.name)
        tokens = cost([reply])
        if isinstance(reply, Failed):
            return Verdict(*known, {}, "unscored", reply.reason, tokens)
        evidence = {"p": reply.p, "mass": reply.mass, "logprobs": dict(reply.logprobs)}
        if self._settings.samples:
            drawn = Counter(reply.samples)
            evidence["draws"] = {rating: drawn[rating] for rating in RATINGS.names}
        return Verdict(*known, evidence, tokens=tokens)

    # the driver: arithmetic, no model

    def score(self, verdict: Verdict) -> list[Score]:
        weights = {self.name: "p", f"{self.name}.sampled": "draws"}
        ok = verdict.status == "ok"
        values = [mean_rating(verdict.evidence[weights[s]]) if ok else None for s in self.scorers]
        return [
            Score(verdict.doc_id, verdict.system, scorer, verdict.axis, value, verdict.reason)
            for scorer, value in zip(self.scorers, values, strict=True)
        ]


def mean_rating(weights: Mapping[str, float]) -> float:
    """Σ w·r / Σ w: of probabilities, or of how often each rating was drawn."""
    return fsum(float(rating) * weight for rating, weight in weights.items()) / fsum(
        weights.values()
    )


def _check_steps(pack: Pack) -> None:
    """Steps are written from the axis alone: no text of a document may be asked for."""
    prompt = pack.render("geval.steps", {}, axis="the axis", description="what it is")
    if "the axis" not in prompt.text or "what it is" not in prompt.text:
        raise UserError("prompt geval.steps: needs a place for {{ axis }} and {{ description }}")


def _usable(reply: Written | Failed) -> tuple[Steps, bool]:
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


def _steps_of(brief: Brief) -> Steps:
    return str(brief.content["text"]) if brief.status == "ok" else Failed(brief.reason)
