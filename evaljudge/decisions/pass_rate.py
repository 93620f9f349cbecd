"""What share of the texts would people pass, where few are rated?

    passes the threshold         62%
    good, by the ratings alone   57% [41%, 72%]
    good, corrected              60% [47%, 73%]

A judge that errs passes another share of texts than people do. `corrected` is the
prediction-powered mean (see powered.py) of being good, given whether a text passes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import nan

import numpy as np

from evaljudge.agreement.rated import Floats
from evaljudge.decisions.labelled import labelled
from evaljudge.decisions.powered import NOTHING, Bounded, powered_together


@dataclass(frozen=True, slots=True)
class PassRate:
    """Without estimates where fewer than FEWEST documents are labelled, or no text of a system."""

    threshold: float
    good: float  # from which rating on people pass a text
    texts: int
    labels: int
    passing: float  # by the judge, uncorrected
    by_labels: Bounded = NOTHING
    corrected: Bounded = NOTHING


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
    )
    if not sample.is_of_all:
        return found
    mean = powered_together(sample)
    by_labels, corrected = (one.intervals()[0] for one in (mean.by_labels, mean.corrected))
    return replace(found, by_labels=_cut(by_labels), corrected=_cut(corrected))


def _cut(interval: Bounded) -> Bounded:
    """At 0 and 1."""
    ends = interval.value, interval.low, interval.high
    return Bounded(*(None if end is None else min(max(end, 0.0), 1.0) for end in ends))
