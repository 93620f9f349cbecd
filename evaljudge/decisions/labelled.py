"""Texts that are all scored and in part rated: what each rating stands for.

Labels are the ratings of texts that are scored, too. They were drawn at random, either alike for
all texts of a system, or with the probabilities given: a label drawn with probability 0.1 then
stands for ten texts. A rated text without a probability was not drawn, so it is no label.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evaljudge.agreement.rated import Floats

Bools = NDArray[np.bool_]
FEWEST = 6
"""Labels of a system below which nothing is estimated: their spread is hardly known."""


@dataclass(frozen=True)
class Labelled:
    """Tables (documents, systems)."""

    is_scored: Bools
    is_labelled: Bools
    scores: Floats  # 0 where unscored
    ratings: Floats  # 0 where not labelled
    weights: Floats  # how many texts a label stands for; 0 where not labelled

    @property
    def texts(self) -> Floats:
        """How many each system has."""
        return _counted(self.is_scored)

    @property
    def labels(self) -> Floats:
        """How many each system has."""
        return _counted(self.is_labelled)

    @property
    def is_part(self) -> bool:
        """Whether some of the texts are labelled, not all and not none."""
        return bool(0 < self.is_labelled.sum() < self.is_scored.sum())

    def of(self, systems: Bools) -> Labelled:
        """Of these systems alone."""
        return Labelled(
            self.is_scored[:, systems],
            self.is_labelled[:, systems],
            self.scores[:, systems],
            self.ratings[:, systems],
            self.weights[:, systems],
        )


def _counted(cells: Bools) -> Floats:
    counts: Floats = cells.sum(axis=0, dtype=np.float64)
    return counts


def labelled(scores: Floats, human: Floats, probabilities: Floats | None = None) -> Labelled:
    """From tables (documents, systems), NaN where unscored, unrated or not drawn."""
    is_scored = np.isfinite(scores)
    is_labelled = is_scored & np.isfinite(human)
    if probabilities is None:
        labels, texts = is_labelled.sum(axis=0), is_scored.sum(axis=0)
        probabilities = np.broadcast_to(labels / np.maximum(texts, 1), scores.shape)
    else:
        is_labelled &= probabilities > 0
    return Labelled(
        is_scored,
        is_labelled,
        np.where(is_scored, scores, 0.0),
        np.where(is_labelled, human, 0.0),
        np.where(is_labelled, 1 / np.where(is_labelled, probabilities, 1.0), 0.0),
    )
