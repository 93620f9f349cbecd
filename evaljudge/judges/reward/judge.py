"""Reward: the number that a model trained on preferences gives a text as the reply to a request.

The request names the source, the candidate stands where the reply would, and the model's own number
is the score (`rate`). Nothing is written, and no axis is asked about:

    Write the summary for the article below. … <source> … </source>      A flood.      ->  -1.08
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, TypedDict

from evaljudge.judges.shared.one_question import QuestionJudge
from evaljudge.model import Model
from evaljudge.model.asks import Failed, ModelRating, Prompt, Rating
from evaljudge.prompts import Task
from evaljudge.records import ANY_AXIS, Axis, Candidate, Document
from evaljudge.settings import Settings, read_settings


class RewardEvidence(TypedDict):
    reward: float


class RewardSettings(Settings):
    label: str | None = None
    """Of a classifier: the label whose probability is the score."""


class Reward(QuestionJudge[ModelRating]):
    kind = "reward"
    version = "1"

    def __init__(self, settings: Mapping[str, Any], task: Task, name: str = kind) -> None:
        chosen = read_settings(RewardSettings, settings, f"judges.{name}")
        self.rates: Rating = Rating((chosen.label,) if chosen.label else ())
        whole = replace(task, axes=(Axis(ANY_AXIS, "", context=True),))
        super().__init__(name, chosen, whole, "reward.ask", ["source"])

    @property
    def meanings(self) -> Mapping[str, str]:
        if self.rates.labels:
            return {"": f"The probability of the label {self.rates.labels[0]}."}
        return {"": "The model's own number: higher is better, on no scale of ratings."}

    def _words(self, axis: Axis) -> dict[str, str]:
        return self._nouns

    def _text(self, document: Document, candidate: Candidate) -> str:
        return candidate.text.strip()

    async def _ask(
        self, prompts: Sequence[Prompt], texts: Sequence[str], model: Model
    ) -> Sequence[ModelRating | Failed]:
        return await model.rate(prompts, texts, self.rates)

    def _read(self, axis: Axis, text: str, reply: ModelRating) -> tuple[dict[str, Any], str]:
        return {"reward": reply.value}, ""

    def _values(self, evidence: Mapping[str, Any]) -> Sequence[float]:
        return [evidence["reward"]]
