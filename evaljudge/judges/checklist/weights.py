"""How much each question counts, learnt from people's ratings of other documents.

    P(Yes) of a text's questions   .9  .2  .6        rating 3
    on each axis: rating ≈ c + Σ wᵢ · P(Yes)ᵢ with wᵢ ≥ 0, by least squares with a ridge, Σ wᵢ²

The documents are divided into folds (agreement/folds.py); a text's weights were fitted on the other
folds, and those of a document without ratings on all of them. So no document is scored by weights
that have seen its own ratings. Where few texts are rated, the ridge keeps all near their mean.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from evaljudge.agreement.folds import Rows, folded
from evaljudge.agreement.pairs import Floats
from evaljudge.judges.protocol import Ratings
from evaljudge.model.asks import Chosen, Failed
from evaljudge.records import Score, Verdict

FOLDS, SEED = 5, 0
RIDGE = 1.0
TOO_FEW = Failed("too few rated documents to fit the questions' weights")
OTHER_QUESTIONS = Failed("its questions are not those that the weights were fitted to")


@dataclass(frozen=True, slots=True)
class Linear:
    constant: float
    weights: Sequence[float]


@dataclass(frozen=True, slots=True)
class QuestionWeights:
    """One axis: the weights for unrated documents, and those of each fold."""

    questions: Sequence[str]
    whole: Linear
    folds: Sequence[Linear]
    fold_of: Mapping[str, int]


@dataclass(frozen=True)
class FittedWeights:
    axes: Mapping[str, QuestionWeights]
    scored_by: Callable[[Verdict, float | Failed], list[Score]]

    @property
    def learnt(self) -> dict[str, Any]:
        return {axis: asdict(fit) for axis, fit in sorted(self.axes.items())}

    def score(self, verdict: Verdict) -> list[Score]:
        return self.scored_by(verdict, self._value(verdict))

    def _value(self, verdict: Verdict) -> float | Failed:
        if verdict.axis not in self.axes:
            return TOO_FEW
        fit, (questions, yes) = self.axes[verdict.axis], answers_of(verdict)
        if questions != fit.questions:
            return OTHER_QUESTIONS
        fold = fit.fold_of.get(verdict.doc_id)
        linear = fit.whole if fold is None else fit.folds[fold]
        return linear.constant + float(np.dot(linear.weights, yes))


def answers_of(verdict: Verdict) -> tuple[tuple[str, ...], tuple[float, ...]]:
    """The questions, and how probable Yes is to each."""
    answers = verdict.evidence.get("answers", ())
    yes = tuple(Chosen(answer["logprobs"]).p["Yes"] for answer in answers)
    return tuple(answer["question"] for answer in answers), yes


def fit_weights(
    verdicts: Iterable[Verdict], ratings: Ratings,
    scored_by: Callable[[Verdict, float | Failed], list[Score]],
) -> FittedWeights:  # fmt: skip
    rated: dict[str, list[tuple[Verdict, float]]] = {}
    for verdict in verdicts:
        rating = ratings.get((verdict.doc_id, verdict.system), {}).get(verdict.axis)
        if verdict.status == "ok" and rating is not None:
            rated.setdefault(verdict.axis, []).append((verdict, rating))
    fits = {axis: _fit(rows) for axis, rows in rated.items()}
    return FittedWeights({axis: fit for axis, fit in fits.items() if fit}, scored_by)


def _fit(rated: Sequence[tuple[Verdict, float]]) -> QuestionWeights | None:
    asked = Counter(answers_of(verdict)[0] for verdict, _ in rated)
    ((questions, _),) = asked.most_common(1)
    rows = [(v.doc_id, answers_of(v)[1], r) for v, r in rated if answers_of(v)[0] == questions]
    documents = np.array([doc_id for doc_id, _, _ in rows], dtype=object)
    yes, ratings = np.array([yes for _, yes, _ in rows]), np.array([rating for *_, rating in rows])
    divided = folded(documents, yes.sum(axis=1), ratings, FOLDS, SEED)
    if divided is None:
        return None

    def fitted(used: Rows) -> Linear:
        return ridge(yes[used], ratings[used])

    fold_of = dict(zip(documents.tolist(), divided.fold[0].tolist(), strict=True))
    each = [fitted(divided.elsewhere(fold)) for fold in range(divided.folds)]
    return QuestionWeights(questions, fitted(divided.pairs), each, fold_of)


def ridge(yes: Floats, ratings: Floats) -> Linear:
    from scipy.optimize import nnls

    means, mean = yes.mean(axis=0), ratings.mean()
    count = yes.shape[1]
    rows = np.vstack([yes - means, np.sqrt(RIDGE) * np.eye(count)])
    weights, _ = nnls(rows, np.concatenate([ratings - mean, np.zeros(count)]))
    return Linear(float(mean - means @ weights), weights.tolist())
