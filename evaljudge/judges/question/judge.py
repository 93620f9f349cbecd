"""A question that a configuration asks in its own words, and what each answer is worth.

    judges: {concise: {judge: question, question: Is it brief?, answers: {"Yes": 1, "No": 0}}}

    p(Yes) .9, p(No) .1        .9 · 1 + .1 · 0  =  .90

The probabilities are exact, as those of every judge that offers answers.
"""

import re
from collections.abc import Mapping
from typing import Annotated, Any, TypedDict

from pydantic import AfterValidator, BeforeValidator, Field

from evaljudge.judges.shared.one_question import OneQuestion
from evaljudge.model.asks import Chosen
from evaljudge.prompts import Task
from evaljudge.records import Axis
from evaljudge.settings import Settings, read_settings

_SLOT = re.compile(r"\{\{\s*(.*?)\s*\}\}")


def _worth(given: Any) -> Any:
    """Numbers alone are worth what they say."""
    if not isinstance(given, Mapping | list | tuple):
        raise ValueError("should be a mapping of answers to numbers, or a list of numbers")
    pairs = given.items() if isinstance(given, Mapping) else [(each, each) for each in given]
    if words := [word for word, _ in pairs if isinstance(word, bool)]:
        spelt = ["Yes" if word else "No" for word in words]
        raise ValueError(f'YAML reads {spelt[0]} as {words[0]}: write "{spelt[0]}", in quotes')
    return {str(word): worth for word, worth in pairs}


def _plain(question: str) -> str:
    if {*_SLOT.findall(question)} - {"axis", "description"} or "{{" in _SLOT.sub("", question):
        raise ValueError("is plain text, where only {{ axis }} and {{ description }} are filled in")
    return question


class QuestionSettings(Settings):
    question: Annotated[str, Field(min_length=1), AfterValidator(_plain)] = (
        "How good is it as a whole?"
    )
    answers: Annotated[dict[str, float], BeforeValidator(_worth), Field(min_length=2)] = {
        f"{rating}": rating for rating in range(1, 6)
    }


class OwnAnswerColumns(TypedDict):
    logprobs: Mapping[str, float]


class OwnQuestion(OneQuestion):
    kind = "question"
    version = "1"
    keys = QuestionSettings

    def __init__(self, settings: Mapping[str, Any], task: Task, name: str = kind) -> None:
        wanted = read_settings(QuestionSettings, settings, f"judges.{name}")
        self._worth, self.answers = wanted.answers, tuple(wanted.answers)
        self.each_axis = bool(_SLOT.search(wanted.question))
        super().__init__(settings, task, name)

    @property
    def reading(self) -> Mapping[str, Any]:
        worth = ", ".join(f"{answer} {worth:g}" for answer, worth in self._worth.items())
        return {**super().reading, "worth": worth}

    @property
    def meanings(self) -> Mapping[str, str]:
        worth = self._worth.values()
        ends = f"from {min(worth):g} to {max(worth):g}"
        return {"": f"The mean worth of the answers, by their probabilities, {ends}."}

    def value(self, reply: Chosen) -> float:
        return sum(reply.p[answer] * worth for answer, worth in self._worth.items())

    def _words(self, axis: Axis) -> dict[str, str]:
        words = super()._words(axis)
        question = _SLOT.sub(lambda slot: axis.words[slot[1]], words["question"])
        return words | {"question": question}

    def _own_words(self) -> dict[str, str]:
        *others, last = self.answers
        return super()._own_words() | {"answers": f"{', '.join(others)} or {last}"}
