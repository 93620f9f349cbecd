"""How much each question counts, learnt from people's ratings of other documents.

    P(Yes) of a text's questions   .9  .2  .6        rating 3
    on each axis: rating ≈ c + Σ wᵢ · P(Yes)ᵢ with wᵢ ≥ 0, by least squares with a ridge, Σ wᵢ²

The documents are divided into folds (agreement/folds.py); a text's weights were fitted on the other
folds, and those of a document without ratings on all of them. So no document is scored by weights
that have seen its own ratings. Where few texts are rated, the ridge keeps all near their mean.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from evaljudge.agreement.folds import folded
from evaljudge.agreement.pairs import Floats
from evaljudge.judges.protocol import Ratings
from evaljudge.model.asks import Chosen, Failed
from evaljudge.records import Score, Verdict

FOLDS, SEED, RIDGE = 5, 0, 1.0
TOO_FEW = Failed("too few rated documents to fit the questions' weights")
OTHER_QUESTIONS = Failed("its questions are not those that the weights were fitted to")
ScoredBy = Callable[[Verdict, float | Failed], list[Score]]


@dataclass(frozen=True)
class FittedWeights:
    """`learnt`: by axis the `questions`, and c and each w: for unrated documents, and by fold."""

    learnt: Mapping[str, Any]
    scored_by: ScoredBy

    def score(self, verdict: Verdict) -> list[Score]:
        return self.scored_by(verdict, self._value(verdict))

    def _value(self, verdict: Verdict) -> float | Failed:
        if not (fit := self.learnt.get(verdict.axis)):
            return TOO_FEW
        questions, yes = answers_of(verdict)
        if questions != fit["questions"]:
            return OTHER_QUESTIONS
        fold = fit["fold_of"].get(verdict.doc_id)
        return float(np.dot(fit["whole"] if fold is None else fit["folds"][fold], [1.0, *yes]))


def answers_of(verdict: Verdict) -> tuple[list[str], list[float]]:
    """The questions, and how probable Yes is to each."""
    answers = verdict.evidence.get("answers", ())
    yes = [Chosen(answer["logprobs"]).p["Yes"] for answer in answers]
    return [answer["question"] for answer in answers], yes


def fit_weights(
    verdicts: Iterable[Verdict], ratings: Ratings, scored_by: ScoredBy
) -> FittedWeights:
    rated: dict[str, list[tuple[Verdict, float]]] = {}
    for verdict in verdicts:
        rating = ratings.get((verdict.doc_id, verdict.system), {}).get(verdict.axis)
        if verdict.status == "ok" and rating is not None:
            rated.setdefault(verdict.axis, []).append((verdict, rating))
    fits = {axis: _fit(rows) for axis, rows in sorted(rated.items())}
    return FittedWeights({axis: fit for axis, fit in fits.items() if fit}, scored_by)


def _fit(rated: Sequence[tuple[Verdict, float]]) -> dict[str, Any] | None:
    each = [(verdict.doc_id, *answers_of(verdict), rating) for verdict, rating in rated]
    ((asked, _),) = Counter(tuple(questions) for _, questions, *_ in each).most_common(1)
    columns = zip(*(row for row in each if tuple(row[1]) == asked), strict=True)
    documents, _, *numbers = columns
    yes, given = map(np.array, numbers)
    divided = folded(np.array(documents, object), yes.sum(axis=1), given, FOLDS, SEED)
    if divided is None:
        return None
    others = [divided.elsewhere(fold) for fold in range(divided.folds)]
    return {
        "questions": list(asked),
        "whole": ridge(yes, given),
        "folds": [ridge(yes[used], given[used]) for used in others],
        "fold_of": dict(zip(documents, divided.fold[0].tolist(), strict=True)),
    }


def ridge(yes: Floats, ratings: Floats) -> list[float]:
    """c, and the weight of each question."""
    from scipy.optimize import nnls

    means, mean, count = yes.mean(axis=0), ratings.mean(), yes.shape[1]
    rows = np.vstack([yes - means, np.sqrt(RIDGE) * np.eye(count)])
    weights, _ = nnls(rows, np.concatenate([ratings - mean, np.zeros(count)]))
    return [float(mean - means @ weights), *weights.tolist()]
