"""The ratings 1 to 5 as answers of a model, and their mean by how probable each is.

.05 .10 .20 .40 .25        Σ p(r)·r = 3.70
"""

from __future__ import annotations

from collections.abc import Mapping
from math import fsum

from evaljudge.model.asks import Options
from evaljudge.sections import Table
from evaljudge.sections.figures import correlation, count

RATINGS = Options(("1", "2", "3", "4", "5"))


def mean_rating(weights: Mapping[str, float]) -> float:
    """Σ w·r / Σ w: of probabilities, or of how often each rating was drawn."""
    return fsum(float(rating) * weight for rating, weight in weights.items()) / fsum(
        weights.values()
    )


def ratings_table(p: Mapping[str, float], draws: Mapping[str, int] | None = None) -> Table:
    """How probable each rating is, and how often it was drawn, from the best on."""
    heads = ["rating", "probability", *(["draws"] if draws else [])]
    rows = [
        [rating, correlation(p[rating]), *([count(draws[rating])] if draws else [])]
        for rating in reversed(RATINGS.names)
    ]
    return Table("The ratings' probabilities", heads, rows, "l" + "r" * len(heads[1:]))
