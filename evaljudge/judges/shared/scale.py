"""The scale of graded references: which ratings N levels stand for, and what each is written from.

    ratings(5)    [1, 2, 3, 4, 5]                rounds: [1, 5], [3], [2, 4]
    ratings(9)    [1, 1.5, 2, … 5]               neighbours(2.5): 2 and 3, whatever N is

So a level is the same text for every N that has it: N=3 and N=5 share 1, 3 and 5.

The ratings 1 to 5 are also answers of a model, with a mean by how probable each is:

    .05 .10 .20 .40 .25        Σ p(r)·r = 3.70
"""

from collections.abc import Mapping, Sequence
from math import fsum

from evaljudge.model.asks import Options
from evaljudge.sections import Section, Table
from evaljudge.sections.figures import correlation, count

LOWEST, HIGHEST = 1.0, 5.0


def ratings(levels: int) -> list[float]:
    """What level 1..N stands for: 1 + 4(i−1)/(N−1)."""
    return [LOWEST + (HIGHEST - LOWEST) * i / (levels - 1) for i in range(levels)]


def rounds(wanted: Sequence[float]) -> list[list[float]]:
    """The extremes, the middle, the quarters, the eighths: each needs only those before it."""
    gaps: dict[float, list[float]] = {}
    for rating in wanted:
        gaps.setdefault(_gap(rating), []).append(rating)
    return [gaps[gap] for gap in sorted(gaps, reverse=True)]


def neighbours(rating: float) -> tuple[float, float]:
    """The two levels that an in-between level is written between, whatever N is."""
    return rating - _gap(rating), rating + _gap(rating)


def _gap(rating: float) -> float:
    gap = HIGHEST - LOWEST
    while (rating - LOWEST) % gap:
        gap /= 2
    return gap


def named(rating: float) -> str:
    return f"{rating:g}"


RATINGS = Options(("1", "2", "3", "4", "5"))


def mean_rating(weights: Mapping[str, float]) -> float:
    """Σ w·r / Σ w: of probabilities, or of how often each rating was drawn."""
    total = fsum(weights.values())
    return fsum(float(rating) * weight for rating, weight in weights.items()) / total


def ratings_section(
    about: str, p: Mapping[str, float], draws: Mapping[str, int] | None = None
) -> Section:
    """How probable each rating is, and how often it was drawn, from the best on."""
    heads = ["rating", "probability", *(["draws"] if draws else [])]
    rows = [
        [rating, correlation(p[rating]), *([count(draws[rating])] if draws else [])]
        for rating in reversed(RATINGS.names)
    ]
    title, sides = "The ratings' probabilities", "l" + "r" * len(heads[1:])
    mean = f"The mean rating by these probabilities is {mean_rating(p):.2f}."
    return Section(title, [about], [Table(title, heads, rows, sides)], [mean])
