"""Texts that are all scored and in part rated: what each rating stands for.

Labels are the ratings of texts that are scored, too. They were drawn at random, either alike for
all texts of a system (for all texts, where some system has few labels), or with the probabilities
given: a label drawn with probability 0.1 then stands for ten texts. A rated text without a
probability was not drawn, so it is no label.
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
    """Tables (documents, systems). A cell is one text, or those of a document together."""

    is_scored: Bools
    is_labelled: Bools
    scores: Floats  # 0 where unscored
    labelled_scores: Floats  # of the labelled texts; 0 where not labelled
    ratings: Floats  # 0 where not labelled
    sizes: Floats  # how many texts a cell has
    weights: Floats  # how many texts a label stands for; 0 where not labelled

    @property
    def texts(self) -> Floats:
        """How many each system has."""
        texts: Floats = self.sizes.sum(axis=0)
        return texts

    @property
    def labels(self) -> Floats:
        """How many labelled cells each system has."""
        labels: Floats = self.is_labelled.sum(axis=0, dtype=np.float64)
        return labels

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
            self.labelled_scores[:, systems],
            self.ratings[:, systems],
            self.sizes[:, systems],
            self.weights[:, systems],
        )

    @property
    def is_of_all(self) -> bool:
        """Whether there are labels enough, and no system lacks them that would have some by chance.

        Else the labels say nothing of all texts together.
        """
        expected = self.texts * self.labels.sum() / max(float(self.texts.sum()), 1.0)
        lacking = (self.labels == 0) & (expected >= FEWEST)
        return bool(self.is_labelled.any(axis=1).sum() >= FEWEST and not lacking.any())

    def together(self) -> Labelled:
        """One column: of each document, the means of its texts and of its labels."""
        sizes, weights = self.sizes.sum(axis=1), self.weights.sum(axis=1)

        def mean(values: Floats, by: Floats, total: Floats) -> Floats:
            means: Floats = (by * values).sum(axis=1) / np.where(total > 0, total, 1.0)
            return means[:, None]

        return Labelled(
            np.any(self.is_scored, axis=1, keepdims=True),
            np.any(self.is_labelled, axis=1, keepdims=True),
            mean(self.scores, self.sizes, sizes),
            mean(self.labelled_scores, self.weights, weights),
            mean(self.ratings, self.weights, weights),
            sizes[:, None],
            weights[:, None],
        )


def labelled(scores: Floats, human: Floats, probabilities: Floats | None = None) -> Labelled:
    """From tables (documents, systems), NaN where unscored, unrated or not drawn."""
    is_scored = np.isfinite(scores)
    is_labelled = is_scored & np.isfinite(human)
    if probabilities is None:
        probabilities = np.broadcast_to(_shares(is_labelled, is_scored), scores.shape)
    else:
        is_labelled &= probabilities > 0
    return Labelled(
        is_scored,
        is_labelled,
        np.where(is_scored, scores, 0.0),
        np.where(is_labelled, scores, 0.0),
        np.where(is_labelled, human, 0.0),
        is_scored.astype(np.float64),
        np.where(is_labelled, 1 / np.where(is_labelled, probabilities, 1.0), 0.0),
    )


def _shares(is_labelled: Bools, is_scored: Bools) -> Floats:
    """Of each system's texts those with a label; of all texts, where some system has few labels."""
    labels, texts = is_labelled.sum(axis=0), is_scored.sum(axis=0)
    if np.any((labels < FEWEST) & (texts > 0)):
        labels, texts = labels.sum(keepdims=True), texts.sum(keepdims=True)
    shares: Floats = labels / np.maximum(texts, 1)
    return shares
