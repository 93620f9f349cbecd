"""What each level hands to the bootstrap: its values, and how they answer to a resample."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from .pairs import Floats

Level = Literal["sample", "system", "summary"]
Coefficient = Literal["spearman", "kendall", "pearson", "kendall_c", "accuracy"]
Resampled = Literal["documents", "systems", "both"]
LEVELS: tuple[Level, ...] = ("sample", "system", "summary")
COEFFICIENTS: tuple[Coefficient, ...] = ("spearman", "kendall", "pearson", "kendall_c", "accuracy")


@dataclass(frozen=True, slots=True)
class Draws:
    """How often each document and each system was drawn: 1 throughout where not resampled."""

    documents: Floats  # (resamples, documents)
    systems: Floats  # (resamples, systems)

    def __len__(self) -> int:
        return len(self.documents)


# A candidate weighs what its document and its system were drawn -> (coefficients, resamples).
Replicate = Callable[[Draws], Floats]


@dataclass(frozen=True, slots=True)
class Estimate:
    level: Level
    values: Floats  # one per coefficient; NaN where undefined
    units: tuple[int, ...]  # one per coefficient: what is behind the value
    skipped: tuple[int, ...]  # one per coefficient: what was left out
    epsilon: float  # scaled scores no further apart are tied for `accuracy`
    replicate: Replicate
    sampled: bool = False
