"""Which references need not be asked about, because of what was answered about others.

References get better from level to level, so the answers so far bound p(Better) − p(Worse) against
each further reference:

    asked: 3 → Better .99, Similar .01       known then: 1 and 2 within .99 … 1,
                                             4 and 5 anywhere within −1 … .99
    asked: 4 → Similar .97, Better .03       known then: 5 within −1 … −.94

What is not asked is inferred, in the middle of its bounds, and marked as `inferred`.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from evaljudge.judges.synthetic.equations import MIDDLE
from evaljudge.judges.synthetic.evidence import Answers, answers_of

WHOLE = 1.0  # levels between references that differ for any judge that can use them


def bounds(rating: float, asked: Mapping[float, Answers]) -> tuple[float, float]:
    """Bounds of p(Better) − p(Worse) against the reference of this rating."""
    low, high = -1.0, 1.0
    for other, p in asked.items():
        if other <= rating:
            high = min(high, p["Better"] - p["Worse"])
        if other >= rating:
            low = max(low, p["Better"] - p["Worse"])
        if other <= rating - WHOLE:
            high = min(high, 2 * p["Better"] - 1)
        if other >= rating + WHOLE:
            low = max(low, 1 - 2 * p["Worse"])
    return min(low, high), max(low, high)  # answers that contradict each other leave that open


def next_rating(
    ratings: Sequence[float], asked: Mapping[float, Answers], certainty: float
) -> float | None:
    """The reference to ask about next: the middle one of those about which least is known."""
    if not asked:
        return ratings[len(ratings) // 2]
    open_bounds = {rating: bounds(rating, asked) for rating in ratings if rating not in asked}
    widths = {rating: high - low for rating, (low, high) in open_bounds.items()}
    widest = max(widths.values(), default=0.0)
    if widest <= 2 * (1 - certainty):
        return None
    widest_ones = [rating for rating, width in widths.items() if width >= widest - 1e-9]
    in_middle = widest_ones[(len(widest_ones) - 1) // 2 : len(widest_ones) // 2 + 1]
    return min(in_middle, key=lambda rating: abs(rating - MIDDLE))


def with_inferred(
    ratings: Sequence[float], levels: Mapping[float, Mapping[str, Any]]
) -> list[Mapping[str, Any]]:
    """The evidence on all references, from the evidence on those asked about."""
    if all(rating in levels for rating in ratings):
        return [levels[rating] for rating in ratings]
    asked = dict(zip(levels, answers_of(levels.values()), strict=True))
    return [levels.get(rating) or _inferred(rating, asked) for rating in ratings]


def _inferred(rating: float, asked: Mapping[float, Answers]) -> dict[str, Any]:
    """Between two references that were asked about, as far on the way as the rating is."""
    low, high = bounds(rating, asked)
    below, above = (
        max((upper for upper in asked if upper < rating), default=None),
        min((upper for upper in asked if upper > rating), default=None),
    )
    similar, net = 0.0, (low + high) / 2
    if below is not None and above is not None:
        way = (rating - below) / (above - below)
        lower, upper = asked[below], asked[above]
        similar = (1 - way) * lower["Similar"] + way * upper["Similar"]
        between = (1 - way) * (lower["Better"] - lower["Worse"])
        between += way * (upper["Better"] - upper["Worse"])
        net = min(max(between, low), high)
    similar = min(similar, 1 - abs(net))
    better, worse = (1 - similar + net) / 2, (1 - similar - net) / 2
    p = {"Better": better, "Worse": worse, "Similar": similar}
    return {"rating": rating, "p": p, "inferred": [low, high]}
