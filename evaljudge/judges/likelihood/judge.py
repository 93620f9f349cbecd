"""GPTScore: how probable the model finds the text itself, after an instruction and the source.

After Fu et al. 2023. The instruction asks for a text that is good on the axis. Nothing is written:
the candidate stands where the model's reply would, and the log-probability of each of its tokens is
read (`weigh`). For `fluency`:

    Write the summary for the article below, as good as possible on this aspect alone:
    fluency - the quality of the individual sentences. … Article: … Summary:
    A flood.            A −2.0   flood −0.5   . −0.5       `likelihood`: their mean, −1.0

`reversed: true` asks the other way round: how probable the source is after the candidate.
`demonstrations` are examples that the prompt shows before the document.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from heapq import nsmallest
from math import exp, isfinite
from typing import Any, TypedDict

from evaljudge.errors import UserError, unknown
from evaljudge.judges.plugin import JudgedCandidate
from evaljudge.judges.protocol import Judge, Judged
from evaljudge.judges.shared.asking import ANY_WORDS, document_texts, reason_unscorable
from evaljudge.model import Model
from evaljudge.model.asks import Failed, Prompt, Weighed
from evaljudge.model.counting import cost
from evaljudge.prompts import Given, Task
from evaljudge.records import Axis, Brief, Candidate, Case, Document, Score, Verdict
from evaljudge.sections import Section, Table
from evaljudge.sections.figures import correlation
from evaljudge.settings import Settings, read_settings

LEAST_KEPT = 8
"""How many of a text's least probable tokens are kept, for people to look at."""
NO_PROBABILITY = "the model gives a token of the text no probability"
EXAMPLES = ("example_sources", "example_targets")
"""The slots of the demonstrations."""


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


class Likelihood(Judge):
    kind = "likelihood"
    version = "1"

    def __init__(self, settings: Mapping[str, Any], task: Task, name: str = kind) -> None:
        self.name = name
        self._settings = given = read_settings(LikelihoodSettings, settings, f"judges.{name}")
        self._axes, self._pack = task.axes, task.pack
        self._nouns = {f"{slot}_noun": noun for slot, noun in task.nouns.items()}
        self._template = "likelihood.back" if given.reversed else "likelihood.write"
        shown = "target" if given.reversed else "source"
        for axis in (one.axis for one in given.demonstrations if one.axis is not None):
            if axis not in self.axes:
                said = unknown("axis", axis, self.axes)
                raise UserError(f"judges.{name}.demonstrations: {said}")
        self._pack.check(self._template, [shown], several=EXAMPLES, **self._nouns, **ANY_WORDS)

    @property
    def asking(self) -> Mapping[str, Any]:
        return self._settings.model_dump(mode="json") | {
            "prompts": self._pack.hash([self._template])
        }

    @property
    def meanings(self) -> Mapping[str, str]:
        of = "source after the text" if self._settings.reversed else "text after the source"
        return {
            "": f"The mean log-probability of the {of}, per token: at most 0, higher is better."
        }

    @property
    def scorers(self) -> Sequence[str]:
        return [self.name]

    @property
    def axes(self) -> Sequence[str]:
        return [axis.name for axis in self._axes]

    async def verdicts(self, case: Case, briefs: Sequence[Brief], model: Model) -> Judged:
        pairs = [(axis, candidate) for axis in self._axes for candidate in case.candidates]
        possible = [two for two in pairs if not reason_unscorable(case.document, two[1])]
        prompts = [self._prompt(case.document, *two) for two in possible]
        texts = [self._text(case.document, candidate) for _, candidate in possible]
        replies = iter(await model.weigh(prompts, texts) if prompts else [])
        return Judged([self._verdict(case, axis, c, replies) for axis, c in pairs])

    def _prompt(self, document: Document, axis: Axis, candidate: Candidate) -> Prompt:
        shown = [one for one in self._settings.demonstrations if one.axis in (None, axis.name)]
        texts: dict[str, Given] = {**document_texts(document, axis), "target": candidate.text}
        texts |= {"example_sources": [one.source for one in shown]}
        texts |= {"example_targets": [one.target for one in shown]}
        return self._pack.render(self._template, texts, **self._nouns, **axis.words)

    def _text(self, document: Document, candidate: Candidate) -> str:
        """The text whose probability is read."""
        return (document.source if self._settings.reversed else candidate.text).strip()

    def _verdict(
        self, case: Case, axis: Axis, candidate: Candidate, replies: Iterator[Weighed | Failed]
    ) -> Verdict:
        known = (case.document.doc_id, candidate.system, self.name, axis.name)
        if reason := reason_unscorable(case.document, candidate):
            return Verdict(*known, {}, "unscored", reason)
        reply = next(replies)
        tokens = cost([reply])
        if isinstance(reply, Failed):
            return Verdict(*known, {}, "unscored", reply.reason, tokens)
        if not isfinite(reply.total):
            return Verdict(*known, {}, "unscored", NO_PROBABILITY, tokens)
        return Verdict(
            *known, _evidence(self._text(case.document, candidate), reply), tokens=tokens
        )

    # the driver: arithmetic, no model

    def score(self, verdict: Verdict) -> list[Score]:
        known = (verdict.doc_id, verdict.system, self.name, verdict.axis)
        if verdict.status != "ok":
            return [Score(*known, None, verdict.reason)]
        evidence = verdict.evidence
        return [Score(*known, mean_log_probability(evidence["logprob"], evidence["weighed"]))]


def mean_log_probability(log_probability: float, tokens: int) -> float:
    """Σ log p(token | those before it, the prompt) / the number of tokens, which all have the same
    weight, as its authors use it."""
    return log_probability / tokens


def _evidence(text: str, reply: Weighed) -> dict[str, Any]:
    least = nsmallest(LEAST_KEPT, reply.tokens, key=lambda token: token.logprob)
    pieces = [{"text": text[one.start : one.end], "logprob": one.logprob} for one in least]
    return {"logprob": reply.total, "weighed": len(reply.tokens), "least": pieces}


def shown_evidence(judged: JudgedCandidate) -> Section:
    evidence = judged.verdict.evidence
    mean = mean_log_probability(evidence["logprob"], evidence["weighed"])
    rows = [[f"“{one['text']}”", correlation(one["logprob"])] for one in evidence["least"]]
    about = (
        f"The mean log-probability of the {evidence['weighed']:,} tokens is {mean:.3f}, as if each "
        f"had the probability {exp(mean):.3f}."
    )
    table = Table("The least probable tokens", ["token", "log-probability"], rows, "lr")
    return Section("How probable the tokens are", [about], [table])
