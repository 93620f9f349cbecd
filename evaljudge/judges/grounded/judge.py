"""Grounded: whether each sentence of the text is supported by the source, by a fact-checking model.

After SummaC (Laban et al. 2022) and MiniCheck (Tang et al. 2024). A classifier of pairs reads each
window of the source with each sentence of the text (`rate`):

    P(supported)           "The river rose."    "Nobody was hurt."
    window 1                     0.98                 0.05
    window 2                     0.10                 0.21
    the best                     0.98                 0.21      mean 0.595, `.min` 0.21
"""

from collections.abc import Mapping, Sequence
from itertools import islice, pairwise
from statistics import fmean
from typing import Annotated, Any, TypedDict

from pydantic import Field

from evaljudge.judges.plugin import JudgedCandidate
from evaljudge.judges.protocol import Judge, Judged
from evaljudge.judges.shared.asking import reason_unscorable, scored
from evaljudge.metrics.passages import sentences
from evaljudge.model import Model
from evaljudge.model.asks import Failed, Prompt, Rating
from evaljudge.model.counting import cost
from evaljudge.prompts import Task
from evaljudge.records import ANY_AXIS, Brief, Candidate, Case, Document, Score, Status, Verdict
from evaljudge.sections import Section
from evaljudge.settings import Settings, read_settings

SUPPORTED = ("entailment", "entailed", "supported", "supports", "consistent", "grounded")
"""What models call the label that is meant, in small or capital letters."""
NO_SENTENCE = "the text has no sentence"


class GroundedEvidence(TypedDict):
    """How supported each sentence is; the worst one, and the window that supports it most, from 1,
    of so many `windows`."""

    p: Sequence[float]
    worst: str
    window: int
    windows: int


class GroundedSettings(Settings):
    label: str | None = None
    """The model's label for what is supported; by default the one that is among SUPPORTED."""
    window: Annotated[int, Field(gt=0)] = 200
    """The most words of a window; a longer sentence is one by itself."""
    between: str | None = None
    """What stands between window and sentence, in place of what the tokenizer puts there."""


def windows_of(source: str, most: int) -> list[str]:
    """The source, cut before sentences; nothing of it is left out."""
    starts = [sentence.start for sentence in sentences(source)]
    cuts, words = [0], 0
    for start, end in pairwise([*starts, len(source)]):
        more = len(source[start:end].split())
        if words and words + more > most:
            cuts.append(start)
            words = 0
        words += more
    return [source[start:end].strip() for start, end in pairwise([*cuts, len(source)])]


class Grounded(Judge):
    kind = "grounded"
    version = "1"
    axes = (ANY_AXIS,)

    def __init__(self, settings: Mapping[str, Any], task: Task, name: str = kind) -> None:
        self.name = name
        self._settings = chosen = read_settings(GroundedSettings, settings, f"judges.{name}")
        labels = (chosen.label,) if chosen.label else SUPPORTED
        self.rates: Rating = Rating(labels, chosen.between)

    @property
    def asking(self) -> Mapping[str, Any]:
        return self._settings.model_dump()

    @property
    def other_readings(self) -> Sequence[str]:
        return [f"{self.name}.min"]

    meanings = {
        "": "The mean over the text's sentences of the probability that the source supports them.",
        ".min": "The probability that the source supports the least supported sentence.",
    }

    async def verdicts(self, case: Case, briefs: Sequence[Brief], model: Model) -> Judged:
        windows = windows_of(case.document.source, self._settings.window)
        of_each = [claims_of(case.document, candidate) for candidate in case.candidates]
        pairs = [(w, claim) for claims, _ in of_each for claim in claims for w in windows]
        prompts, texts = [Prompt((window,)) for window, _ in pairs], [claim for _, claim in pairs]
        replies, verdicts = iter(await model.rate(prompts, texts, self.rates)), list[Verdict]()
        for candidate, (claims, reason) in zip(case.candidates, of_each, strict=True):
            rows = [list(islice(replies, len(windows))) for _ in claims]
            mine = [reply for row in rows for reply in row]
            failed = [reply.reason for reply in mine if isinstance(reply, Failed)]
            why = reason or next(iter(failed), "")
            evidence = {} if why else evidence_of(claims, rows)
            key = (case.document.doc_id, candidate.system, self.name, ANY_AXIS)
            status: Status = "unscored" if why else "ok"
            verdicts.append(Verdict(*key, evidence, status, why, cost(mine)))
        return Judged(verdicts)

    def score(self, verdict: Verdict) -> list[Score]:
        values: list[float | Failed] = [Failed(verdict.reason)] * 2
        if verdict.status == "ok":
            p = verdict.evidence["p"]
            values = [fmean(p), min(p)]
        pairs = zip(self.scorers, values, strict=True)
        return [scored(verdict, scorer, ANY_AXIS, value) for scorer, value in pairs]


def claims_of(document: Document, candidate: Candidate) -> tuple[list[str], str]:
    """The sentences to check, or why there are none."""
    if reason := reason_unscorable(document, candidate):
        return [], reason
    claims = [sentence.text for sentence in sentences(candidate.text)]
    return claims, "" if claims else NO_SENTENCE


def evidence_of(claims: Sequence[str], rows: Sequence[Sequence[Any]]) -> dict[str, Any]:
    """`rows`: the ratings of each claim beside each window."""
    p = [max(rating.value for rating in row) for row in rows]
    worst = p.index(min(p))
    window = next(n for n, rating in enumerate(rows[worst], start=1) if rating.value == p[worst])
    return {"p": p, "worst": claims[worst], "window": window, "windows": len(rows[worst])}


def shown_evidence(judged: JudgedCandidate) -> Section:
    evidence = judged.verdict.evidence
    p, windows = evidence["p"], evidence["windows"]
    least = f"The least supported of {len(p):,} sentences, with a probability of {min(p):.3f}"
    place = f" (by part {evidence['window']:,} of {windows:,} of the source)" if windows > 1 else ""
    return Section("How far the source supports it", [f"{least}{place}: “{evidence['worst']}”"], [])
