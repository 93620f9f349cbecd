"""Each document's correlation on every axis in every trial, and their means under resampling.

{"sampled": [{"fluency": first}, {"fluency": second}]}, 3 documents
-> {"sampled": [[[.5 1 nan]] [[.5 .5 1]]]} (trials, axes, documents), with means .75 and .667
"""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from .bootstrap import replicated
from .coefficients import Correlation
from .levels import group_correlations
from .pairs import Codes, Floats, paired
from .sample import weighted_means

Trial = Mapping[str, ArrayLike]
"""axis -> scores, NaN where unscored; an axis that is not there is unscored."""


def correlations_of(
    documents: Codes,
    systems: Codes,
    methods: Mapping[str, Sequence[Trial]],
    human: Mapping[str, ArrayLike],
    coefficient: Correlation,
) -> dict[str, Floats]:
    """(trials, axes, documents) of each method; documents without any pair are no documents."""
    names, codes = np.unique(documents, return_inverse=True)
    used = np.zeros(names.size, dtype=bool)
    ratings = {axis: np.asarray(column, dtype=np.float64) for axis, column in human.items()}

    def by_document(trial: Trial, axis: str) -> Floats:
        found = np.full(names.size, np.nan)
        if axis in trial:
            scores = np.asarray(trial[axis], dtype=np.float64)
            pairs = paired(codes, systems, scores, ratings[axis])
            present = np.unique(codes[np.isfinite(scores) & np.isfinite(ratings[axis])])
            found[present] = group_correlations(pairs, "sample", coefficient)
            used[present] = True
        return found

    cubes = {
        name: np.array([[by_document(trial, axis) for axis in human] for trial in trials])
        for name, trials in methods.items()
    }
    return {name: cube[:, :, used] for name, cube in cubes.items()}


def means(cube: Floats, weights: Floats) -> Floats:
    """(trials, columns, resamples): of each axis and, where all have one, of the average."""
    trials, axes, documents = cube.shape
    flat = weighted_means(cube.reshape(trials * axes, documents), weights)
    found = flat.reshape(trials, axes, len(weights))
    return np.concatenate([found, found.mean(axis=1, keepdims=True)], axis=1)


def replicates_of(cubes: Sequence[Floats], resamples: int, seed: int) -> Floats:
    """(methods, columns, resamples)"""

    def replicate(draws: Floats) -> Floats:
        return np.stack([means(cube, draws).mean(axis=0) for cube in cubes])

    return replicated(replicate, cubes[0].shape[2], resamples, seed)


def over_trials(cube: Floats) -> Floats:
    """(axes, documents): each document's mean over the trials that have a correlation."""
    trials, axes, documents = cube.shape
    flat = weighted_means(cube.reshape(trials, -1).T, np.ones((1, trials)))
    return flat.reshape(axes, documents)
