"""Extract, then evaluate: a rating of the text beside the source's sentences that it is about.

After "Less is More for Long Document Summary Evaluation by LLMs" (Wu et al. 2024). The README says
how the sentences are chosen, with an example. For `relevance`:

    source of 9,000 tokens  ->  sentences 4, 17, 18, … (1,020 tokens)  ->  p(1) … p(5)
    .05 .10 .20 .40 .25        `extract`: Σ p(r)·r = 3.70        `extract.greedy`: 4

A token is a word or a sign here (in scripts without spaces, a letter), counted without any model's
tokenizer, so that an extract is the same for all models. Words are compared as by ROUGE with a
stemmer (metrics/lexical.py).
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Annotated, Any, Literal

from pydantic import Field

from evaljudge.judges.plugin import JudgedCandidate
from evaljudge.judges.shared.asking import reason_unscorable
from evaljudge.judges.shared.one_question import Answers, Asked, QuestionJudge
from evaljudge.judges.shared.scale import RATINGS, mean_rating, ratings_section
from evaljudge.metrics.lexical import spaced, words
from evaljudge.metrics.passages import sentences
from evaljudge.model import Model
from evaljudge.model.asks import Chosen, Failed, Prompt
from evaljudge.prompts import Task
from evaljudge.records import Axis, Brief, Candidate, Case, Document, Verdict
from evaljudge.sections import Section
from evaljudge.settings import Settings, read_settings

Grams = Counter[tuple[str, ...]]
By = Literal["rouge1", "rouge2", "rouge1+2", "lead", "none"]
SIZES: Mapping[By, Sequence[int]] = {"rouge1": (1,), "rouge2": (2,), "rouge1+2": (1, 2), "lead": ()}
"""The n of the n-grams that are covered; without any, the source's first sentences are taken."""
TOO_SMALL = Failed("the budget holds no sentence of the source")
_TOKEN = re.compile(r"\w+|[^\w\s]")
REMEMBERED = 256
"""Extracts, since each candidate's is needed on every axis; of more, it is made again."""
SOURCES = 8  # sources that are kept cut, since all candidates of a document need the same one


@dataclass(frozen=True, slots=True)
class Extract:
    text: str
    chosen: Sequence[int] = ()
    """The numbers of its sentences, from 1; empty where it is the whole source."""
    of: int = 0  # how many sentences they are chosen from


@lru_cache(REMEMBERED)
def extracted(source: str, text: str, by: By, budget: int) -> Extract | Failed:
    if by == "none" or tokens_in(source) <= budget:
        return Extract(source)
    passages, lengths, grams_of = _cut(source, by)
    wanted = grams(words(text, stemmer=True), SIZES[by])
    chosen = chosen_sentences(grams_of, lengths, wanted, budget)
    if not chosen:
        return TOO_SMALL
    shown = " ".join(passages[n] for n in chosen)
    return Extract(shown, tuple(n + 1 for n in chosen), len(passages))


@lru_cache(SOURCES)
def _cut(source: str, by: By) -> tuple[list[str], list[int], list[list[Grams]]]:
    texts = [sentence.text for sentence in sentences(source)]
    each = [grams(words(text, stemmer=True), SIZES[by]) for text in texts]
    return texts, [tokens_in(text) for text in texts], each


def tokens_in(text: str) -> int:
    return len(_TOKEN.findall(spaced(text)))


def grams(words: Sequence[str], sizes: Sequence[int]) -> list[Grams]:
    return [Counter(zip(*(words[start:] for start in range(n)), strict=False)) for n in sizes]


def chosen_sentences(
    sentences: Sequence[Sequence[Grams]], lengths: Sequence[int], text: Sequence[Grams], budget: int
) -> list[int]:
    """Greedily, the sentence that covers most of what the text has and no sentence covered yet.

    It ends before the first one that would exceed the budget. Of equals the earliest is chosen. The
    sentences are given, and returned, in the source's order.
    """
    shared = [[own & whole for own, whole in zip(s, text, strict=True)] for s in sentences]
    missing = list(text)
    chosen: list[int] = []
    left, room = list(range(len(sentences))), budget
    while left:
        best = max(left, key=lambda n: _recall(shared[n], missing, text))
        if lengths[best] > room:
            break
        room -= lengths[best]
        left.remove(best)
        chosen.append(best)
        missing = [still - covered for still, covered in zip(missing, shared[best], strict=True)]
    return sorted(chosen)


def _recall(sentence: Sequence[Grams], missing: Sequence[Grams], text: Sequence[Grams]) -> float:
    """What the sentence adds to the recall of the text's n-grams, over all n."""
    each = zip(sentence, missing, text, strict=True)
    return sum((part & still).total() / max(1, whole.total()) for part, still, whole in each)


class ExtractSettings(Settings):
    extract: By = "rouge1+2"
    budget: Annotated[int, Field(gt=0)] = 1024


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
        self._settings = chosen = read_settings(ExtractSettings, settings, f"judges.{name}")
        unused, shown = ["budget"] if chosen.extract == "none" else [], ["source", "target"]
        super().__init__(name, chosen, task, "extract.rate", shown, unused=unused)

    meanings = {
        "": "The mean of the ratings from 1 (worst) to 5 (best), by their probabilities.",
        ".greedy": "The most probable rating, from 1 (worst) to 5 (best).",
    }

    @property
    def other_readings(self) -> Sequence[str]:
        return [f"{self.name}.greedy"]

    def _extract(self, document: Document, candidate: Candidate) -> Extract | Failed:
        chosen = self._settings
        return extracted(document.source, candidate.text, chosen.extract, chosen.budget)

    def _asked(
        self, document: Document, axis: Axis, candidate: Candidate, briefs: Sequence[Brief]
    ) -> Asked:
        if reason := reason_unscorable(document, candidate):
            return [({}, Failed(reason))]
        extract = self._extract(document, candidate)
        if isinstance(extract, Failed):
            return [({}, extract)]
        return super()._asked(replace(document, source=extract.text), axis, candidate, briefs)

    async def _ask(
        self, prompts: Sequence[Prompt], texts: Sequence[str], model: Model
    ) -> Sequence[Chosen | Failed]:
        return await model.choose(prompts, RATINGS)

    def _verdict(
        self, case: Case, axis: Axis, candidate: Candidate, answers: Answers[Chosen]
    ) -> Verdict:
        """The verdict with the numbers of the extracted sentences, if any."""
        verdict = super()._verdict(case, axis, candidate, answers)
        if verdict.status != "ok":
            return verdict
        extract = self._extract(case.document, candidate)
        if isinstance(extract, Failed) or not extract.chosen:
            return verdict
        shown = {"extract": list(extract.chosen), "sentences": extract.of}
        return replace(verdict, evidence={**verdict.evidence, **shown})

    def _read(self, axis: Axis, text: str, reply: Chosen) -> tuple[dict[str, Any], str]:
        return reply.evidence, ""

    def _values(self, evidence: Mapping[str, Any]) -> Sequence[float]:
        """The mean, and the rating that a model would write without sampling; the lowest of
        equals."""
        p = read_evidence(evidence).p
        return [mean_rating(p), float(max(p, key=lambda rating: p[rating]))]


def shown_evidence(judged: JudgedCandidate) -> Section:
    evidence = read_evidence(judged.verdict.evidence)
    seen = "The model saw the whole source."
    if evidence.extract:
        *most, last = map(str, evidence.extract)
        named = f"sentences {', '.join(most)} and {last}" if most else f"sentence {last}"
        seen = f"The model saw {named} of the source's {evidence.sentences:,}."
    return ratings_section(seen, evidence.p)
