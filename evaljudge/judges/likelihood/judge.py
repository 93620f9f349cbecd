"""GPTScore: how probable the model finds the text itself, after an instruction and the source.

After Fu et al. 2023. The candidate stands where the model's reply would, and the log-probability of
each of its tokens is read (`weigh`). For `fluency`:

    Write the summary for the article below, as good as possible on this aspect alone:
    fluency - the quality of the individual sentences. … Article: … Summary:
    A flood.            A −2.0   flood −0.5   . −0.5       `likelihood`: their mean, −1.0
"""

from collections.abc import Mapping, Sequence
from heapq import nsmallest
from math import exp, isfinite
from typing import Any, TypedDict

from evaljudge.errors import UserError, unknown
from evaljudge.judges.plugin import JudgedCandidate
from evaljudge.judges.shared.one_question import QuestionJudge, Texts
from evaljudge.model import Model
from evaljudge.model.asks import Failed, Prompt, Weighed
from evaljudge.prompts import Task
from evaljudge.records import Axis, Brief, Candidate, Document
from evaljudge.sections import Section, Table
from evaljudge.sections.figures import correlation
from evaljudge.settings import Settings, read_settings

LEAST_KEPT = 8  # how many of a text's least probable tokens are kept, for people to look at
NO_PROBABILITY = "the model gives a token of the text no probability"


class LeastProbable(TypedDict):
    text: str
    logprob: float


class LikelihoodEvidence(TypedDict):
    """`logprob` is the sum over the `weighed` tokens."""

    logprob: float
    weighed: int
    least: Sequence[LeastProbable]


class Demonstration(Settings):
    """An example that the prompt shows: a document's source and a good text about it."""

    source: str
    target: str
    axis: str | None = None
    """The axis on which it is shown; None: on every axis."""


class LikelihoodSettings(Settings):
    reversed: bool = False
    demonstrations: Sequence[Demonstration] = ()


class Likelihood(QuestionJudge[Weighed]):
    kind = "likelihood"
    version = "1"
    weighs = True

    def __init__(self, settings: Mapping[str, Any], task: Task, name: str = kind) -> None:
        self._settings = chosen = read_settings(LikelihoodSettings, settings, f"judges.{name}")
        template = "likelihood.back" if chosen.reversed else "likelihood.write"
        shown = ["target" if chosen.reversed else "source"]
        several = ["example_sources", "example_targets"]
        super().__init__(name, chosen, task, template, shown, several)
        for axis in (shot.axis for shot in chosen.demonstrations if shot.axis is not None):
            if axis not in self.axes:
                message = unknown("axis", axis, self.axes)
                raise UserError(f"judges.{name}.demonstrations: {message}")

    @property
    def meanings(self) -> Mapping[str, str]:
        order = "source after the text" if self._settings.reversed else "text after the source"
        return {
            "": f"The mean log-probability of the {order}, per token: at most 0, higher is better."
        }

    def _questions(self, axis: Axis, briefs: Sequence[Brief]) -> Sequence[Texts]:
        shown = [shot for shot in self._settings.demonstrations if shot.axis in (None, axis.name)]
        sources, targets = ([getattr(shot, of) for shot in shown] for of in ("source", "target"))
        return [{"example_sources": sources, "example_targets": targets}]

    def _text(self, document: Document, candidate: Candidate) -> str:
        return (document.source if self._settings.reversed else candidate.text).strip()

    async def _ask(
        self, prompts: Sequence[Prompt], texts: Sequence[str], model: Model
    ) -> Sequence[Weighed | Failed]:
        return await model.weigh(prompts, texts)

    def _read(self, axis: Axis, text: str, reply: Weighed) -> tuple[dict[str, Any], str]:
        if not isfinite(reply.total):
            return {}, NO_PROBABILITY
        least = nsmallest(LEAST_KEPT, reply.tokens, key=lambda token: token.logprob)
        pieces = [{"text": text[t.start : t.end], "logprob": t.logprob} for t in least]
        return {"logprob": reply.total, "weighed": len(reply.tokens), "least": pieces}, ""

    def _values(self, evidence: Mapping[str, Any]) -> Sequence[float]:
        """Σ log p(token | those before it, the prompt) / the number of tokens, which all have the
        same weight, as its authors use it."""
        return [evidence["logprob"] / evidence["weighed"]]


def shown_evidence(judged: JudgedCandidate) -> Section:
    evidence = judged.verdict.evidence
    mean = evidence["logprob"] / evidence["weighed"]
    rows = [[f"“{piece['text']}”", correlation(piece["logprob"])] for piece in evidence["least"]]
    about = (
        f"The mean log-probability of the {evidence['weighed']:,} tokens is {mean:.3f}, as if each "
        f"had the probability {exp(mean):.3f}."
    )
    table = Table("The least probable tokens", ["token", "log-probability"], rows, "lr")
    return Section("How probable the tokens are", [about], [table])
