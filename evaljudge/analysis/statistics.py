"""All that the statistics say of scores and ratings, as a report's rows.

    with_statistics(rated, AgreementConfig(), seed=0)
    -> {"agreement": [Agreement("sample", "spearman", 0.256, …, scorer="rouge1"), …],
        "standings": […], "axes": […], "ceilings": […], "labels": […]}

A scorer's axis meets the human axis of the same name; a scorer without axes meets them all.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any, Literal, TypedDict

import numpy as np

from evaljudge.agreement import (
    LEVELS,
    Agreement,
    AxisPair,
    Ceiling,
    Correlation,
    LabelAgreement,
    Standing,
    against_best,
    among,
    ceiling,
    cohen_kappa,
    comparisons,
    krippendorff_alpha,
    soft_accuracies,
)
from evaljudge.agreement.rated import MOST_AXES, MOST_TESTED, Floats, Rated
from evaljudge.analysis.length import lengths_held_fixed
from evaljudge.analysis.replacing import replacing_raters
from evaljudge.config import AgreementConfig
from evaljudge.records import ANY_AXIS, HUMAN

KAPPAS: dict[str, Literal["linear", "quadratic"] | None] = {
    "kappa": None,
    "kappa_linear": "linear",
    "kappa_quadratic": "quadratic",
}
ALPHAS: dict[str, Literal["nominal", "ordinal", "interval"]] = {
    "alpha_nominal": "nominal",
    "alpha_ordinal": "ordinal",
    "alpha_interval": "interval",
}


class Drawn(TypedDict):
    """How the intervals of labels are drawn."""

    resamples: int
    seed: int


def with_statistics(rated: Rated, how: AgreementConfig, seed: int) -> dict[str, Any]:
    """What Findings holds of them; repetitions stand in the score files (and a study) alone."""
    rated = rated.without_repetitions().with_few_axes()
    drawn = Drawn(resamples=how.resamples, seed=seed)
    return {
        "agreement": list(agreement_of(rated, seed)),
        "standings": list(_standings(rated, how.coefficient, seed)),
        "axes": list(_axes(rated, seed)),
        "ceilings": list(_ceilings(rated, seed)),
        "labels": [*_alphas(rated, drawn), *_kappas(rated, drawn)],
        "lengths": list(lengths_held_fixed(rated, seed)),
        "replacing": list(replacing_raters(rated, how.alt_test_epsilon)),
    }


def agreement_of(rated: Rated, seed: int) -> Iterator[Agreement]:
    keys, axes = list(rated.scores), sorted(rated.human)
    columns = [*rated.scores.values(), *(rated.human[human] for human in axes)]
    meeting = [
        (place, len(keys) + number)
        for place, (_, axis) in enumerate(keys)
        for number, human in enumerate(axes)
        if axis in (human, ANY_AXIS)
    ]
    found = comparisons(rated.documents, rated.systems, columns, meeting, seed=seed)
    soft = _soft(rated, seed, meeting)
    for (place, number), agreed, more in zip(meeting, found, soft, strict=True):
        for one in [*agreed, *more]:
            yield replace(one, scorer=keys[place][0], axis=axes[number - len(keys)])


def _soft(rated: Rated, seed: int, meeting: Sequence[tuple[int, int]]) -> Sequence[list[Agreement]]:
    """The soft accuracy of each two columns."""
    tested, is_sample = rated.sampled(MOST_TESTED, seed)
    columns = [*tested.scores.values(), *(tested.human[axis] for axis in sorted(tested.human))]
    found = soft_accuracies(tested.documents, tested.systems, columns, meeting, seed=seed)
    return [[replace(one, sampled=is_sample)] for one in found]


def _standings(rated: Rated, coefficient: Correlation, seed: int) -> Iterator[Standing]:
    for human, ratings in sorted(rated.human.items()):
        scores = rated.against(human)
        for level in LEVELS if len(scores) > 1 else ():
            found = against_best(
                rated.documents, rated.systems, scores, ratings,
                level=level, coefficient=coefficient, seed=seed,
            )  # fmt: skip
            if found is not None:
                yield replace(found, axis=human)


def _axes(rated: Rated, seed: int) -> Iterator[AxisPair]:
    """People's axes among themselves, and those of each scorer that has several."""
    several = {HUMAN: dict(sorted(rated.human.items()))}
    several |= {scorer: rated.axes_of(scorer) for scorer, _ in rated.scores}
    for of, columns in several.items():
        if len(columns) > 1:
            few = dict(islice(columns.items(), MOST_AXES))
            for one in among(rated.documents, rated.systems, few, seed=seed):
                yield replace(one, of=of)


def _ceilings(rated: Rated, seed: int) -> Iterator[Ceiling]:
    for axis in sorted(rated.raters):
        for one in ceiling(rated.documents, rated.systems, rated.table(axis), seed=seed):
            yield replace(one, axis=axis)


def _alphas(rated: Rated, drawn: Drawn) -> Iterator[LabelAgreement]:
    for axis in sorted(rated.raters):
        for name, metric in ALPHAS.items():
            one = krippendorff_alpha(rated.table(axis), rated.documents, metric=metric, **drawn)
            yield replace(one, of=HUMAN, axis=axis, coefficient=name)


def _kappas(rated: Rated, drawn: Drawn) -> Iterator[LabelAgreement]:
    """Where a scorer gives the labels that people give."""
    for human, ratings in sorted(rated.human.items()):
        for scorer, column in rated.against(human).items():
            if _are_labels(ratings) and _are_labels(column) and _within(column, ratings):
                for name, weights in KAPPAS.items():
                    one = cohen_kappa(column, ratings, rated.documents, weights=weights, **drawn)
                    yield replace(one, of=scorer, axis=human, coefficient=name)


def _are_labels(values: Floats) -> bool:
    present = values[np.isfinite(values)]
    return bool(present.size and np.array_equal(present, np.rint(present)))


def _within(values: Floats, ratings: Floats) -> bool:
    return bool(np.nanmin(values) >= np.nanmin(ratings) and np.nanmax(values) <= np.nanmax(ratings))
