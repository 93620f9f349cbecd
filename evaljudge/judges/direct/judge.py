"""Direct scoring: the model is asked for a rating from 1 to 5, and its reply is read.

It is asked with the prompt of G-Eval, steps of evaluation included (steps.py), as in
"Direct-Scoring NLG Evaluators Can Use Pairwise Comparisons Too": the two baselines differ only in
how the answer is read. `steps: false` asks a short question without steps, and prepares nothing.

    asked on `fluency`                          direct
    "4"  "**4**"  "Rating: 4/5"  "Four."        4
    "I would give it a 4.5."                    4.5
    "Rating: between 3 and 4"                   unscored: more than one rating in the reply: “…”
    "It leaves out 3 facts."                    unscored: no rating in the reply: “…”

A number stands as a rating where it opens the reply or follows a word such as `rating`, `score` or
the axis' own name, and no noun follows it. All that stand must agree. `four` reads as `4`, `4/5`
and `4 out of 5` as 4; on another scale (`4/10`) or outside 1..5 it is no rating. A mention of the
scale (`1 to 5`, `(1-5)`) is passed over, and so is the numbering of a list: `1. The summary …` may
be the first of several remarks, which is no reason to give the lowest rating. In a reply cut by its
limit a number at the very end may lack its rest (`Rating: between 3`): it counts only where it is
all that was said.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Annotated, Any

from pydantic import Field, model_validator

from evaljudge.judges.protocol import Judge, Judged, Part
from evaljudge.judges.shared.askable import hurdle
from evaljudge.judges.shared.steps import MOST_TOKENS, RatingBySteps
from evaljudge.model import Model
from evaljudge.model.asks import Failed, Prompt, Sample, Writing, Written
from evaljudge.model.counting import cost
from evaljudge.prompts import Task
from evaljudge.records import Axis, Brief, Candidate, Case, Document, Score, Verdict
from evaljudge.settings import Settings, read_settings

LOWEST, HIGHEST = 1.0, 5.0
MOST_SHOWN = 60
"""Characters of a reply that a reason quotes."""


class DirectSettings(Settings):
    steps: bool = True
    steps_tokens: Annotated[int, Field(gt=0)] = MOST_TOKENS
    max_tokens: Annotated[int, Field(gt=0)] = 16
    temperature: Annotated[float, Field(ge=0)] = 0.0

    @model_validator(mode="after")
    def _goes_together(self) -> DirectSettings:
        if not self.steps and "steps_tokens" in self.model_fields_set:
            raise ValueError("steps_tokens goes with `steps: true`")
        return self


class Direct(Judge):
    kind = "direct"
    version = "2"

    def __init__(self, settings: Mapping[str, Any], task: Task, name: str = kind) -> None:
        self.name = name
        self._settings = read_settings(DirectSettings, settings, f"judges.{name}")
        given, self._axes = self._settings, task.axes
        self._how = Writing(given.max_tokens, given.temperature)
        self._question: RatingBySteps | ShortQuestion = (
            RatingBySteps(self.kind, task, given.steps_tokens)
            if given.steps
            else ShortQuestion(task)
        )

    @property
    def asking(self) -> Mapping[str, Any]:
        unused = set() if self._settings.steps else {"steps_tokens"}
        told = self._settings.model_dump(exclude=unused)
        return told | {"prompts": self._question.prompts}

    @property
    def scorers(self) -> Sequence[str]:
        return [self.name]

    @property
    def axes(self) -> Sequence[str]:
        return [axis.name for axis in self._axes]

    def parts(self) -> list[Part]:
        return self._question.parts()

    async def brief(self, document: Document, known: Sequence[Brief], model: Model) -> list[Brief]:
        return await self._question.brief(document, known, model)

    async def verdicts(self, case: Case, briefs: Sequence[Brief], model: Model) -> Judged:
        pairs = [(axis, candidate) for axis in self._axes for candidate in case.candidates]
        asked = [self._question.prompt(case.document, a, c, briefs) for a, c in pairs]
        prompts = [prompt for prompt in asked if isinstance(prompt, Prompt)]
        replies = iter(await model.write(prompts, self._how))
        verdicts = [
            self._verdict(case, axis, c, next(replies) if isinstance(one, Prompt) else one)
            for (axis, c), one in zip(pairs, asked, strict=True)
        ]
        return Judged(verdicts)

    def _verdict(
        self, case: Case, axis: Axis, candidate: Candidate, reply: Written | Failed
    ) -> Verdict:
        known = (case.document.doc_id, candidate.system, self.name, axis.name)
        tokens = cost([reply])
        if isinstance(reply, Failed):
            return Verdict(*known, {}, "unscored", reply.reason, tokens)
        rating = rating_of(reply.samples[0], axis.name, axis.told["axis"])
        if isinstance(rating, Failed):
            return Verdict(*known, {"reply": reply.text}, "unscored", rating.reason, tokens)
        return Verdict(*known, {"reply": reply.text, "rating": rating}, tokens=tokens)

    def score(self, verdict: Verdict) -> list[Score]:
        value = verdict.evidence["rating"] if verdict.status == "ok" else None
        known = (verdict.doc_id, verdict.system, self.name, verdict.axis)
        return [Score(*known, value, verdict.reason)]


class ShortQuestion:
    """The question without steps; nothing is prepared for it."""

    def __init__(self, task: Task) -> None:
        self._pack = task.pack
        self._pack.check("direct.rate", ["target"], axis="axis", description="what it is")
        self.prompts = {"rating": task.pack.hash(["direct.rate"])}

    def parts(self) -> list[Part]:
        return []

    async def brief(self, document: Document, known: Sequence[Brief], model: Model) -> list[Brief]:
        return []

    def prompt(
        self, document: Document, axis: Axis, candidate: Candidate, briefs: Sequence[Brief]
    ) -> Prompt | Failed:
        if reason := hurdle(document, candidate):
            return Failed(reason)
        context = document.context if axis.context else None
        given = {"source": document.source, "context": context, "target": candidate.text}
        return self._pack.render("direct.rate", given, **axis.told)


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
    """The one rating that the reply gives, or why there is none; `names`: of the axis."""
    said = f"the reply: {_shown(reply.text)}"
    standing = _standing(names).finditer(_bared(reply.text))
    found = [m for m in standing if reply.finish == "stop" or _is_finished(m)]
    values = {_value(m[end]) for m in found for end in ("low", "high") if m[end]}
    if not found:
        return Failed(_why_none(reply, said))
    if any(m["scale"] and _value(m["scale"]) != HIGHEST for m in found):
        return Failed(f"a rating on another scale in {said}")
    if len(values) > 1:
        return Failed(f"more than one rating in {said}")
    (value,) = values
    return value if LOWEST <= value <= HIGHEST else Failed(f"a rating outside 1 to 5 in {said}")


def _is_finished(found: re.Match[str]) -> bool:
    """Whether a number in a reply that was cut is one that the cut cannot have shortened."""
    whole = found.string.strip() == found.string[found.start("low") : found.end()]
    return whole or re.search(r"\w|\n", found.string[found.end() :]) is not None


def _why_none(reply: Sample, said: str) -> str:
    if reply.finish == "length":
        return f"cut at the token limit before a rating was given: {_shown(reply.text)}"
    return f"no rating in {said}" if reply.text.strip() else "the reply was empty"


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


def _shown(text: str) -> str:
    """A reply in one line of a reason, shortened."""
    line = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return f"“{line}”" if len(line) <= MOST_SHOWN else f"“{line[: MOST_SHOWN - 1]}…”"
