"""Systems' means on people's scale, where all texts are scored and few are rated.

    10 of 100 documents rated    labels alone       with all scores    worth
    A                            3.91 [3.52, 4.30]  3.97 [3.69, 4.25]  19.4 labels for 10

A judge's bias cancels, whatever it is, and so does its scale (see powered.py for the method). One
slope serves all systems' means, since few labels tell little of each. Differences between systems
have a slope of their own: what a judge knows of a document, and what it knows of two texts of one
document, are not the same. So a difference is not quite that of the two means.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from evaljudge.agreement.rated import Floats
from evaljudge.agreement.significance import holm
from evaljudge.decisions.labelled import FEWEST, Labelled, labelled
from evaljudge.decisions.pass_rate import PassRate
from evaljudge.decisions.powered import (
    NOTHING,
    Bounded,
    Powered,
    Terms,
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
    p: float | None  # that the corrected difference is 0
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
    p_random: float | None = None  # that random labels differ so much in score from all texts
    pass_rates: Sequence[PassRate] = ()
    scorer: str = ""
    axis: str = ""
    sampled: bool = False  # of the documents without any rating, a seeded sample


def people_scale(
    systems: Sequence[str],
    scores: Floats,
    human: Floats,
    probabilities: Floats | None = None,
    *,
    as_published: bool = False,
) -> PeopleScale | None:
    """From tables (documents, systems); None where not a part, but all or none, is labelled.

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
    terms, own = Terms(sample.of(is_enough)), np.eye(len(names))
    means = powered(terms, own, own, as_published)
    is_few = 1 < len(names) <= MOST_SYSTEMS
    centred = own - 1 / len(names)
    apart = powered(terms, _pairs(len(names)), centred, as_published) if is_few else None
    labels = int(terms.labels.sum())
    rows |= {row.system: row for row in _systems(names, terms, means)}
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


def _systems(names: Sequence[str], terms: Terms, means: Powered) -> Iterator[SystemOnScale]:
    by_labels, corrected = means.by_labels, means.corrected
    gained = by_labels.variances / np.where(corrected.variances > 0, corrected.variances, np.nan)
    intervals = zip(by_labels.intervals(), corrected.intervals(), strict=True)
    for place, (name, both) in enumerate(zip(names, intervals, strict=True)):
        effective = float(terms.labels[place] * gained[place])
        yield SystemOnScale(
            name,
            int(terms.texts[place]),
            int(terms.labels[place]),
            float(terms.scores[place]),
            *both,
            None if np.isnan(effective) else effective,
        )


def _pairs(systems: int) -> Floats:
    """A column for each pair, in their order: 1 for the first, -1 for the other."""
    pairs, own = (
        np.array(list(combinations(range(systems), 2)), int).reshape(-1, 2),
        np.eye(systems),
    )
    difference: Floats = own[:, pairs[:, 0]] - own[:, pairs[:, 1]]
    return difference


def _differences(names: Sequence[str], apart: Powered) -> list[Difference]:
    ps = apart.corrected.ps()
    adjusted = iter(holm([p for p in ps if p is not None]))
    intervals = apart.by_labels.intervals(), apart.corrected.intervals()
    return [
        Difference(*pair, alone, both, p, None if p is None else next(adjusted))
        for pair, alone, both, p in zip(combinations(names, 2), *intervals, ps, strict=True)
    ]
