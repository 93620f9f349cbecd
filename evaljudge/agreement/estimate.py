"""What each level hands to the bootstrap: its values, and how they answer to a resample."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from .pairs import Floats

Level = Literal["sample", "system", "summary"]
Coefficient = Literal["spearman", "kendall", "pearson"]
LEVELS: tuple[Level, ...] = ("sample", "system", "summary")
COEFFICIENTS: tuple[Coefficient, ...] = ("spearman", "kendall", "pearson")

# How often each document was drawn, (resamples, documents) -> (coefficients, resamples).
Replicate = Callable[[Floats], Floats]


@dataclass(frozen=True, slots=True)
class Estimate:
    level: Level
    values: Floats  # one per coefficient; NaN where undefined
    units: tuple[int, ...]  # one per coefficient: what is behind the value
    skipped: tuple[int, ...]  # one per coefficient: what was left out
    replicate: Replicate
    sampled: bool = False
