"""Where a candidate stands by its comparisons with references of known ratings.

Of one candidate's comparisons, (the reference's rating, p(Better), p(Worse), p(Similar)),

    1: .90 .02 .08   2: .80 .05 .15   3: .55 .15 .30   4: .30 .40 .30   5: .05 .75 .20

the paper's `weighted_sum` makes -0.32, and `level_of_sum` places that at 3.81 on the scale 1..5;
`ordinal_level` makes 3.61, `bradley_terry_position` 3.60, `scale_coverage` 0 (within), `entropies`
finds 0.54 bits in the first comparison and 1.57 in the fourth, and `doubt` is 0.68.

All of it is arithmetic on evidence that a judge has already stored: no judge, and no model. It
takes many texts at once, since a run has millions.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import exp, log, log2

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
LOWEST, MIDDLE, HIGHEST = 1.0, 3.0, 5.0
UNDECIDED = {"Better": 1 / 3, "Worse": 1 / 3, "Similar": 1 / 3}
"""The answers of a judge that cannot decide."""

# How far apart two texts must be for a judge to see a difference. Two statements fix both numbers:
# half a level above a reference, a text is called Better every second time (so the border of "the
# same level" lies halfway to the next), and a whole level above it three times in four. Then a text
# of the reference's own level is called Similar every second time, and Similar is possible at any
# distance, since TIE is above 0. Steeper curves would trust single comparisons more than noisy
# judges, whose errors against neighbouring references are alike, deserve.
SLOPE = 2 * log(3)
TIE = log(3)

# The levels a candidate can have, all equally likely beforehand: 1, 1.1, … 5.
GRID: Floats = LOWEST + np.arange(41) / 10

# What one rating is worth in Bradley and Terry's model: odds of 6, for in the ordinal model a text
# one level up takes 3/4 (Better) and half of 3/14 (Similar) of the wins, which is 6/7.
STRENGTH = log(6)

# A tenth of a comparison, tied with an anchor at the middle: without it, a candidate that wins or
# loses against every reference would have no finite position.
PRIOR = 0.1

# Each halves the interval in which a position lies; after these it is narrower than a float holds.
HALVINGS = 60


@dataclass(frozen=True)
class ComparedTexts:
    """Texts compared with references of the same ratings: p has an axis each for the texts, the
    references, and the answers Better, Worse and Similar."""

    ratings: tuple[float, ...]
    p: Floats


def weighted_sum(texts: ComparedTexts) -> Floats:
    """The paper's score: Σ r·(p(Better) − p(Worse))."""
    total = np.zeros(len(texts.p))
    for at, rating in enumerate(texts.ratings):
        total += rating * (texts.p[:, at, 0] - texts.p[:, at, 1])
    return total


def ideal_sums(levels: Sequence[float]) -> list[float]:
    """What an ideal judge's sum is for a text equal to each level: it beats those below only."""
    return [sum(r for r in levels if r < mine) - sum(r for r in levels if r > mine)
            for mine in levels]  # fmt: skip


def level_of_sum(texts: ComparedTexts) -> Floats:
    """Sums on the scale 1..5: piecewise linear through the ideal sums, clamped.

    Not for thresholds: undecided everywhere is sum 0, which lies at 3.86 of five levels.
    """
    return np.interp(weighted_sum(texts), ideal_sums(texts.ratings), texts.ratings)


def ordinal_level(texts: ComparedTexts) -> Floats:
    """Each text's expected level: the posterior mean over GRID, so always inside 1..5.

    An undecided comparison is evidence too: a text far from the reference would have been called
    Better or Worse. Undecided against 1..5 is level 3, below any threshold for what is good;
    against a reference at 1 alone, a low one.
    """
    support = np.zeros((len(texts.p), len(GRID)))
    for at, rating in enumerate(texts.ratings):
        for answer, chances in enumerate(_log_chances(rating)):
            support += texts.p[:, at, answer, None] * chances
    weights = np.exp(support - support.max(axis=1, keepdims=True))
    levels: Floats = (weights * GRID).sum(axis=1) / weights.sum(axis=1)
    return levels


def answer_chances(distance: Floats | float) -> tuple[Floats, Floats, Floats]:
    """How likely Better, Worse and Similar are for a text this many levels above the reference.

    `0 ↦ Better ¼, Worse ¼, Similar ½`. With odds = e^(SLOPE·distance) and edge = e^TIE these are
    σ(SLOPE·d − TIE), σ(−SLOPE·d − TIE) and the rest, written so that the rest is never a
    difference of nearly equal numbers.
    """
    odds, edge = np.exp(SLOPE * np.asarray(distance)), exp(TIE)
    above, below = odds + edge, 1 + odds * edge
    return odds / above, 1 / below, (edge**2 - 1) * odds / (above * below)


@lru_cache(maxsize=64)
def _log_chances(rating: float) -> Floats:
    """Log-probabilities of the answers against this rating, for a text at each level of GRID."""
    chances: Floats = np.log(np.stack(answer_chances(GRID - rating)))
    return chances


def bradley_terry_position(texts: ComparedTexts) -> Floats:
    """Where among the references' ratings each text's wins put it; a tie is half a win.

    Not clamped to 1..5: a text that beats even the best reference stands above 5 (6.75 when it is
    certainly Better than all of 1..5), and two such texts keep their order, which clamping would
    make a tie. PRIOR keeps it finite.
    """
    wins = (texts.p[:, :, 0] + texts.p[:, :, 2] / 2).sum(axis=1) + PRIOR / 2
    widest = max(abs(rating - MIDDLE) for rating in texts.ratings)
    # Beyond the outermost anchor by this much, the prior outweighs even unanimous comparisons.
    reach = widest + log(2 * (len(texts.ratings) + PRIOR) / PRIOR) / STRENGTH
    position, step = np.full(len(wins), MIDDLE), reach
    anchors = np.array([MIDDLE, *texts.ratings])
    weights = np.array([PRIOR, *(1.0 for _ in texts.ratings)])
    for _ in range(HALVINGS):
        step /= 2
        chances = 1 / (1 + np.exp(STRENGTH * (anchors - position[:, None])))
        position += np.where(wins > (weights * chances).sum(axis=1), step, -step)
    return position


def doubt(texts: ComparedTexts) -> Floats:
    """How undecided each text's comparisons are on average, from 0 to 1: the mean entropy as a
    share of the greatest, that of UNDECIDED."""
    entropy = entropies(texts.p.reshape(-1, texts.p.shape[2])).reshape(texts.p.shape[:2])
    mean: Floats = entropy.mean(axis=1) / log2(len(UNDECIDED))
    return mean


def scale_coverage(p: Floats) -> NDArray[np.int64]:
    """0 where the references enclose a text, -1 where it lost to every one, and 1 where it won
    against every one; `p` as in `ComparedTexts`.

    To be exactly as likely Better as Worse is to be level with a reference: within.
    """
    above = p[:, :, 0] - p[:, :, 1]
    covered: NDArray[np.int64] = (above > 0).all(axis=1).astype(int) - (above < 0).all(axis=1)
    return covered


def entropies(p: Floats) -> Floats:
    """How undecided each row's comparison is, in bits: `¼ ¼ ½ ↦ 1.5`; 0 when certain."""
    logs = np.log2(p, out=np.zeros_like(p), where=p > 0)
    result: Floats = 0.0 - (p * logs).sum(axis=1)
    return result
