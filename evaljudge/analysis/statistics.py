"""All that the statistics say of scores and ratings, as a report's rows.

    with_statistics(rated, AgreementConfig(resample="both"), seed=0)
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

ALPHA = 0.05
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
    """How intervals are drawn."""

    resamples: int
    seed: int


def with_statistics(rated: Rated, how: AgreementConfig, seed: int) -> dict[str, Any]:
    """What Findings holds of them; repetitions stand in the score files (and a study) alone."""
    rated = rated.without_repetitions().with_few_axes()
    drawn = Drawn(resamples=how.resamples, seed=seed)
    return {
        "agreement": list(_agreement(rated, how, drawn)),
        "standings": list(_standings(rated, how, seed)),
        "axes": list(_axes(rated, drawn)),
        "ceilings": list(_ceilings(rated, drawn)),
        "labels": [*_alphas(rated, drawn), *_kappas(rated, drawn)],
        "lengths": list(lengths_held_fixed(rated, seed)),
        "replacing": list(replacing_raters(rated, how.alt_test_epsilon)),
        "resampled": how.resample,
    }


def too_few_permutations(rated: Rated, how: AgreementConfig) -> list[str]:
    """A warning, where no p could be small enough for Holm to tell anybody from the best."""
    rivals = max((len(rated.against(human)) for human in rated.human), default=1) - 1
    if how.permutations and rivals / (1 + how.permutations) >= ALPHA:
        return [
            f"{how.permutations:,} permutations can tell none of {rivals} rivals from the best: "
            f"set permutations to {round(2 * rivals / ALPHA):,} or more"
        ]
    return []


def _agreement(rated: Rated, how: AgreementConfig, drawn: Drawn) -> Iterator[Agreement]:
    keys, axes = list(rated.scores), sorted(rated.human)
    columns = [*rated.scores.values(), *(rated.human[human] for human in axes)]
    meeting = [
        (place, len(keys) + number)
        for place, (_, axis) in enumerate(keys)
        for number, human in enumerate(axes)
        if axis in (human, ANY_AXIS)
    ]
    found = comparisons(
        rated.documents, rated.systems, columns, meeting, resample=how.resample, **drawn
    )
    soft = _soft(rated, how, seed=drawn["seed"], meeting=meeting)
    for (place, number), agreed, more in zip(meeting, found, soft, strict=True):
        for one in [*agreed, *more]:
            yield replace(one, scorer=keys[place][0], axis=axes[number - len(keys)])


def _soft(
    rated: Rated, how: AgreementConfig, seed: int, meeting: Sequence[tuple[int, int]]
) -> Sequence[list[Agreement]]:
    """The soft accuracy of each two columns, if permutations are wanted."""
    if not how.permutations:
        return [[] for _ in meeting]
    tested, is_sample = rated.sampled(MOST_TESTED, seed)
    columns = [*tested.scores.values(), *(tested.human[axis] for axis in sorted(tested.human))]
    found = soft_accuracies(
        tested.documents,
        tested.systems,
        columns,
        meeting,
        permutations=how.permutations,
        seed=seed,
    )
    return [[replace(one, sampled=is_sample)] for one in found]


def _standings(rated: Rated, how: AgreementConfig, seed: int) -> Iterator[Standing]:
    tested, is_sample = rated.sampled(MOST_TESTED, seed)
    for human, ratings in sorted(tested.human.items()):
        scores = tested.against(human)
        for level in LEVELS if len(scores) > 1 else ():
            one = against_best(
                tested.documents,
                tested.systems,
                scores,
                ratings,
                level=level,
                coefficient=how.coefficient,
                permutations=how.permutations,
                seed=seed,
                alpha=ALPHA,
            )
            if one is not None:
                rivals = [replace(r, sampled=r.sampled or is_sample) for r in one.rivals]
                yield replace(one, axis=human, rivals=rivals)


def _axes(rated: Rated, drawn: Drawn) -> Iterator[AxisPair]:
    """People's axes among themselves, and those of each scorer that has several."""
    several = {HUMAN: dict(sorted(rated.human.items()))}
    several |= {scorer: rated.axes_of(scorer) for scorer, _ in rated.scores}
    for of, columns in several.items():
        if len(columns) > 1:
            few = dict(islice(columns.items(), MOST_AXES))
            for one in among(rated.documents, rated.systems, few, **drawn):
                yield replace(one, of=of)


def _ceilings(rated: Rated, drawn: Drawn) -> Iterator[Ceiling]:
    for axis in sorted(rated.raters):
        for one in ceiling(rated.documents, rated.systems, rated.table(axis), **drawn):
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
