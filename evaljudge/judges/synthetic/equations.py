"""Other ways to place a candidate by its comparisons with references of known ratings.

Of one candidate's comparisons, (the reference's rating, p(Better), p(Worse), p(Similar)),

    1: .90 .02 .08   2: .80 .05 .15   3: .55 .15 .30   4: .30 .40 .30   5: .05 .75 .20

`ordinal_level` makes 3.61, `bradley_terry_position` 3.60, `scale_coverage` "within", and `entropy`
finds 0.54 bits in the first comparison and 1.57 in the fourth.

All of it is arithmetic on evidence that a judge has already stored: no judge, and no model.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from math import exp, fsum, log, log2
from typing import Literal

LOWEST, MIDDLE, HIGHEST = 1.0, 3.0, 5.0
Comparisons = Sequence[tuple[float, Mapping[str, float]]]
UNDECIDED = {"Better": 1 / 3, "Worse": 1 / 3, "Similar": 1 / 3}
"""The answers of a judge that cannot decide."""

# How far apart two texts must be to be told apart. Two statements fix both numbers: half a level
# above a reference, a text is called Better every second time (so the border of "the same level"
# lies halfway to the next), and a whole level above it three times in four. Then a text of the
# reference's own level is called Similar every second time, and Similar is possible at any
# distance, since TIE is above 0. Steeper curves would trust single comparisons more than noisy
# judges, whose errors against neighbouring references are alike, deserve.
SLOPE = 2 * log(3)
TIE = log(3)

# The levels a candidate can have, all equally likely beforehand: 1, 1.1, … 5.
GRID = tuple(LOWEST + step / 10 for step in range(41))

# What one rating is worth in Bradley and Terry's model: odds of 6, for in the ordinal model a text
# one level up takes 3/4 (Better) and half of 3/14 (Similar) of the wins, which is 6/7.
STRENGTH = log(6)

# A tenth of a comparison, tied with an anchor at the middle: without it, a candidate that wins or
# loses against every reference would have no finite position.
PRIOR = 0.1

# Halvings of an interval some ten ratings wide: more would change nothing that a float can hold.
HALVINGS = 60


def weighted_sum(levels: Comparisons) -> float:
    """The paper's score: Σ r·(p(Better) − p(Worse))."""
    return sum(rating * (p["Better"] - p["Worse"]) for rating, p in levels)


def ideal_sums(levels: Sequence[float]) -> list[float]:
    """What an ideal judge's sum is for a text equal to each level: it beats those below only."""
    return [sum(r for r in levels if r < mine) - sum(r for r in levels if r > mine)
            for mine in levels]  # fmt: skip


def level_of(total: float, levels: Sequence[float]) -> float:
    """The sum on the scale 1..5: piecewise linear through the ideal sums, clamped.

    Not for thresholds: undecided everywhere is sum 0, which lies at 3.86 of five levels.
    """
    sums = ideal_sums(levels)
    if total <= sums[0]:
        return levels[0]
    for (low, high), (below, above) in zip(pairwise(sums), pairwise(levels), strict=True):
        if total <= high:
            return below + (above - below) * (total - low) / (high - low)
    return levels[-1]


def ordinal_level(levels: Comparisons) -> float:
    """The candidate's expected level: the posterior mean over GRID, so always inside 1..5.

    An undecided comparison is evidence too: a text far from the reference would have been told
    apart from it. Undecided against 1..5 is level 3, below any threshold for what is good; against
    a reference at 1 alone, a low one.
    """
    _refuse_none(levels)
    supports = [_log_likelihood(level, levels) for level in GRID]
    best = max(supports)
    weights = [exp(support - best) for support in supports]
    return fsum(w * level for w, level in zip(weights, GRID, strict=True)) / fsum(weights)


def answer_chances(distance: float) -> dict[str, float]:
    """How likely each answer is for a text this many levels above the reference.

    `0 ↦ Better ¼, Worse ¼, Similar ½`. With odds = e^(SLOPE·distance) and edge = e^TIE these are
    σ(SLOPE·d − TIE), σ(−SLOPE·d − TIE) and the rest, written so that the rest is never a
    difference of nearly equal numbers.
    """
    odds, edge = exp(SLOPE * distance), exp(TIE)
    above, below = odds + edge, 1 + odds * edge
    similar = (edge**2 - 1) * odds / (above * below)
    return {"Better": odds / above, "Worse": 1 / below, "Similar": similar}


def _log_likelihood(level: float, levels: Comparisons) -> float:
    return fsum(
        p[answer] * log(chance)
        for rating, p in levels
        for answer, chance in answer_chances(level - rating).items()
    )


def bradley_terry_position(levels: Comparisons) -> float:
    """Where among the references' ratings the candidate's wins put it; a tie is half a win.

    Not clamped to 1..5: a text that beats even the best reference stands above 5 (6.75 when it is
    certainly Better than all of 1..5), and two such texts keep their order, which clamping would
    make a tie. PRIOR keeps it finite.
    """
    _refuse_none(levels)
    widest = max(abs(rating - MIDDLE) for rating, _ in levels)
    # Beyond the outermost anchor by this much, the prior outweighs even unanimous comparisons.
    reach = widest + log(2 * (len(levels) + PRIOR) / PRIOR) / STRENGTH
    low, high = MIDDLE - reach, MIDDLE + reach
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if _wins_left(middle, levels) > 0 else (low, middle)
    return (low + high) / 2


def _wins_left(position: float, levels: Comparisons) -> float:
    """The log-likelihood's slope: wins had less wins expected here; falls as position rises."""
    had = [p["Better"] + p["Similar"] / 2 for _, p in levels]
    expected = [-_win_chance(position - rating) for rating, _ in levels]
    return fsum([*had, *expected, PRIOR / 2, -PRIOR * _win_chance(position - MIDDLE)])


def _win_chance(distance: float) -> float:
    return 1 / (1 + exp(-STRENGTH * distance))


def scale_coverage(levels: Comparisons) -> Literal["below", "within", "above"]:
    """Whether the references enclose the candidate, or it lost, or won, against every one.

    To be exactly as likely Better as Worse is to be level with a reference: within.
    """
    _refuse_none(levels)
    if all(p["Worse"] > p["Better"] for _, p in levels):
        return "below"
    if all(p["Better"] > p["Worse"] for _, p in levels):
        return "above"
    return "within"


def entropy(p: Mapping[str, float]) -> float:
    """How undecided one comparison is, in bits: `¼ ¼ ½ ↦ 1.5`; 0 when certain."""
    return 0.0 - fsum(share * log2(share) for share in p.values() if share > 0)


def _refuse_none(levels: Comparisons) -> None:
    if not levels:
        raise ValueError("there is no comparison to place the candidate by")
