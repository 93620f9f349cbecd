"""The ratings 1 to 5 as answers of a model, and their mean by how probable each is.

.05 .10 .20 .40 .25        Σ p(r)·r = 3.70
"""

from __future__ import annotations

from collections.abc import Mapping
from math import fsum

from evaljudge.model.asks import Options

RATINGS = Options(("1", "2", "3", "4", "5"))


def mean_rating(weights: Mapping[str, float]) -> float:
    """Σ w·r / Σ w: of probabilities, or of how often each rating was drawn."""
    return fsum(float(rating) * weight for rating, weight in weights.items()) / fsum(
        weights.values()
    )
