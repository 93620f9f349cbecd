"""From answers about two texts to a preference, and from preferences to strengths, ranks, scores.

The model says which of two texts is better. When A stood first it answered First with .80 and
Second with .20; when B stood first, .50 and .50. Then

    the log-odds of the first place     ln(.80/.20) = 1.39 with A there, ln(.50/.50) = 0 with B
    the log-odds that A is better       (1.39 − 0) / 2 = 0.69, so a preference of .67 for A
    what the place itself is worth      (1.39 + 0) / 2 = 0.69, which is not counted
"""

from collections.abc import Iterable, Mapping, Sequence
from math import exp, inf, log, log1p, log2
from statistics import fmean

import numpy as np

Pair = tuple[int, int]

SUREST = log(1e9)
"""The log-odds of the surest preference: an answer of probability 1 says no more than 1 − 10⁻⁹."""

# A tenth of a comparison, tied with an anchor of strength 0: without it, a text that certainly wins
# or loses every comparison would have no finite strength.
PRIOR = 0.1

# Newton's method: after a step as small as the last one, the error is below what a float holds.
MOST_STEPS, LAST_STEP = 200, 1e-9


def log_odds(first: float, second: float, tie: float = -inf) -> float:
    """The log-odds that the first text is better, from the answers' log-probabilities; a tie is
    half a win.

    The answers' probabilities together need not be 1.
    """
    top = max(first, second, tie)
    half = exp(tie - top) / 2
    wins, losses = exp(first - top) + half, exp(second - top) + half
    odds = log(wins / losses) if wins and losses else SUREST if wins else -SUREST
    return min(max(odds, -SUREST), SUREST)


def preference(odds: float) -> float:
    return 1 / (1 + exp(-odds))


def log_preference(odds: float) -> float:
    return -log1p(exp(-odds))


def bradley_terry(texts: Sequence[int], known: Mapping[Pair, float]) -> dict[int, float]:
    """Each text's strength: the log-odds that i beats j should be strength i minus strength j.

    `known` has log-odds by (text, text), each pair both ways; what it lacks was not compared. A
    preference p(i, j) of .8 counts as .8 of a win. The strengths s maximise

        Σ over i, j of p(i, j) · ln σ(s_i − s_j)  +  PRIOR · Σ over i of ½ (ln σ(s_i) + ln σ(−s_i))
    """
    wins = np.array(
        [[preference(known[i, j]) if (i, j) in known else 0.0 for j in texts] for i in texts]
    )
    compared = (wins + wins.T > 0).astype(np.float64)
    strengths = np.zeros(len(texts))
    for _ in range(MOST_STEPS):
        # how the sum above curves, with its sign changed, and how it rises
        chances = 1 / (1 + np.exp(strengths[None, :] - strengths[:, None]))
        of_anchor = 1 / (1 + np.exp(-strengths))
        rises = (wins - compared * chances).sum(axis=1) + PRIOR * (0.5 - of_anchor)
        curves = compared * chances * (1 - chances)
        anchored = np.diag(curves.sum(axis=1) + PRIOR * of_anchor * (1 - of_anchor))
        step = np.linalg.solve(anchored - curves, rises)
        widest = float(np.abs(step).max(initial=0.0))
        strengths = strengths + step / (1 + widest)  # so that a wide step does not overshoot
        if widest < LAST_STEP:
            break
    return dict(zip(texts, strengths.tolist(), strict=True))


def ranks(sizes: Iterable[int]) -> list[float]:
    """The rank of each place, from the best on, by how many texts share it: 1, 2, 1 texts have the
    ranks 1, 2.5, 4."""
    places, before = list[float](), 0
    for size in sizes:
        places.append(before + (size + 1) / 2)
        before += size
    return places


def rank_score(rank: float, texts: int) -> float:
    """The share of the other texts that it stands above: 1 for the best, 0 for the worst."""
    return (texts - rank) / (texts - 1)


def doubt(preferences: Iterable[float]) -> float:
    """How undecided comparisons are on average, in bits: 0 is certain, 1 is undecided."""
    return fmean(
        -sum(share * log2(share) for share in (p, 1 - p) if share > 0) for p in preferences
    )
