"""Several scorers made into one, candidate by candidate: a jury's verdict.

    combine: {jury: {of: [qwen, gemma, phi], by: median}}

mean        4, 4, 1  ->  3
median      4, 4, 1  ->  4
majority    4, 4, 1  ->  4    of values rounded to whole numbers, halves up; of several with
                              equally many votes, their mean
agreement   the mean weighted by each scorer's agreement with people; negative agreement counts as 0

Nothing is standardised, as in a mix: the scorers should have one scale. A candidate that one of
them left unscored is unscored.

Weights by agreement are Spearman's correlation with people over all rated texts, on each axis. They
are fitted once all shards are scored, in folds of whole documents, so that no document's score
rests on its own ratings; a document that nobody rated has the weights of all that are rated. Where
no scorer agrees with people, or nobody rated, all count alike, and the report warns.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property, partial
from math import floor
from statistics import fmean, median, multimode
from typing import Self

import numpy as np

import evaljudge
from evaljudge.agreement.coefficients import spearmans
from evaljudge.agreement.documents import Rows, folded
from evaljudge.agreement.rated import Floats, Key, Rated
from evaljudge.analysis.mixes import VERSION, Mix, check_axes, check_new_name, mixed
from evaljudge.analysis.scoring import Further
from evaljudge.config import CombineConfig, Rule
from evaljudge.corpora.files import BY_AGREEMENT
from evaljudge.errors import UserError, unknown
from evaljudge.records import ANY_AXIS, Score

FILE = "report/combined.json"
FOLDS = 5
_MEANINGS: dict[Rule, str] = {
    "mean": "The mean",
    "median": "The median",
    "majority": "The majority vote",
    "agreement": "The mean, weighted by agreement with people,",
}


@dataclass(frozen=True, slots=True)
class Combination(Mix):
    by: Rule = "mean"

    @property
    def of_scorers(self) -> list[str]:
        return [scorer for scorer, _ in self.parts]

    @property
    def is_fitted(self) -> bool:
        """Whether its scores rest on people's ratings."""
        return self.by == "agreement"

    def without(self, scorer: str) -> Self:
        return replace(self, parts=tuple(part for part in self.parts if part[0] != scorer))

    @property
    def meaning(self) -> str:
        *others, last = self.of_scorers
        names = f"{', '.join(others)} and {last}"
        return f"{_MEANINGS[self.by]} of {names}."

    def signature(self, name: str) -> str:
        made = f"{self.by} of {', '.join(self.of_scorers)}"
        return f"{name}@{VERSION} | {made} | evaljudge {evaljudge.__version__}"

    def of_values(self, values: Iterable[float]) -> float:
        if self.by == "median":
            return median(values)
        return majority(values) if self.by == "majority" else fmean(values)


def majority(values: Iterable[float]) -> float:
    return fmean(multimode(floor(value + 0.5) for value in values))


def combinations_of(
    configured: Mapping[str, CombineConfig], axes: Mapping[str, Sequence[str]]
) -> dict[str, Combination]:
    made = {}
    for name, option in configured.items():
        where = f"combine.{name}:"
        check_new_name(name, axes, where)
        for scorer in option.of:
            if scorer not in axes:
                raise UserError(f"{where} {unknown('scorer', scorer, axes)}")
        made[name] = Combination(tuple((scorer, 1.0) for scorer in option.of), option.by)
        check_axes(made[name], axes, where.removesuffix(":"))
        if made[name].is_fitted and made[name].axes(axes) == [ANY_AXIS]:
            raise UserError(f"{where} `by: agreement` needs a scorer with axes")
    return made


@dataclass(frozen=True)
class Weights:
    """How much each scorer counts in a combination on one axis; together 1."""

    scorer: str
    axis: str
    of: Sequence[str]
    whole: Sequence[float]  # fitted on all documents that are rated, for those that are not
    folds: Sequence[Sequence[float]]
    """The weights of each fold, fitted on the documents of the other folds."""
    fold_of: Mapping[str, int]
    documents: int  # the number of documents that the weights were fitted on
    doubt: str  # why all count alike; empty where they do not

    @cached_property
    def signature(self) -> str:
        weights = " + ".join(f"{w:.3f}*{name}" for name, w in zip(self.of, self.whole, strict=True))
        return (
            f"{self.scorer}@{VERSION}{BY_AGREEMENT}{weights} | {len(self.folds)} folds "
            f"by document | {self.documents} documents | evaljudge {evaljudge.__version__}"
        )

    def mix(self, doc_id: str, left_out: str = "") -> Mix:
        """What a document's scores are mixed with; `left_out`: the others' weights add up to 1."""
        fold = self.fold_of.get(doc_id)
        weights = self.whole if fold is None else self.folds[fold]
        parts = [(n, w) for n, w in zip(self.of, weights, strict=True) if n != left_out]
        total = sum(weight for _, weight in parts)
        alike = 1 / len(parts)
        return Mix(tuple((name, weight / total if total else alike) for name, weight in parts))


def weigh_shards(
    wanted: Mapping[str, Combination],
    axes: Mapping[str, Sequence[str]],
    seed: int,
    further: Further,
) -> tuple[dict[Key, Weights], list[str]]:
    """Adds the scores of combinations by agreement to the score files and to the tables; gives the
    weights, and warnings."""
    rated = further.tables.as_rated()
    weights = {
        (name, axis): weights_of(name, combination, axis, rated, seed)
        for name, combination in wanted.items()
        for axis in axes[name]
    }
    rows = {key: asdict(w) for key, w in weights.items()}
    further.add(FILE, rows, partial(_weighted, list(weights.values())))
    warnings = [
        f"{scorer} on {axis}: all scorers count alike: {w.doubt}"
        for (scorer, axis), w in weights.items()
        if w.doubt
    ]
    return weights, warnings


def _weighted(weights: Collection[Weights], scores: Sequence[Score]) -> Iterator[Score]:
    by_key = {(s.doc_id, s.system, s.scorer, s.axis): s for s in scores}
    for doc_id, system in dict.fromkeys((score.doc_id, score.system) for score in scores):
        for w in weights:
            value, reason = mixed(w.mix(doc_id), by_key, (doc_id, system), w.axis)
            yield Score(doc_id, system, w.scorer, w.axis, value, reason, w.signature)


def columns_of(combination: Mix, axis: str, rated: Rated) -> dict[str, Floats]:
    """The scores of its parts on an axis; a part without axes has one column for all."""
    return {
        scorer: rated.scores.get((scorer, axis), rated.scores.get((scorer, ANY_AXIS), np.empty(0)))
        for scorer, _ in combination.parts
    }


def weights_of(name: str, combination: Combination, axis: str, rated: Rated, seed: int) -> Weights:
    documents, scorers = rated.doc_ids, combination.of_scorers
    alike = tuple(1 / len(scorers) for _ in scorers)
    nothing = Weights(name, axis, scorers, alike, (), {}, 0, "nobody rated this axis")
    if axis not in rated.human:
        return nothing
    columns = columns_of(combination, axis, rated)
    rows, human = np.stack([columns[scorer] for scorer in scorers]), rated.human[axis]
    divided = folded(documents, rows.sum(axis=0), human, FOLDS, seed)
    if divided is None:
        return replace(nothing, doubt="fewer than 2 documents have all scores and a rating")

    def fitted(used: Rows) -> tuple[float, ...]:
        agreed = spearmans(rows[:, used], human[None, used])
        positive = np.clip(np.nan_to_num(agreed), 0, None)
        total = float(positive.sum())
        return tuple((positive / total).tolist()) if total else alike

    with_pair = divided.fold[0] >= 0
    fold_of = dict(zip(documents[with_pair], divided.fold[0, with_pair].tolist(), strict=True))
    whole = fitted(divided.pairs)
    return Weights(
        name,
        axis,
        scorers,
        whole,
        [fitted(divided.elsewhere(fold)) for fold in range(divided.folds)],
        fold_of,
        divided.documents,
        "none agrees with people" if whole is alike else "",
    )


def on_rated(
    combination: Combination, weights: Weights | None, axis: str, rated: Rated, left_out: str = ""
) -> Floats:
    """The combined score of each rated candidate; `weights`: of one by agreement."""
    columns = columns_of(combination, axis, rated)
    if weights is None:
        return (combination.without(left_out) if left_out else combination).of(columns)
    combined = np.full(rated.documents.size, np.nan)
    fold_of = np.array([weights.fold_of.get(doc_id, -1) for doc_id, _ in rated.texts])
    for fold, first in zip(*np.unique(fold_of, return_index=True), strict=True):
        rows = fold_of == fold
        parts = {name: column[rows] for name, column in columns.items()}
        combined[rows] = weights.mix(rated.texts[first][0], left_out).of(parts)
    return combined
