"""Systems' means on people's scale, where all texts are scored and few are rated.

    10 of 100 documents rated    labels alone       with all scores    worth
    A                            3.91 [3.52, 4.30]  3.97 [3.69, 4.25]  19.4 labels for 10

A judge's bias cancels, whatever it is, and so does its scale (see powered.py for the method). One
slope serves all systems' means, since few labels tell little of each. Differences between systems
have a slope of their own: what a judge knows of a document, and what it knows of two texts of one
document, are not the same. So a difference is not quite that of the two means.

What share of the texts would people pass? A judge that errs passes another share than people do, so
it is corrected likewise: by the mean of being good, given whether a text passes.

    passes 62%    good, by the ratings alone 57% [41%, 72%]    good, corrected 60% [47%, 73%]
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import isnan, nan

import numpy as np

from evaljudge.agreement.rated import Floats
from evaljudge.agreement.significance import adjusted
from evaljudge.decisions.powered import (
    FEWEST,
    NOTHING,
    Bounded,
    Labelled,
    Powered,
    Terms,
    labelled,
    p_random,
    powered,
    powered_together,
)
from evaljudge.decisions.systems import MOST_SYSTEMS


@dataclass(frozen=True, slots=True)
class SystemOnScale:
    system: str
    texts: int
    labels: int
    judge: float | None  # the mean score of all texts, on the judge's own scale
    by_labels: Bounded  # from the labels alone
    corrected: Bounded
    effective: float | None  # as many labels alone would be as exact


@dataclass(frozen=True, slots=True)
class Difference:
    """How much higher `system` is than `other`."""

    system: str
    other: str
    by_labels: Bounded
    corrected: Bounded
    p: float | None  # for the corrected difference being 0
    p_holm: float | None  # over all pairs


@dataclass(frozen=True, slots=True)
class PeopleScale:
    documents: int
    labelled_documents: int
    texts: int
    labels: int
    systems: Sequence[SystemOnScale]
    differences: Sequence[Difference] = ()
    together_by_labels: Bounded = NOTHING
    together: Bounded = NOTHING  # the mean of all texts
    slope: float | None = None  # what one point of the judge is worth on people's scale
    slope_of_differences: float | None = None
    effective: float | None = None  # as many labels alone would give means as exact
    effective_of_differences: float | None = None
    p_random: float | None = None  # for random labels differing so much in score from all texts
    pass_rates: "Sequence[PassRate]" = ()
    scorer: str = ""
    axis: str = ""
    sampled: bool = False  # a seeded sample of the documents without any rating


def people_scale(
    systems: Sequence[str], scores: Floats, human: Floats, probabilities: Floats | None = None
) -> PeopleScale | None:
    """Means on people's scale, from tables (documents, systems); None unless a part is labelled.

    `probabilities`: with which each text was drawn to be rated; alike within a system where None.
    """
    sample = labelled(scores, human, probabilities)
    if not sample.is_part:
        return None
    is_enough = sample.labels >= FEWEST
    names = [name for name, enough in zip(systems, is_enough, strict=True) if enough]
    rows = {name: _unknown(name, sample, place) for place, name in enumerate(systems)}
    counts = PeopleScale(
        documents=int(np.sum(sample.is_scored.any(axis=1))),
        labelled_documents=int(np.sum(sample.is_labelled.any(axis=1))),
        texts=int(sample.is_scored.sum()),
        labels=int(sample.is_labelled.sum()),
        systems=list(rows.values()),
    )
    if sample.is_of_all:
        whole = powered_together(sample)
        counts = replace(
            counts,
            together=whole.corrected.intervals()[0],
            together_by_labels=whole.by_labels.intervals()[0],
            p_random=p_random(Terms(sample.together())),
        )
    if not names:
        return counts
    terms, identity = Terms(sample.of(is_enough)), np.eye(len(names))
    first, second = np.triu_indices(len(names), 1)
    means = powered(terms, identity, identity)
    is_few = 1 < len(names) <= MOST_SYSTEMS
    centred = identity - 1 / len(names)
    pairs = identity[:, first] - identity[:, second]
    apart = powered(terms, pairs, centred) if is_few else None
    labels = int(terms.labels.sum())
    rows |= {row.system: row for row in _estimated([rows[name] for name in names], means)}
    return replace(
        counts,
        slope=means.slope,
        slope_of_differences=apart.slope if apart else None,
        effective=means.effective(labels),
        effective_of_differences=apart.effective(labels) if apart else None,
        p_random=p_random(terms),
        systems=list(rows.values()),
        differences=_differences(names, apart) if apart else [],
    )


def _unknown(name: str, sample: Labelled, place: int) -> SystemOnScale:
    texts, labels = int(sample.texts[place]), int(sample.labels[place])
    judge = float(sample.scores[:, place].sum()) / texts if texts else None
    return SystemOnScale(name, texts, labels, judge, NOTHING, NOTHING, None)


def _estimated(rows: Sequence[SystemOnScale], means: Powered) -> Iterator[SystemOnScale]:
    by_labels, corrected = means.by_labels, means.corrected
    gained = by_labels.variances / np.where(corrected.variances > 0, corrected.variances, np.nan)
    figures = by_labels.intervals(), corrected.intervals(), gained.tolist()
    for row, alone, both, times in zip(rows, *figures, strict=True):
        effective = None if isnan(times) else row.labels * times
        yield replace(row, by_labels=alone, corrected=both, effective=effective)


def _differences(names: Sequence[str], apart: Powered) -> list[Difference]:
    ps = apart.corrected.ps()
    p_holm = adjusted(dict(enumerate(ps))).values()
    intervals = zip(apart.by_labels.intervals(), apart.corrected.intervals(), strict=True)
    rows = zip(combinations(names, 2), intervals, ps, p_holm, strict=True)
    return [Difference(*pair, *both, p, p_adjusted) for pair, both, p, p_adjusted in rows]


@dataclass(frozen=True, slots=True)
class PassRate:
    """A pass rate, without estimates if too few documents or no text of a system are labelled."""

    threshold: float
    good: float  # the rating from which people pass a text
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
    """The pass rate over the texts of all systems, of tables as for `people_scale`."""
    passes = np.where(np.isfinite(scores), scores >= threshold, nan)
    is_good = np.where(np.isfinite(human), human >= good, nan)
    sample = labelled(passes, is_good, probabilities)
    if not sample.is_part:
        return None
    rate = PassRate(
        threshold=threshold,
        good=good,
        texts=int(sample.is_scored.sum()),
        labels=int(sample.is_labelled.sum()),
        passing=float(sample.scores.sum() / sample.is_scored.sum()),
    )
    if not sample.is_of_all:
        return rate
    mean = powered_together(sample)
    by_labels, corrected = (mean_of.intervals()[0] for mean_of in (mean.by_labels, mean.corrected))
    return replace(rate, by_labels=_cut(by_labels), corrected=_cut(corrected))


def _cut(interval: Bounded) -> Bounded:
    ends = interval.value, interval.low, interval.high
    return Bounded(*(None if end is None else min(max(end, 0.0), 1.0) for end in ends))
