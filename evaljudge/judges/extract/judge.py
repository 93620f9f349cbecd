"""Extract, then evaluate: a rating of the text beside the source's sentences that it is about.

After "Less is More for Long Document Summary Evaluation by LLMs" (Wu et al. 2024). The sentences of
the source that share most with the candidate are extracted, up to a budget of tokens
(equations.py), and the model rates the candidate beside this extract in place of the source. For
`relevance`:

    source of 9,000 tokens  ->  sentences 4, 17, 18, … (1,020 tokens)  ->  p(1) … p(5)
    .05 .10 .20 .40 .25        `extract`: Σ p(r)·r = 3.70        `extract.greedy`: 4

`extract: none` shows the whole source: the plain rating that "Mitigating the Impact of Reference
Quality …" (Gigant et al. 2024) compares with.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from evaljudge.judges.extract.equations import By, Extract, extracted, most_probable
from evaljudge.judges.plugin import JudgedCandidate
from evaljudge.judges.shared.asking import ANY_WORDS, reason_unscorable
from evaljudge.judges.shared.one_question import QuestionJudge
from evaljudge.judges.shared.ratings import RATINGS, mean_rating, ratings_table
from evaljudge.model import Model
from evaljudge.model.asks import Chosen, Failed, Prompt
from evaljudge.prompts import Task
from evaljudge.records import Axis, Brief, Candidate, Case, Document, Verdict
from evaljudge.sections import Section
from evaljudge.settings import Settings, read_settings

TEMPLATE = "extract.rate"


class ExtractSettings(Settings):
    extract: By | Literal["none"] = "rouge1+2"
    budget: Annotated[int, Field(gt=0)] = 1024

    @model_validator(mode="after")
    def _goes_together(self) -> ExtractSettings:
        if self.extract == "none" and "budget" in self.model_fields_set:
            raise ValueError("budget goes with an `extract` other than none")
        return self


@dataclass(frozen=True, slots=True)
class ExtractEvidence:
    """`extract`: the numbers of the sentences that were shown, of so many `sentences`; None where
    the whole source was shown."""

    p: Mapping[str, float]
    extract: Sequence[int] | None
    sentences: int | None


def read_evidence(kept: Mapping[str, Any]) -> ExtractEvidence:
    p = Chosen(kept["logprobs"]).p
    return ExtractEvidence(p, kept.get("extract"), kept.get("sentences"))


class ExtractThenRate(QuestionJudge[Chosen]):
    kind = "extract"
    version = "1"
    options = (RATINGS,)

    def __init__(self, settings: Mapping[str, Any], task: Task, name: str = kind) -> None:
        self._settings = read_settings(ExtractSettings, settings, f"judges.{name}")
        self._nouns = {f"{slot}_noun": noun for slot, noun in task.nouns.items()}
        super().__init__(name, task.axes, task.pack, TEMPLATE)
        self._pack.check(TEMPLATE, ["source", "target"], **self._nouns, **ANY_WORDS)

    @property
    def asking(self) -> Mapping[str, Any]:
        unused = {"budget"} if self._settings.extract == "none" else set()
        prompts = {"prompts": self._pack.hash([TEMPLATE])}
        return self._settings.model_dump(exclude=unused) | prompts

    @property
    def scorers(self) -> Sequence[str]:
        return [self.name, f"{self.name}.greedy"]

    @property
    def meanings(self) -> Mapping[str, str]:
        return {
            "": "The mean of the ratings from 1 (worst) to 5 (best), by their probabilities.",
            ".greedy": "The most probable rating, from 1 (worst) to 5 (best).",
        }

    @property
    def other_readings(self) -> Sequence[str]:
        return [f"{self.name}.greedy"]

    def _extract(self, document: Document, candidate: Candidate) -> Extract | Failed:
        by, budget = self._settings.extract, self._settings.budget
        if by == "none":
            return Extract(document.source, (), 0)
        return extracted(document.source, candidate.text, by, budget)

    def _prompt(
        self, document: Document, axis: Axis, candidate: Candidate, briefs: Sequence[Brief]
    ) -> Prompt | Failed:
        if reason := reason_unscorable(document, candidate):
            return Failed(reason)
        extract = self._extract(document, candidate)
        if isinstance(extract, Failed):
            return extract
        return super()._prompt(replace(document, source=extract.text), axis, candidate, briefs)

    def _words(self, axis: Axis) -> dict[str, str]:
        return self._nouns | axis.words

    async def _ask(
        self, prompts: Sequence[Prompt], texts: Sequence[str], model: Model
    ) -> Sequence[Chosen | Failed]:
        return await model.choose(prompts, RATINGS)

    def _verdict(
        self, case: Case, axis: Axis, candidate: Candidate, reply: Chosen | Failed
    ) -> Verdict:
        """With the numbers of the sentences that were extracted, where some were."""
        verdict = super()._verdict(case, axis, candidate, reply)
        if verdict.status != "ok":
            return verdict
        extract = self._extract(case.document, candidate)
        if isinstance(extract, Failed) or not extract.chosen:
            return verdict
        shown = {"extract": list(extract.chosen), "sentences": extract.of}
        return replace(verdict, evidence={**verdict.evidence, **shown})

    def _read(self, axis: Axis, text: str, reply: Chosen) -> tuple[dict[str, Any], str]:
        return reply.evidence, ""

    # the driver: arithmetic, no model

    def _values(self, evidence: Mapping[str, Any]) -> Sequence[float]:
        p = read_evidence(evidence).p
        return [mean_rating(p), most_probable(p)]


# for people


def shown_evidence(judged: JudgedCandidate) -> Section:
    found = read_evidence(judged.verdict.evidence)
    table, seen = ratings_table(found.p), "The model saw the whole source."
    if found.extract:
        *most, last = map(str, found.extract)
        named = f"sentences {', '.join(most)} and {last}" if most else f"sentence {last}"
        seen = f"The model saw {named} of the source's {found.sentences:,}."
    mean = f"The mean rating by these probabilities is {mean_rating(found.p):.2f}."
    return Section(table.title, [seen], [table], [mean])
