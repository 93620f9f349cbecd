"""Direct scoring: the model is asked for a rating from 1 to 5, and its reply is read.

It is asked with the prompt of G-Eval, steps of evaluation included (steps.py). `steps: false` asks
a short question without steps, and prepares nothing.

    asked on `fluency`                          direct
    "4"  "**4**"  "Rating: 4/5"  "Four."        4
    "I would give it a 4.5."                    4.5
    "Rating: between 3 and 4"                   unscored: more than one rating in the reply: “…”
    "It leaves out 3 facts."                    unscored: no rating in the reply: “…”

The README says which numbers count as a rating.
"""

import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Annotated, Any, TypedDict

from pydantic import Field

from evaljudge.judges.plugin import JudgedCandidate
from evaljudge.judges.shared.asking import quoted
from evaljudge.judges.shared.scale import HIGHEST, LOWEST
from evaljudge.judges.shared.steps import MOST_TOKENS, RatingJudge
from evaljudge.model import Model
from evaljudge.model.asks import Failed, Prompt, Sample, Writing, Written
from evaljudge.prompts import Task
from evaljudge.records import Axis
from evaljudge.sections import Section
from evaljudge.settings import Settings, read_settings


class DirectEvidence(TypedDict):
    reply: str
    rating: float | None


class DirectSettings(Settings):
    steps: bool = True
    steps_tokens: Annotated[int, Field(gt=0)] = MOST_TOKENS
    max_tokens: Annotated[int, Field(gt=0)] = 16
    temperature: Annotated[float, Field(ge=0)] = 0.0


class Direct(RatingJudge[Written]):
    kind = "direct"
    version = "2"

    def __init__(self, settings: Mapping[str, Any], task: Task, name: str = kind) -> None:
        self._settings = chosen = read_settings(DirectSettings, settings, f"judges.{name}")
        self._how = Writing(chosen.max_tokens, chosen.temperature)
        if chosen.steps:
            super().__init__(name, chosen, task, "geval.rate", chosen.steps_tokens)
        else:
            super().__init__(name, chosen, task, "direct.rate", unused=["steps_tokens"])

    meanings = {"": "The rating that the model wrote, from 1 (worst) to 5 (best)."}

    async def _ask(
        self, prompts: Sequence[Prompt], texts: Sequence[str], model: Model
    ) -> Sequence[Written | Failed]:
        return await model.write(prompts, self._how)

    def _read(self, axis: Axis, text: str, reply: Written) -> tuple[dict[str, Any], str]:
        rating = rating_of(reply.samples[0], axis.name, axis.words["axis"])
        if isinstance(rating, Failed):
            return {"reply": reply.text}, rating.reason
        return {"reply": reply.text, "rating": rating}, ""

    def _values(self, evidence: Mapping[str, Any]) -> Sequence[float]:
        return [evidence["rating"]]


def shown_evidence(judged: JudgedCandidate) -> Section:
    evidence = judged.verdict.evidence
    about = f"The model was asked for a rating from 1 to 5. Read as {evidence['rating']:g}."
    return Section("The reply", [about], [], [f"Reply: {evidence['reply']}"])


# the parser: where a number stands as a rating, and what it says

_DIGITS = {"one": 1.0, "two": 2.0, "three": 3.0, "four": 4.0, "five": 5.0}
_NUMBER = rf"(?:(?<![\w.])[-−]?\d+(?:\.\d+)?|\b(?a:{'|'.join(_DIGITS)}))"
_ASIDE = r"(?:\s*\([^()]*\))?"
_SCALE = re.compile(
    rf"\(?(?<![\w.])(?:1|one){_ASIDE}\s*(?:[-–—]|to\b|and\b)\s*(?:5|five)(?!\w|\.\d){_ASIDE}\)?",
    re.IGNORECASE,
)
_LIST = re.compile(r"^[ \t]*1[.)][ \t]+\w", re.MULTILINE)
_LIST_NUMBER = re.compile(r"^[ \t]*\d+[.)][ \t]+", re.MULTILINE)
_OPENING = r"\A[^\w\-−]*(?:-\s+)?"
_LABELS = ("rating", "score", "rate", "grade", "mark", "give", "answer")
_RATING = (  # atomic: a number is read whole, with its range and its scale, or not at all
    rf"(?>(?P<low>{_NUMBER})(?:\s*(?:[-–—,]|to\b|or\b|and\b)\s*(?P<high>{_NUMBER}))?"
    rf"(?:\s*(?:/|out\s+of\b)\s*(?P<scale>{_NUMBER}))?)"
)
_NOT_BEFORE = r"(?!\s*%|[.:,/]\d|-\w|\s*[-–—/]\s*\Z)"
# `3 facts are missing` counts facts
_BEFORE = r"(?=\s*(?:\Z|\n|[^\w\s]|(?:stars?|points?|because|as|since|for|in|on|with)\b))"


def rating_of(reply: Sample, *names: str) -> float | Failed:
    """The one rating that the reply gives, or why there is none; `names` are the axis' names."""
    quote = f"the reply: {quoted(reply.text)}"
    standing = _standing(names).finditer(_bared(reply.text))
    matches = [m for m in standing if reply.finish == "stop" or _is_finished(m)]
    values = {_value(m[end]) for m in matches for end in ("low", "high") if m[end]}
    if not matches:
        return Failed(_why_none(reply, quote))
    if any(m["scale"] and _value(m["scale"]) != HIGHEST for m in matches):
        return Failed(f"a rating on another scale in {quote}")
    if len(values) > 1:
        return Failed(f"more than one rating in {quote}")
    (value,) = values
    return value if LOWEST <= value <= HIGHEST else Failed(f"a rating outside 1 to 5 in {quote}")


def _is_finished(match: re.Match[str]) -> bool:
    """Whether a number in a reply that was cut is certainly whole."""
    whole = match.string.strip() == match.string[match.start("low") : match.end()]
    return whole or re.search(r"\w|\n", match.string[match.end() :]) is not None


def _why_none(reply: Sample, quote: str) -> str:
    if reply.finish == "length":
        return f"cut at the token limit before a rating was given: {quoted(reply.text)}"
    return f"no rating in {quote}" if reply.text.strip() else "the reply was empty"


def _bared(text: str) -> str:
    """The reply without emphasis, mentions of the scale, and the numbers of a list."""
    plain = _SCALE.sub(" ", re.sub(r"[*_`#]", " ", text))
    return _LIST_NUMBER.sub("", plain) if _LIST.search(plain) else plain


@cache
def _standing(names: tuple[str, ...]) -> re.Pattern[str]:
    labels = "|".join(re.escape(label) for label in (*_LABELS, *names))
    before = rf"(?:{_OPENING}|\b(?:{labels})\b[^\d.!?]{{0,60}}?)"
    return re.compile(before + _RATING + _NOT_BEFORE + _BEFORE, re.IGNORECASE)


def _value(number: str) -> float:
    return _DIGITS.get(number.lower()) or float(number.replace("−", "-"))
