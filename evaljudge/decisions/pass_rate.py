"""What share of the texts would people pass, where few are rated?

    passes the threshold       62%
    of good texts pass         90% (sensitivity); of bad ones fail 80% (specificity)
    good, Rogan and Gladen:    (0.62 + 0.80 - 1) / (0.90 + 0.80 - 1) = 60%

A judge that errs passes another share of texts than people do; from its two error rates, estimated
on the labels, follows what people would pass (Rogan and Gladen 1978). The interval holds every
share that agrees with what was counted (Fieller 1954), at Student's t: the share that passes and
both error rates are uncertain, and come from the same documents. Unlike the delta method's interval
it grows without bound where a judge hardly tells good from bad. It is cut at 0 and 1.

Where the labels were drawn from these very texts, the same labels tell more: `corrected` is the
prediction-powered mean (see powered.py) of being good, given whether a text passes. Rogan and
Gladen's divides by sensitivity + specificity - 1, which overshoots its best slope.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import nan, sqrt
from typing import Any

import numpy as np
from scipy import stats

from evaljudge.agreement.rated import Floats
from evaljudge.decisions.labelled import FEWEST, Labelled, labelled
from evaljudge.decisions.powered import LEVEL, NOTHING, UNLIKE, Bounded, powered_together

FEW = f"fewer than {FEWEST} labelled documents, or no labels of some system"
NO_GOOD = f"fewer than {UNLIKE} documents have a labelled text that is good"
NO_BAD = f"fewer than {UNLIKE} documents have a labelled text that is not good"
BLIND = "sensitivity and specificity add up to 1 or less: the judge cannot tell good from bad"


@dataclass(frozen=True, slots=True)
class PassRate:
    """`reason`: why Rogan and Gladen's is undefined, empty where it is not."""

    threshold: float
    good: float  # from which rating on people pass a text
    texts: int
    labels: int
    passing: float  # by the judge, uncorrected
    by_labels: Bounded = NOTHING
    corrected: Bounded = NOTHING
    sensitivity: float | None = None
    specificity: float | None = None
    rogan_gladen: Bounded = NOTHING
    reason: str = ""


def pass_rate(
    scores: Floats,
    human: Floats,
    probabilities: Floats | None = None,
    *,
    threshold: float,
    good: float,
) -> PassRate | None:
    """Of all systems' texts together, from tables (documents, systems).

    None where not a part of the texts, but all or none, is labelled. `probabilities`: as for
    `people_scale`.
    """
    passes = np.where(np.isfinite(scores), scores >= threshold, nan)
    is_good = np.where(np.isfinite(human), human >= good, nan)
    sample = labelled(passes, is_good, probabilities)
    if not sample.is_part:
        return None
    found = PassRate(
        threshold=threshold,
        good=good,
        texts=int(sample.is_scored.sum()),
        labels=int(sample.is_labelled.sum()),
        passing=float(sample.scores.sum() / sample.is_scored.sum()),
        reason=FEW,
    )
    if not sample.is_of_all:
        return found
    errors, mean = _ErrorRates(sample), powered_together(sample)
    by_labels, corrected = (one.intervals()[0] for one in (mean.by_labels, mean.corrected))
    found = replace(found, by_labels=_cut(by_labels), corrected=_cut(corrected))
    return replace(found, reason=errors.reason, **errors.rates())


class _Share:
    """Of some labelled texts, those that are right; and what each document adds to its error."""

    def __init__(self, right: Floats, of: Floats) -> None:
        by_document, weights = right.sum(axis=1), of.sum(axis=1)
        total = float(weights.sum())
        self.documents = int(np.sum(weights > 0))
        self.value = float(by_document.sum()) / total if total else nan
        left = total - weights
        self.influences = np.zeros_like(weights)
        np.divide(by_document - self.value * weights, left, out=self.influences, where=left > 0)


class _ErrorRates:
    def __init__(self, sample: Labelled) -> None:
        weights = sample.weights
        passes, is_good = sample.scores > 0, sample.ratings > 0
        self._sensitivity = _Share(weights * (passes & is_good), weights * is_good)
        self._specificity = _Share(weights * ~(passes | is_good), weights * ~is_good)
        self._passing = _Share(sample.scores, sample.is_scored.astype(np.float64))
        self._documents = int(np.sum(sample.is_labelled.any(axis=1)))
        self._told = self._sensitivity.value + self._specificity.value - 1

    @property
    def reason(self) -> str:
        if self._sensitivity.documents < UNLIKE:
            return NO_GOOD
        if self._specificity.documents < UNLIKE:
            return NO_BAD
        return "" if self._told > 0 else BLIND

    def rates(self) -> dict[str, Any]:
        if self.reason in (NO_GOOD, NO_BAD):
            return {}
        known = {"sensitivity": self._sensitivity.value, "specificity": self._specificity.value}
        return known if self.reason else known | {"rogan_gladen": self._rogan_gladen()}

    def _rogan_gladen(self) -> Bounded:
        """All shares x for which above - x * told is 0 within its error."""
        above = self._passing.value + self._specificity.value - 1
        of_above = self._passing.influences + self._specificity.influences
        of_told = self._sensitivity.influences + self._specificity.influences
        reach = float(stats.t.ppf((1 + LEVEL) / 2, self._documents - 1)) ** 2
        reach *= (self._documents - 1) / self._documents
        two = self._told**2 - reach * float(of_told @ of_told)
        one = above * self._told - reach * float(of_above @ of_told)
        none = above**2 - reach * float(of_above @ of_above)
        within = one**2 - two * none
        low, high = 0.0, 1.0
        if two > 0 and within >= 0:
            low, high = (one - sqrt(within)) / two, (one + sqrt(within)) / two
        return _cut(Bounded(above / self._told, low, high))


def _cut(interval: Bounded) -> Bounded:
    """At 0 and 1."""
    ends = interval.value, interval.low, interval.high
    return Bounded(*(None if end is None else min(max(end, 0.0), 1.0) for end in ends))
