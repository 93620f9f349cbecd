"""G-Eval: steps of evaluation written once for an axis, then the model's distribution of ratings.

After Liu et al. 2023. For `fluency`, given its phrase and description alone, the writer replies

    1. Read the summary sentence by sentence. 2. Note errors of grammar … 5. Give a rating, 1 to 5.

and each candidate is rated by these steps (shared/steps.py), which gives p(1) … p(5):

    .05 .10 .20 .40 .25        `geval`: Σ p(r)·r = 3.70
    four draws: 4 5 4 3        `geval.sampled`: their mean, 4.00 (with `samples: 4`)
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import Field

from evaljudge.judges.plugin import JudgedCandidate
from evaljudge.judges.shared.scale import RATINGS, mean_rating, ratings_section
from evaljudge.judges.shared.steps import MOST_TOKENS, RatingJudge
from evaljudge.model import Model
from evaljudge.model.asks import Chosen, Failed, Prompt
from evaljudge.prompts import Task
from evaljudge.records import Axis
from evaljudge.sections import Section
from evaljudge.settings import Settings, read_settings


class GevalSettings(Settings):
    samples: Annotated[int, Field(ge=0, le=100_000)] = 0
    max_tokens: Annotated[int, Field(gt=0)] = MOST_TOKENS


@dataclass(frozen=True, slots=True)
class GevalEvidence:
    """The keys are ratings; `draws` is None where none were asked for."""

    p: Mapping[str, float]
    draws: Mapping[str, int] | None


def read_evidence(kept: Mapping[str, Any]) -> GevalEvidence:
    return GevalEvidence(Chosen(kept["logprobs"]).p, kept.get("draws"))


class Geval(RatingJudge[Chosen]):
    kind = "geval"
    version = "2"
    options = (RATINGS,)

    def __init__(self, settings: Mapping[str, Any], task: Task, name: str = kind) -> None:
        self._settings = read_settings(GevalSettings, settings, f"judges.{name}")
        super().__init__(name, self._settings, task, "geval.rate", self._settings.max_tokens)

    meanings = {
        "": "The mean of the ratings from 1 (worst) to 5 (best), by their probabilities.",
        ".sampled": "The mean of drawn ratings, from 1 (worst) to 5 (best).",
    }

    @property
    def scorers(self) -> Sequence[str]:
        sampled = [f"{self.name}.sampled"] if self._settings.samples else []
        return [self.name, *sampled]

    async def _ask(
        self, prompts: Sequence[Prompt], texts: Sequence[str], model: Model
    ) -> Sequence[Chosen | Failed]:
        return await model.choose(prompts, RATINGS, self._settings.samples)

    def _read(self, axis: Axis, text: str, reply: Chosen) -> tuple[dict[str, Any], str]:
        evidence = reply.evidence
        if self._settings.samples:
            drawn = Counter(reply.samples)
            evidence["draws"] = {rating: drawn[rating] for rating in RATINGS.names}
        return evidence, ""

    def _values(self, evidence: Mapping[str, Any]) -> Sequence[float]:
        read = read_evidence(evidence)
        return [mean_rating(weights) for weights in (read.p, read.draws) if weights]


def shown_evidence(judged: JudgedCandidate) -> Section:
    read = read_evidence(judged.verdict.evidence)
    about = "How probable the model's next word makes each rating, among the five."
    return ratings_section(about, read.p, read.draws)
