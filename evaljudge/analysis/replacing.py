"""Which judges may take a rater's place, by the raters' own ratings.

replacing_raters(rated, epsilon=0.1)
->  ReplacingRow("direct", "fluency", raters=3, found=Replacing(…), constant=Replacing(…))
    ReplacingRow("rouge1", "fluency", raters=3, reason="not on the raters' scale")

A judge is measured by its distance from ratings, so its numbers must mean what theirs mean. There
is no such declaration, so it is seen from the numbers: nearly all lie among the ratings. A judge
that gives every text the same number is tested beside each, because a constant can pass, and so can
length when it is calibrated: the mean of all ratings or the commonest one, whichever has the
greater advantage. A judge must pass, and where that constant does, its advantage must be above it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from evaljudge.agreement.pairs import Codes
from evaljudge.agreement.rated import Floats, Rated
from evaljudge.decisions.replacing import FEWEST_TEXTS, Replacing, replacing

NEARLY_ALL = 0.9
OFF_SCALE = "not on the raters' scale"
TOO_FEW = f"no rater with {FEWEST_TEXTS} texts that it scored and another rated"


Answer = Literal["yes", "no better than a constant", "no"]
"""May the judge replace a rater?"""


@dataclass(frozen=True, slots=True)
class ReplacingRow:
    scorer: str
    axis: str
    raters: int  # columns of ratings
    texts: int = 0  # which the scorer scored and two raters rated
    documents: int = 0
    found: Replacing | None = None
    constant: Replacing | None = None  # of the same texts, all with the same score
    answer: Answer | None = None
    reason: str = ""  # why nothing is found


def replacing_raters(rated: Rated, epsilon: float) -> Iterator[ReplacingRow]:
    for axis in sorted(rated.raters):
        ratings = rated.table(axis)
        for scorer, scores in rated.against(axis).items():
            yield _row(scorer, axis, scores, ratings, rated, epsilon)


def _row(
    scorer: str, axis: str, scores: Floats, ratings: Floats, rated: Rated, epsilon: float
) -> ReplacingRow:
    raters = int(np.isfinite(ratings).any(axis=0).sum())
    if not _is_on_scale(scores, ratings):
        return ReplacingRow(scorer, axis, raters, reason=OFF_SCALE)
    kept = np.isfinite(scores) & (np.isfinite(ratings).sum(axis=1) > 1)
    found = replacing(scores[kept], ratings[kept], rated.documents[kept], epsilon=epsilon)
    counts = int(kept.sum()), np.unique(rated.documents[kept]).size
    if found is None:
        return ReplacingRow(scorer, axis, raters, *counts, reason=TOO_FEW)
    constant = _constant(ratings[kept], rated.documents[kept], epsilon)
    return ReplacingRow(scorer, axis, raters, *counts, found, constant, _answer(found, constant))


def _answer(found: Replacing, constant: Replacing | None) -> Answer:
    """The lower end of the judge's advantage is what must be above that of a constant."""
    if not found.passes:
        return "no"
    if constant is not None and constant.passes and (found.low or 0.0) <= constant.advantage:
        return "no better than a constant"
    return "yes"


def _constant(ratings: Floats, documents: Codes, epsilon: float) -> Replacing | None:
    values, times = np.unique(ratings[np.isfinite(ratings)], return_counts=True)
    both = np.nanmean(ratings), values[np.argmax(times)]
    tested = [
        replacing(np.full(len(ratings), one), ratings, documents, epsilon=epsilon) for one in both
    ]
    return max(filter(None, tested), key=lambda one: one.advantage, default=None)


def _is_on_scale(scores: Floats, ratings: Floats) -> bool:
    there = scores[np.isfinite(scores)]
    if not there.size or not np.isfinite(ratings).any():
        return False
    among = (there >= np.nanmin(ratings)) & (there <= np.nanmax(ratings))
    return bool(among.mean() >= NEARLY_ALL)
