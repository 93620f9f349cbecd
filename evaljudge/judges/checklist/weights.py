"""How much each question counts, learnt from people's ratings of other documents.

    P(Yes) of a text's questions   .9  .2  .6        rating 3
    on each axis: rating ≈ c + Σ wᵢ · P(Yes)ᵢ with wᵢ ≥ 0, by least squares with a ridge, Σ wᵢ²

The documents are divided into folds (agreement/documents.py); a text's weights were fitted on the
other folds, and those of a document without ratings on all of them. So no document is scored by
weights that have seen its own ratings. Where few texts are rated, the ridge keeps all near their
mean.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from evaljudge.agreement.documents import folded
from evaljudge.agreement.pairs import Floats
from evaljudge.judges.protocol import Ratings
from evaljudge.model.asks import Chosen, Failed
from evaljudge.records import Score, Verdict

FOLDS, SEED, RIDGE = 5, 0, 1.0
TOO_FEW = Failed("too few rated documents to fit the questions' weights")


@dataclass(frozen=True)
class FittedWeights:
    """`learnt`: of each axis with its questions, c and each w: for documents without ratings, and
    by fold."""

    learnt: Mapping[str, Any]
    score_with: Callable[[Verdict, float | Failed], list[Score]]

    def score(self, verdict: Verdict) -> list[Score]:
        asked, yes = answers_of(verdict)
        if not (fit := self.learnt.get(asked)):
            return self.score_with(verdict, TOO_FEW)
        fold = fit["fold_of"].get(verdict.doc_id)
        weights = fit["whole"] if fold is None else fit["folds"][fold]
        return self.score_with(verdict, float(np.dot(weights, [1.0, *yes])))


def answers_of(verdict: Verdict) -> tuple[str, list[float]]:
    """The axis with its questions, and how probable Yes is to each."""
    answers = verdict.evidence.get("answers", ())
    asked = " | ".join([verdict.axis, *(answer["question"] for answer in answers)])
    return asked, [Chosen(answer["logprobs"]).p["Yes"] for answer in answers]


def fit_weights(
    verdicts: Iterable[Verdict], ratings: Ratings,
    score_with: Callable[[Verdict, float | Failed], list[Score]],
) -> FittedWeights:  # fmt: skip
    rated: dict[str, list[tuple[str, list[float], float]]] = {}
    for verdict in verdicts:
        rating = ratings.get((verdict.doc_id, verdict.system), {}).get(verdict.axis)
        if verdict.status == "ok" and rating is not None:
            asked, yes = answers_of(verdict)
            rated.setdefault(asked, []).append((verdict.doc_id, yes, rating))
    learnt = {
        asked: fit
        for asked, rows in sorted(rated.items())
        if (fit := _fit(*zip(*rows, strict=True)))
    }
    return FittedWeights(learnt, score_with)


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
