"""What could mislead a reader of a judge's scores: sums of a shard at a time, then a row per axis.

Of one candidate, compared with references 1 to 3, and of the checks of its document,

    1: .90 .02 .08   2: .80 .05 .15   3: .05 .75 .20
    neighbours  2 above 1: .70 .10 .20   3 above 2: .30 .60 .10      the second pair is inverted
    exchanged   3 as asked: .05 .75 .20, the other way round: .50 .30 .20          this one flips

an axis gains 3 comparisons, a candidate inside the scale, a document checked and inverted, 2 pairs
of which 1 is inverted, and 1 exchanged comparison that flipped.

Only sums stay in memory, and the ids of rated documents with an inversion. So the interval of the
mean correlation with length is the normal one, since a bootstrap would need every document's value.

A document whose ratings are in the order of its lengths, or in the opposite one, cannot tell the
two apart: it has no partial correlation. Where scores are in the order of the ratings, nothing is
left that length could explain: 0.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from itertools import chain
from math import fsum, nan, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evaljudge.agreement import agreements
from evaljudge.agreement.coefficients import row_correlations
from evaljudge.agreement.rated import Rated
from evaljudge.judges.collector import SeenShard
from evaljudge.judges.shared.counting import OfAxis, Summed
from evaljudge.judges.synthetic.equations import entropies, scale_coverage
from evaljudge.judges.synthetic.evidence import read_levels
from evaljudge.records import Score, Verdict

CERTAIN = 0.99
LEAST_CANDIDATES = 3
"""For a document's correlation with length: of two candidates, it is always 1 or -1."""
LEAST_RATED = 4
"""For its partial correlation given ratings: of three candidates, it is always 1 or -1."""
NORMAL = 1.96
EXACT = 1e-9
Floats = NDArray[np.float64]


@dataclass
class ValidityCounts(Summed):
    """`inverted`: documents where the judge itself finds a reference worse than the one below."""

    checked: int = 0  # documents whose neighbouring references were compared
    inverted: int = 0
    pairs: int = 0  # neighbouring references compared
    inverted_pairs: int = 0
    comparisons: int = 0  # of candidates with references, as they were asked
    inferred: int = 0  # comparisons that adaptive levels left out
    candidates: int = 0  # placed on the scale
    below: int = 0  # lost against every reference
    above: int = 0  # won against every reference
    exchanged: int = 0  # comparisons asked in both orders
    flipped: int = 0


@dataclass(kw_only=True)
class ValidityRow(ValidityCounts, OfAxis):
    """What could mislead a reader of one judge's scores on one axis; None where it is unknown.

    `agreement`: at sample level with people, of all rated documents and of those not inverted.
    """

    agreement: float | None = None
    agreement_documents: int = 0
    graded_agreement: float | None = None
    graded_documents: int = 0
    entropy: float | None = None  # bits, mean
    certain: float | None = None  # share of comparisons with an answer above 0.99
    mass: float | None = None  # mean
    length: float | None = None  # mean over documents of Spearman(score, words)
    length_low: float | None = None
    length_high: float | None = None
    length_documents: int = 0
    people_length: float | None = None  # of the ratings and words, over the rated documents
    given_length: float | None = None  # of score and words, given the ratings
    given_length_low: float | None = None
    given_length_high: float | None = None
    rated_length_documents: int = 0


@dataclass
class Correlations(Summed):
    """The correlations of some documents, as the sums that their mean and its interval need."""

    documents: int = 0
    total: float = 0.0
    squares: float = 0.0

    @classmethod
    def of(cls, found: Floats) -> Correlations:
        known = found[np.isfinite(found)]
        return cls(known.size, fsum(known), fsum(known**2))

    @property
    def estimate(self) -> tuple[float | None, float | None, float | None]:
        """The mean with its interval; a single document has no spread, so no interval."""
        mean = _mean(self.total, self.documents)
        if mean is None or self.documents == 1:
            return mean, None, None
        variance = max(0.0, self.squares - self.documents * mean**2) / (self.documents - 1)
        margin = NORMAL * sqrt(variance / self.documents)
        return mean, max(-1.0, mean - margin), min(1.0, mean + margin)


@dataclass
class AxisSums(ValidityCounts):
    """And what its means are made of."""

    entropy: float = 0.0
    certain: int = 0
    mass: float = 0.0
    length: Correlations = field(default_factory=Correlations)
    people_length: Correlations = field(default_factory=Correlations)
    given_length: Correlations = field(default_factory=Correlations)
    inverted_ids: list[str] = field(default_factory=list)
    """The rated documents with an inversion."""


def shard_sums(judge: str, shard: SeenShard) -> dict[str, AxisSums]:
    """By axis, of what one shard holds of this judge."""
    checks = [check for check in shard.checks if check.status == "ok"]
    compared = [v for v in shard.verdicts if v.status == "ok" and v.evidence["levels"]]
    scores = [score for score in shard.scores if score.scorer == judge]
    rated = {c.document.doc_id for c in shard.cases if any(one.ratings for one in c.candidates)}
    seen: list[Score | Verdict] = [*scores, *compared, *checks]
    sums: dict[str, AxisSums] = {}
    for axis in dict.fromkeys(one.axis for one in seen):
        own = [check for check in checks if check.axis == axis]
        total = sums[axis] = _of_checks(own)
        total += _of_candidates([v.evidence["levels"] for v in compared if v.axis == axis])
        total += _of_lengths(shard, axis, {
            (s.doc_id, s.system): s.value for s in scores if s.axis == axis and s.value is not None
        })  # fmt: skip
        total.inverted_ids = [c.doc_id for c in own if c.doc_id in rated and any(_inversions(c))]
    return sums


def _of_checks(checks: Sequence[Verdict]) -> AxisSums:
    found = [inversions for check in checks if (inversions := _inversions(check))]
    exchanged = [one for check in checks for one in check.evidence["exchanged"]]
    return AxisSums(
        checked=len(found),
        inverted=sum(map(any, found)),
        pairs=sum(map(len, found)),
        inverted_pairs=sum(map(sum, found)),
        exchanged=len(exchanged),
        # an answer that takes no side, in either order, does not flip
        flipped=sum(_side(one["p"]) * _side(one["exchanged"]) < 0 for one in exchanged),
    )


def _inversions(check: Verdict) -> list[bool]:
    """Of each pair of neighbours: the better one, judged as a candidate, is rather called Worse."""
    return [_side(pair["p"]) < 0 for pair in check.evidence["neighbours"]]


def _side(p: Mapping[str, float]) -> int:
    """1: rather Better; -1: rather Worse; 0: neither."""
    return (p["Better"] > p["Worse"]) - (p["Better"] < p["Worse"])


def _of_candidates(candidates: Sequence[Sequence[Mapping[str, Any]]]) -> AxisSums:
    """`candidates`: each one's comparisons with the references, as they are stored."""
    total = AxisSums()
    for number in dict.fromkeys(map(len, candidates)):
        alike = [levels for levels in candidates if len(levels) == number]
        levels = list(chain.from_iterable(alike))
        p, mass = read_levels(levels)
        covered = scale_coverage(p.reshape(len(alike), -1, 3))
        is_asked = np.array(["inferred" not in level for level in levels])
        asked = p[is_asked]
        total += AxisSums(
            comparisons=len(asked),
            inferred=len(levels) - len(asked),
            entropy=float(entropies(asked).sum()),
            certain=int((asked.max(axis=1) > CERTAIN).sum()),
            mass=float(mass[is_asked].sum()),
            candidates=len(alike),
            below=int((covered < 0).sum()),
            above=int((covered > 0).sum()),
        )
    return total


def _of_lengths(shard: SeenShard, axis: str, scores: Mapping[tuple[str, str], float]) -> AxisSums:
    """Spearman's of score and words in each document, and the same given people's ratings."""
    widest = max((len(case.candidates) for case in shard.cases), default=0)
    if widest < LEAST_CANDIDATES:
        return AxisSums()
    rows = [
        [
            (
                scores.get((case.document.doc_id, candidate.system), nan),
                len(candidate.text.split()),  # as the metric `words` counts them
                candidate.ratings.get(axis, nan),
            )
            for candidate in case.candidates
        ]
        for case in shard.cases
    ]
    padded = [row + [(nan, nan, nan)] * (widest - len(row)) for row in rows]
    # score, words, rating × documents × candidates
    grids = np.array(padded, np.float64).reshape(len(rows), widest, 3).transpose(2, 0, 1)
    every = _of_enough(grids[:2], LEAST_CANDIDATES)
    score, length, rating = _of_enough(grids, LEAST_RATED)
    people = row_correlations(rating, length)[0]
    by_length, by_rating = (row_correlations(score, other)[0] for other in (length, rating))
    given = _partial(by_length, by_rating, people)
    return AxisSums(
        length=Correlations.of(row_correlations(*every)[0]),
        people_length=Correlations.of(people[np.isfinite(given)]),
        given_length=Correlations.of(given),
    )


def _of_enough(grids: Floats, least: int) -> Floats:
    """The documents with enough candidates that have every value; NaN for other candidates."""
    whole = np.isfinite(grids).all(axis=0)
    kept: Floats = np.where(whole, grids, nan)[:, whole.sum(axis=1) >= least]
    return kept


def _partial(with_length: Floats, with_ratings: Floats, people: Floats) -> Floats:
    """Of score and length, given ratings; NaN where a document cannot tell."""
    left, others = 1 - with_ratings**2, 1 - people**2
    known = (left > EXACT) & (others > EXACT)
    found = np.where((left <= EXACT) & (others > EXACT), 0.0, np.nan)
    above = with_length - with_ratings * people
    np.divide(above, np.sqrt(np.abs(left * others)), out=found, where=known)
    return found


def validity_rows(
    judge: str, sums: Mapping[str, AxisSums], rated: Rated, documents: Mapping[str, int]
) -> list[ValidityRow]:
    """A row for each axis; `documents`: by id, what `rated` calls them."""
    rows = []
    for axis, own in sums.items():
        kept = ~np.isin(rated.documents, [documents[doc_id] for doc_id in own.inverted_ids])
        agreement, agreement_documents = _agreement(rated, judge, axis, np.ones_like(kept))
        graded, graded_documents = None, 0
        if own.checked:
            graded, graded_documents = _agreement(rated, judge, axis, kept)
        length, length_low, length_high = own.length.estimate
        given, given_low, given_high = own.given_length.estimate
        rows.append(ValidityRow(
            judge=judge,
            axis=axis,
            **{count.name: getattr(own, count.name) for count in fields(ValidityCounts)},
            agreement=agreement,
            agreement_documents=agreement_documents,
            graded_agreement=graded,
            graded_documents=graded_documents,
            entropy=_mean(own.entropy, own.comparisons),
            certain=_mean(own.certain, own.comparisons),
            mass=_mean(own.mass, own.comparisons),
            length=length,
            length_low=length_low,
            length_high=length_high,
            length_documents=own.length.documents,
            people_length=own.people_length.estimate[0],
            given_length=given,
            given_length_low=given_low,
            given_length_high=given_high,
            rated_length_documents=own.given_length.documents,
        ))  # fmt: skip
    return rows


def _agreement(
    rated: Rated, judge: str, axis: str, kept: NDArray[np.bool_]
) -> tuple[float | None, int]:
    """At sample level with the human axis of the same name, and of how many documents."""
    scores, human = rated.scores.get((judge, axis)), rated.human.get(axis)
    if scores is None or human is None:
        return None, 0
    columns = (rated.documents, rated.systems, scores, human)
    found, *_ = agreements(*(c[kept] for c in columns), coefficients=("spearman",))
    return found.value, found.n


def _mean(total: float, count: int) -> float | None:
    return total / count if count else None
