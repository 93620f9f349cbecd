"""What could mislead a reader of a judge's scores: sums of a shard at a time, then a row per axis.

Of one candidate, compared with references 1 to 3, and of the checks of its document,

    1: .90 .02 .08   2: .80 .05 .15   3: .05 .75 .20
    neighbours  2 above 1: .70 .10 .20   3 above 2: .30 .60 .10      the second pair is inverted
    exchanged   3 as asked: .05 .75 .20, the other way round: .50 .30 .20          this one flips

an axis gains 3 comparisons, a candidate inside the scale, a document checked and inverted, 2 pairs
of which 1 is inverted, and 1 exchanged comparison that flipped.

What stays in memory is sums, and the ids of rated documents with an inversion: unrated candidates
leave nothing behind. An interval of the mean correlation with length is therefore no bootstrap,
which would keep every document's value, but the normal one, mean ± 1.96 standard errors, cut to
-1..1.

A judge that follows length is misled by it only where people do not. So where candidates are rated,
the correlation of score and length is also taken given the ratings: the partial correlation of
ranks, in each document with enough rated candidates whose scores, lengths and ratings all vary. A
document whose ratings are in the order of its lengths, or in the opposite one, cannot tell the two
apart and is left out. Where scores are in the order of the ratings nothing is left that length
could explain: 0.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import fsum, isfinite, nan, sqrt
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from evaljudge.agreement import agreements
from evaljudge.agreement.coefficients import row_correlations
from evaljudge.agreement.rated import Rated
from evaljudge.judges.shared.counting import Summed
from evaljudge.judges.synthetic.equations import entropy, scale_coverage
from evaljudge.records import Case, Verdict

CERTAIN = 0.99
LEAST_CANDIDATES = 3
"""Of a document whose scores are correlated with length: of two, every correlation is 1 or -1."""
LEAST_RATED = 4
"""Likewise, given ratings: of three, every partial correlation is 1 or -1."""
NORMAL = 1.96
EXACT = 1e-9
COUNTS = ("checked", "inverted", "pairs", "inverted_pairs", "comparisons", "candidates", "below",
          "above", "exchanged", "flipped", "length_documents")  # fmt: skip
"""Sums that a row has as they are."""

Judged = tuple[str, str, str]
"""A document, a system and an axis."""
Answers = Mapping[str, float]


class Compared(NamedTuple):
    """One comparison of a candidate with a reference: how likely each answer is.

    `p` is of Better, Worse and Similar, whatever the form of the question was; `mass` is what the
    answers offered hold together of all that the model might say.
    """

    rating: float
    p: Mapping[str, float]
    mass: float


def compared(verdict: Verdict) -> list[Compared]:
    """Of a verdict that is scored, in the order of the references' ratings."""
    levels = verdict.evidence["levels"]
    return [Compared(level["rating"], level["p"], level["mass"]) for level in levels]


@dataclass(frozen=True, slots=True)
class ValidityRow:
    """What could mislead a reader of one judge's scores on one axis; None: nothing to tell it by.

    `inverted`: documents where the judge itself finds a reference worse than the one below it.
    `agreement`: at sample level with people, of all rated documents and of those not inverted.
    """

    judge: str
    axis: str
    checked: int  # documents whose neighbouring references were compared
    inverted: int
    pairs: int  # neighbouring references compared
    inverted_pairs: int
    agreement: float | None
    agreement_documents: int
    graded_agreement: float | None
    graded_documents: int
    comparisons: int  # of candidates with references
    entropy: float | None  # bits, mean
    certain: float | None  # share of comparisons with an answer above 0.99
    mass: float | None  # mean
    candidates: int  # placed on the scale
    below: int  # lost against every reference
    above: int  # won against every reference
    exchanged: int  # comparisons asked in both orders
    flipped: int
    length: float | None  # mean over documents of Spearman(score, words)
    length_low: float | None
    length_high: float | None
    length_documents: int
    people_length: float | None = None  # of the ratings and words, over the rated documents
    given_length: float | None = None  # of score and words, given the ratings
    given_length_low: float | None = None
    given_length_high: float | None = None
    rated_length_documents: int = 0


@dataclass
class AxisSums(Summed):
    """Of one axis; every field is a sum or a count, so two of them add up."""

    checked: int = 0
    inverted: int = 0
    pairs: int = 0
    inverted_pairs: int = 0
    comparisons: int = 0
    entropy: float = 0.0
    certain: int = 0
    mass: float = 0.0
    candidates: int = 0
    below: int = 0
    above: int = 0
    exchanged: int = 0
    flipped: int = 0
    length_documents: int = 0
    length: float = 0.0
    length_squares: float = 0.0
    rated_documents: int = 0
    people_length: float = 0.0
    given_length: float = 0.0
    given_length_squares: float = 0.0


@dataclass(slots=True)
class Sums:
    """Of one judge, by axis. `total += sums` grows in place: ids are not copied for every shard."""

    axes: dict[str, AxisSums] = field(default_factory=dict)
    inverted: dict[str, set[str]] = field(default_factory=dict)
    """Rated documents that hold an inversion."""

    def __iadd__(self, other: Sums) -> Self:
        for axis, sums in other.axes.items():
            mine = self.axes.setdefault(axis, AxisSums())
            mine += sums
        for axis, ids in other.inverted.items():
            self.inverted.setdefault(axis, set()).update(ids)
        return self


def shard_sums(
    cases: Sequence[Case],
    compared: Mapping[Judged, Sequence[Compared]],
    checks: Iterable[Verdict],
    scores: Mapping[Judged, float | None],
) -> Sums:
    """Of one judge's shard; `scores` are those of its headline scorer."""
    checked = [check for check in checks if check.status == "ok"]
    named = [axis for *_, axis in (*scores, *compared)] + [check.axis for check in checked]
    lengths = _lengths(cases)
    rated = {case.document.doc_id for case in cases if any(c.ratings for c in case.candidates)}
    sums = Sums()
    for axis in dict.fromkeys(named):
        mine = [check for check in checked if check.axis == axis]
        levels = [found for (*_, of), found in compared.items() if of == axis and found]
        own = {at[:2]: score for at, score in scores.items() if at[2] == axis and score is not None}
        total = sums.axes[axis] = _of_checks(mine)
        total += _of_candidates(levels)
        total += _of_lengths(own, lengths)
        total += _given_ratings(own, lengths, _ratings(cases, axis))
        sums.inverted[axis] = {c.doc_id for c in mine if any(_inversions(c))} & rated
    return sums


def _lengths(cases: Sequence[Case]) -> dict[tuple[str, str], int]:
    """Words between white space, as the metric `words` counts them."""
    return {
        (case.document.doc_id, candidate.system): len(candidate.text.split())
        for case in cases
        for candidate in case.candidates
    }


def _ratings(cases: Sequence[Case], axis: str) -> dict[tuple[str, str], float]:
    return {
        (case.document.doc_id, candidate.system): rating
        for case in cases
        for candidate in case.candidates
        if isfinite(rating := candidate.ratings.get(axis, nan))
    }


def _of_checks(checks: Sequence[Verdict]) -> AxisSums:
    found = [inversions for check in checks if (inversions := _inversions(check))]
    exchanged = [one for check in checks for one in check.evidence["exchanged"]]
    return AxisSums(
        checked=len(found),
        inverted=sum(map(any, found)),
        pairs=sum(map(len, found)),
        inverted_pairs=sum(map(sum, found)),
        exchanged=len(exchanged),
        flipped=sum(map(_flips, exchanged)),
    )


def _inversions(check: Verdict) -> list[bool]:
    """Of each pair of neighbours: the better one, judged as a candidate, is rather called Worse."""
    return [_side(pair["p"]) < 0 for pair in check.evidence["neighbours"]]


def _flips(comparison: Mapping[str, Any]) -> bool:
    """An answer that takes no side, in either order, does not flip."""
    return _side(comparison["p"]) * _side(comparison["exchanged"]) < 0


def _side(p: Answers) -> int:
    """1: rather Better; -1: rather Worse; 0: neither."""
    return (p["Better"] > p["Worse"]) - (p["Better"] < p["Worse"])


def _of_candidates(candidates: Sequence[Sequence[Compared]]) -> AxisSums:
    every = [comparison for levels in candidates for comparison in levels]
    found = Counter(scale_coverage([(one.rating, one.p) for one in each]) for each in candidates)
    return AxisSums(
        comparisons=len(every),
        entropy=fsum(entropy(one.p) for one in every),
        certain=sum(max(one.p.values()) > CERTAIN for one in every),
        mass=fsum(one.mass for one in every),
        candidates=len(candidates),
        below=found["below"],
        above=found["above"],
    )


Row = tuple[str, tuple[float, ...]]
"""Of a candidate: its document, and values to be correlated within it."""


def _of_lengths(
    scores: Mapping[tuple[str, str], float], lengths: Mapping[tuple[str, str], int]
) -> AxisSums:
    """Spearman's of score and words, of each document where both vary."""
    rows = ((at[0], (score, lengths[at])) for at, score in scores.items())
    grids = _grids(rows, LEAST_CANDIDATES)
    if grids is None:
        return AxisSums()
    found = row_correlations(*grids)[0]
    known = found[np.isfinite(found)]
    return AxisSums(length_documents=known.size, length=fsum(known), length_squares=fsum(known**2))


def _grids(rows: Iterable[Row], least: int) -> NDArray[np.float64] | None:
    """(values of a candidate, documents, candidates), NaN where there are fewer candidates.

    Of documents with `least` candidates or more; None where there is no such document.
    """
    documents: dict[str, list[tuple[float, ...]]] = {}
    for doc_id, values in rows:
        documents.setdefault(doc_id, []).append(values)
    enough = [each for each in documents.values() if len(each) >= least]
    if not enough:
        return None
    widest, nothing = max(map(len, enough)), (nan,) * len(enough[0][0])
    padded = [[*each, *[nothing] * (widest - len(each))] for each in enough]
    return np.moveaxis(np.array(padded, dtype=np.float64), 2, 0)


def _given_ratings(
    scores: Mapping[tuple[str, str], float],
    lengths: Mapping[tuple[str, str], int],
    ratings: Mapping[tuple[str, str], float],
) -> AxisSums:
    """Length with ratings, and with scores given ratings, of each document that has enough."""
    rows = ((at[0], (s, lengths[at], ratings[at])) for at, s in scores.items() if at in ratings)
    grids = _grids(rows, LEAST_RATED)
    if grids is None:
        return AxisSums()
    score, length, rating = grids
    people = row_correlations(rating, length)[0]
    given = _partial(row_correlations(score, length)[0], row_correlations(score, rating)[0], people)
    known = np.isfinite(given)
    return AxisSums(
        rated_documents=int(known.sum()),
        people_length=fsum(people[known]),
        given_length=fsum(given[known]),
        given_length_squares=fsum(given[known] ** 2),
    )


def _partial(
    with_length: NDArray[np.float64],
    with_ratings: NDArray[np.float64],
    people: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Of score and length, given ratings; NaN where a document says nothing of it."""
    left, others = 1 - with_ratings**2, 1 - people**2
    known = (left > EXACT) & (others > EXACT)
    found = np.where((left <= EXACT) & (others > EXACT), 0.0, np.nan)
    above = with_length - with_ratings * people
    np.divide(above, np.sqrt(np.abs(left * others)), out=found, where=known)
    return found


def validity_rows(
    judge: str, scorer: str, sums: Sums, rated: Rated, documents: Mapping[str, int]
) -> list[ValidityRow]:
    """A row for each axis; `documents`: by id, what `rated` calls them."""
    return [
        _row(judge, scorer, axis, own, rated, [documents[one] for one in sums.inverted[axis]])
        for axis, own in sums.axes.items()
    ]


def _row(
    judge: str, scorer: str, axis: str, sums: AxisSums, rated: Rated, inverted: Sequence[int]
) -> ValidityRow:
    everything = np.ones(rated.documents.size, dtype=bool)
    kept = ~np.isin(rated.documents, inverted)
    agreement, agreement_documents = _agreement(rated, scorer, axis, everything)
    graded, graded_documents = _agreement(rated, scorer, axis, kept) if sums.checked else (None, 0)
    low, high = _interval(sums.length, sums.length_squares, sums.length_documents)
    given = sums.given_length, sums.given_length_squares, sums.rated_documents
    given_low, given_high = _interval(*given)
    return ValidityRow(
        judge=judge,
        axis=axis,
        **{name: getattr(sums, name) for name in COUNTS},
        agreement=agreement,
        agreement_documents=agreement_documents,
        graded_agreement=graded,
        graded_documents=graded_documents,
        entropy=_mean(sums.entropy, sums.comparisons),
        certain=_mean(sums.certain, sums.comparisons),
        mass=_mean(sums.mass, sums.comparisons),
        length=_mean(sums.length, sums.length_documents),
        length_low=low,
        length_high=high,
        people_length=_mean(sums.people_length, sums.rated_documents),
        given_length=_mean(sums.given_length, sums.rated_documents),
        given_length_low=given_low,
        given_length_high=given_high,
        rated_length_documents=sums.rated_documents,
    )


def _agreement(
    rated: Rated, scorer: str, axis: str, kept: NDArray[np.bool_]
) -> tuple[float | None, int]:
    """At sample level with the human axis of the same name, and of how many documents."""
    scores, human = rated.scores.get((scorer, axis)), rated.human.get(axis)
    if scores is None or human is None:
        return None, 0
    found, *_ = agreements(
        rated.documents[kept],
        rated.systems[kept],
        scores[kept],
        human[kept],
        coefficients=("spearman",),
        resamples=0,
    )
    return found.value, found.n


def _interval(total: float, squares: float, count: int) -> tuple[float | None, float | None]:
    """None of fewer than two documents, which have no spread."""
    if count < 2:
        return None, None
    mean = total / count
    variance = max(0.0, squares - count * mean**2) / (count - 1)
    margin = NORMAL * sqrt(variance / count)
    return max(-1.0, mean - margin), min(1.0, mean + margin)


def _mean(total: float, count: int) -> float | None:
    return total / count if count else None
