"""A checklist: yes/no questions about a good text, and how probable the model's Yes is to each.

After RocketEval (Wei et al. 2025) and CheckEval (Lee et al. 2025). On `fluency`:

    Is every sentence complete?      .90
    Are all verbs in one tense?      .80        `checklist`: 1 + 4 · their mean, .70  =  3.80
    Is it free of repetitions?       .40        `checklist.fitted`: weights learnt from ratings

With `fitted: true`, rating ≈ c + Σ wᵢ · P(Yes)ᵢ on each axis, by least squares with a ridge, Σ wᵢ².
The documents are divided into folds (agreement/documents.py); a text's weights were fitted on the
other folds, so no document is scored by weights that have seen its own ratings. Where few texts are
rated, the ridge keeps all weights near their mean.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from statistics import fmean
from typing import Annotated, Any, Literal, Self, TypedDict

import numpy as np
from pydantic import Field, model_validator

from evaljudge.agreement.documents import folded
from evaljudge.agreement.pairs import Floats
from evaljudge.judges.protocol import Learnt, Ratings
from evaljudge.judges.shared.asking import ANY_WORDS, check_place, document_texts, fold, scored
from evaljudge.judges.shared.one_question import BriefKey, OneQuestion, Texts
from evaljudge.judges.shared.scale import HIGHEST, LOWEST
from evaljudge.judges.shared.structured import list_of, object_of, parsed, string
from evaljudge.model.asks import Chosen, Failed, Prompt, Writing, Written
from evaljudge.model.counting import cost
from evaljudge.prompts import Task
from evaljudge.records import Axis, Brief, Document, Score, Verdict
from evaljudge.settings import Settings

QUESTIONS, WRITE = "questions", "checklist.write"
LONGEST = 200  # the letters of a question
FOLDS, SEED, RIDGE = 5, 0, 1.0
TOO_FEW = Failed("too few rated documents to fit the questions' weights")
UNFITTED = Failed("its weights are fitted once the whole run is scored")


class QuestionColumns(TypedDict):
    question: str
    logprobs: Mapping[str, float]


class ChecklistEvidence(TypedDict):
    answers: Sequence[QuestionColumns]


class ChecklistColumns(TypedDict):
    questions: Sequence[str]


class ChecklistSettings(Settings):
    written_for: Literal["document", "axis"] = "document"
    most: Annotated[int, Field(ge=1, le=50)] = 10
    max_tokens: Annotated[int, Field(gt=0)] = 512
    fitted: bool = False

    @model_validator(mode="after")
    def _goes_together(self) -> Self:
        if self.fitted and self.written_for == "document":
            raise ValueError("fitted: true goes with `written_for: axis`")
        return self


class Checklist(OneQuestion):
    kind = "checklist"
    version = "1"
    answers = ("Yes", "No")
    shown = ("question",)
    part = QUESTIONS
    keys = ChecklistSettings

    def __init__(self, settings: Mapping[str, Any], task: Task, name: str = kind) -> None:
        super().__init__(settings, task, name)
        chosen: ChecklistSettings = self.settings
        self._shows_document = chosen.written_for == "document"
        self._more = self._nouns | {"most": str(chosen.most)}
        needed = ["source"] if self._shows_document else []
        self._pack.check(WRITE, needed, **ANY_WORDS, **self._more)
        check_place(self._pack, WRITE, "axis", ["one", "other"], **self._more)
        self._schema = object_of({QUESTIONS: list_of(string(LONGEST), chosen.most)})
        self._writing = Writing(chosen.max_tokens, schema=json.dumps(self._schema))
        writing = {"writing": self._pack.hash([WRITE])}
        self._inputs = chosen.model_dump(exclude={"fitted"}) | self._nouns | writing
        self._asking = {k: v for k, v in self._asking.items() if k != "fitted"} | writing

    @property
    def reading(self) -> Mapping[str, Any]:
        return {"fitted": self.settings.fitted}

    @property
    def fitted_to_people(self) -> Sequence[str]:
        return [f"{self.name}.fitted"] if self.settings.fitted else []

    @property
    def estimated(self) -> str:
        return f"each checklist has half of the {self.settings.most} questions that it may have"

    meanings = {
        "": "How probable Yes is, from 1 (no question) to 5 (every question); their mean.",
        ".fitted": "The questions weighted as people's ratings of other documents have it, on the "
                   "scale of the ratings.",
    }  # fmt: skip

    def _to_write(self, document: Document, axis: Axis) -> Prompt:
        texts = document_texts(document, axis)
        shown = texts if self._shows_document else dict.fromkeys(texts)
        return self._pack.render(WRITE, shown, **axis.words, **self._more)

    def _brief(self, key: BriefKey, reply: Written | Failed) -> Brief:
        value = reply if isinstance(reply, Failed) else parsed(reply, self._schema)
        if not isinstance(value, Failed):
            different = dict.fromkeys(map(str.strip, value[QUESTIONS]))
            value = list(filter(fold, different)) or Failed("the checklist is empty")
        if isinstance(value, Failed):
            return Brief(*key, {}, "unscored", value.reason, tokens=cost([reply]))
        return Brief(*key, {QUESTIONS: value}, tokens=cost([reply]))

    def _questions(self, axis: Axis, briefs: Sequence[Brief]) -> Sequence[Texts] | Failed:
        written = self._written(axis, briefs)
        if isinstance(written, Failed):
            return written
        return [{"question": question} for question in written[QUESTIONS]]

    def value(self, reply: Chosen) -> float:
        return reply.p["Yes"]

    def together(self, values: Sequence[float]) -> float:
        return LOWEST + (HIGHEST - LOWEST) * fmean(values)

    def score(self, verdict: Verdict, fitted: float | Failed = UNFITTED) -> list[Score]:
        """`fitted`: the value of the scorer with weights, where there is one."""
        scores = super().score(verdict)
        further = self.scorers[len(scores) :]
        return scores + [scored(verdict, scorer, verdict.axis, fitted) for scorer in further]

    def fit(self, verdicts: Iterable[Verdict], ratings: Callable[[], Ratings]) -> Learnt | None:
        return fit_weights(verdicts, ratings()) if self.settings.fitted else None

    def score_by(self, learnt: Learnt, verdict: Verdict) -> list[Score]:
        asked, yes = answers_of(verdict)
        if not (fit := learnt.get(asked)):
            return self.score(verdict, TOO_FEW)
        fold = fit["fold_of"].get(verdict.doc_id)
        weights = fit["whole"] if fold is None else fit["folds"][fold]
        return self.score(verdict, float(np.dot(weights, [1.0, *yes])))


def answers_of(verdict: Verdict) -> tuple[str, list[float]]:
    """The axis with its questions, and how probable Yes is to each."""
    answers = verdict.evidence.get("answers", ())
    asked = " | ".join([verdict.axis, *(answer["question"] for answer in answers)])
    return asked, [Chosen(answer["logprobs"]).p["Yes"] for answer in answers]


def fit_weights(verdicts: Iterable[Verdict], ratings: Ratings) -> dict[str, Any]:
    """Of each axis with its questions, c and each w: for documents without ratings, and by fold."""
    rated: dict[str, list[tuple[str, list[float], float]]] = {}
    for verdict in verdicts:
        rating = ratings.get((verdict.doc_id, verdict.system), {}).get(verdict.axis)
        if verdict.status == "ok" and rating is not None:
            asked, yes = answers_of(verdict)
            rated.setdefault(asked, []).append((verdict.doc_id, yes, rating))
    return {
        asked: fit
        for asked, rows in sorted(rated.items())
        if (fit := _fit(*zip(*rows, strict=True)))
    }


def _fit(documents: Sequence[str], *numbers: Sequence[Any]) -> dict[str, Any] | None:
    yes, given = map(np.array, numbers)
    divided = folded(np.array(documents, object), given, given, FOLDS, SEED)
    if divided is None:
        return None
    others = [divided.elsewhere(fold) for fold in range(divided.folds)]
    return {
        "whole": ridge(yes, given),
        "folds": [ridge(yes[used], given[used]) for used in others],
        "fold_of": dict(zip(documents, divided.fold[0].tolist(), strict=True)),
    }


def ridge(yes: Floats, ratings: Floats) -> list[float]:
    """c, and the weight of each question."""
    from sklearn.linear_model import Ridge

    fitted = Ridge(RIDGE, positive=True, tol=1e-9).fit(yes, ratings)
    return [float(fitted.intercept_), *fitted.coef_.tolist()]
