"""All that the statistics say of scores and ratings, as a report's rows.

    with_statistics(rated, AgreementConfig(resample="both"), seed=0)
    -> {"agreement": [AgreementRow("rouge1", "relevance", "sample", "spearman", 0.256, …), …],
        "standings": […], "axes": […], "ceilings": […], "labels": […]}

A scorer's axis meets the human axis of the same name; a scorer without axes meets them all.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any, Literal

import numpy as np

from evaljudge.agreement import (
    LEVELS,
    Level,
    Rival,
    against_best,
    agreements,
    among,
    ceiling,
    cohen_kappa,
    krippendorff_alpha,
)
from evaljudge.agreement.rated import AgreementRow, Floats, Rated
from evaljudge.analysis.findings import AxisRow, CeilingRow, LabelRow, RivalRow, StandingRow
from evaljudge.config import AgreementConfig
from evaljudge.records import ANY_AXIS, HUMAN

ALPHA = 0.05
MOST_TESTED = 20_000
"""Rated candidates: of more, a seeded sample of whole documents is tested, and said to be one."""
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


def with_statistics(rated: Rated, how: AgreementConfig, seed: int) -> dict[str, Any]:
    """What Findings holds of them; repetitions stand in the score files (and a study) alone."""
    rated = rated.without_repetitions()
    return {
        "agreement": list(_agreement(rated, how, seed)),
        "standings": list(_standings(rated, how, seed)),
        "axes": list(_axes(rated, how, seed)),
        "ceilings": list(_ceilings(rated, how, seed)),
        "labels": [*_alphas(rated, how, seed), *_kappas(rated, how, seed)],
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


def _agreement(rated: Rated, how: AgreementConfig, seed: int) -> Iterator[AgreementRow]:
    for (scorer, axis), column in rated.scores.items():
        for human, ratings in sorted(rated.human.items()):
            if axis in (human, ANY_AXIS):
                found = agreements(
                    rated.documents,
                    rated.systems,
                    column,
                    ratings,
                    resample=how.resample,
                    resamples=how.resamples,
                    seed=seed,
                )
                yield from (AgreementRow(scorer, human, **asdict(row)) for row in found)


def _standings(rated: Rated, how: AgreementConfig, seed: int) -> Iterator[StandingRow]:
    tested, is_sample = rated.sampled(MOST_TESTED, seed)
    for human in sorted(tested.human):
        scores = tested.against(human)
        if len(scores) > 1:
            for level in LEVELS:
                yield from _standing(tested, scores, human, level, how, seed, is_sample)


def _standing(
    rated: Rated,
    scores: Mapping[str, Floats],
    human: str,
    level: Level,
    how: AgreementConfig,
    seed: int,
    is_sample: bool,
) -> Iterator[StandingRow]:
    found = against_best(
        rated.documents,
        rated.systems,
        scores,
        rated.human[human],
        level=level,
        coefficient=how.coefficient,
        permutations=how.permutations,
        seed=seed,
        alpha=ALPHA,
    )
    if found.best is not None and found.value is not None:
        yield StandingRow(
            axis=human,
            level=level,
            coefficient=found.coefficient,
            best=found.best,
            value=found.value,
            rivals=[_rival(rival, is_sample) for rival in found.rivals],
            indistinguishable=found.indistinguishable,
            undefined=found.undefined,
        )


def _rival(rival: Rival, is_sample: bool) -> RivalRow:
    found = rival.comparison
    return RivalRow(
        scorer=rival.name,
        value=found.second,
        best_value=found.first,
        p=found.p_permutation,
        p_holm=rival.p_holm,
        p_williams=found.p_williams,
        n=found.n,
        sampled=found.sampled or is_sample,
    )


def _axes(rated: Rated, how: AgreementConfig, seed: int) -> Iterator[AxisRow]:
    """People's axes among themselves, and those of each scorer that has several."""
    several = {HUMAN: dict(sorted(rated.human.items()))}
    several |= {scorer: rated.axes_of(scorer) for scorer, _ in rated.scores}
    for of, columns in several.items():
        if len(columns) > 1:
            for row in among(
                rated.documents, rated.systems, columns, resamples=how.resamples, seed=seed
            ):
                yield AxisRow(of, **asdict(row))


def _ceilings(rated: Rated, how: AgreementConfig, seed: int) -> Iterator[CeilingRow]:
    for axis in sorted(rated.raters):
        for row in ceiling(
            rated.documents,
            rated.systems,
            rated.table(axis),
            resamples=how.resamples,
            seed=seed,
        ):
            yield CeilingRow(axis, **asdict(row))


def _alphas(rated: Rated, how: AgreementConfig, seed: int) -> Iterator[LabelRow]:
    for axis in sorted(rated.raters):
        for name, metric in ALPHAS.items():
            found = krippendorff_alpha(
                rated.table(axis),
                rated.documents,
                metric=metric,
                resamples=how.resamples,
                seed=seed,
            )
            yield LabelRow(HUMAN, axis, name, **asdict(found))


def _kappas(rated: Rated, how: AgreementConfig, seed: int) -> Iterator[LabelRow]:
    """Where a scorer gives the labels that people give."""
    for human, ratings in sorted(rated.human.items()):
        for scorer, column in rated.against(human).items():
            if _are_labels(ratings) and _are_labels(column) and _within(column, ratings):
                for name, weights in KAPPAS.items():
                    found = cohen_kappa(
                        column,
                        ratings,
                        rated.documents,
                        weights=weights,
                        resamples=how.resamples,
                        seed=seed,
                    )
                    yield LabelRow(scorer, human, name, **asdict(found))


def _are_labels(values: Floats) -> bool:
    present = values[np.isfinite(values)]
    return bool(present.size and np.array_equal(present, np.rint(present)))


def _within(values: Floats, ratings: Floats) -> bool:
    return bool(np.nanmin(values) >= np.nanmin(ratings) and np.nanmax(values) <= np.nanmax(ratings))
