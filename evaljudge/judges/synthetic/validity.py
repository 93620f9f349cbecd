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

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from math import fsum, nan, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evaljudge.agreement import agreements
from evaljudge.agreement.coefficients import row_correlations
from evaljudge.agreement.rated import Rated
from evaljudge.judges.collector import SeenShard
from evaljudge.judges.shared.counting import Sums
from evaljudge.judges.synthetic.equations import Floats, entropies, scale_coverage
from evaljudge.judges.synthetic.evidence import read_levels
from evaljudge.records import Verdict

CERTAIN = 0.99
LEAST_CANDIDATES = 3
"""Candidates for a document's correlation with length: with two, it is always 1 or -1."""
LEAST_RATED = 4
"""Candidates for its partial correlation given ratings: with three, it is always 1 or -1."""
NORMAL = 1.96
EXACT = 1e-9


@dataclass
class ValidityRow:
    """One judge's scores on one axis; None where a figure is unknown.

    `inverted`: documents where the judge itself finds a reference worse than the one below.
    `agreement`: at sample level with people, of all rated documents and of those not inverted.
    """

    judge: str
    axis: str
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


def shard_sums(judge: str, shard: SeenShard) -> Sums:
    checks = [check for check in shard.checks if check.status == "ok"]
    compared = [v for v in shard.verdicts if v.status == "ok" and v.evidence["levels"]]
    scores = [score for score in shard.scores if score.scorer == judge]
    rated = {c.document.doc_id for c in shard.cases if any(x.ratings for x in c.candidates)}
    sums: Sums = {}
    for axis in dict.fromkeys([s.axis for s in scores] + [v.axis for v in (*compared, *checks)]):
        own = [check for check in checks if check.axis == axis]
        values = {(s.doc_id, s.system): s.value for s in scores if s.axis == axis}
        sums[axis] = (
            _check_sums(own)
            | _candidate_sums([v.evidence["levels"] for v in compared if v.axis == axis])
            | _length_sums(shard, axis, values)
            | {"inverted_ids": [c.doc_id for c in own if c.doc_id in rated and any(_inversions(c))]}
        )
    return sums


def _check_sums(checks: Sequence[Verdict]) -> Sums:
    known_pairs = [inversions for check in checks if (inversions := _inversions(check))]
    exchanged = [pair for check in checks for pair in check.evidence["exchanged"]]
    return {
        "checked": len(known_pairs),
        "inverted": sum(map(any, known_pairs)),
        "pairs": sum(map(len, known_pairs)),
        "inverted_pairs": sum(map(sum, known_pairs)),
        "exchanged": len(exchanged),
        # an answer that takes no side, in either order, does not flip
        "flipped": sum(_side(pair["p"]) * _side(pair["exchanged"]) < 0 for pair in exchanged),
    }


def _inversions(check: Verdict) -> list[bool]:
    """Whether each pair's better reference, judged as a candidate, is rather called Worse."""
    return [_side(pair["p"]) < 0 for pair in check.evidence["neighbours"]]


def _side(p: Mapping[str, float]) -> int:
    """1: rather Better; -1: rather Worse; 0: neither."""
    return (p["Better"] > p["Worse"]) - (p["Better"] < p["Worse"])


def _candidate_sums(candidates: Sequence[Sequence[Mapping[str, Any]]]) -> Sums:
    """`candidates`: each one's comparisons with the same references, as they are stored."""
    levels = list(chain.from_iterable(candidates))
    if not levels:
        return {}
    p, mass = read_levels(levels)
    covered = scale_coverage(p.reshape(len(candidates), -1, 3))
    is_asked = np.array(["inferred" not in level for level in levels])
    asked = p[is_asked]
    return {
        "comparisons": len(asked),
        "inferred": len(levels) - len(asked),
        "entropy": float(entropies(asked).sum()),
        "certain": int((asked.max(axis=1) > CERTAIN).sum()),
        "mass": float(mass[is_asked].sum()),
        "candidates": len(candidates),
        "below": int((covered < 0).sum()),
        "above": int((covered > 0).sum()),
    }


def _length_sums(
    shard: SeenShard, axis: str, scores: Mapping[tuple[str, str], float | None]
) -> Sums:
    """Spearman's of score and words in each document, and the same given people's ratings."""
    widest = max((len(case.candidates) for case in shard.cases), default=0)
    if widest < LEAST_CANDIDATES:
        return {}
    # score, words, rating × documents × candidates
    grids = np.full((3, len(shard.cases), widest), nan)
    for at, case in enumerate(shard.cases):
        for place, candidate in enumerate(case.candidates):
            score = scores.get((case.document.doc_id, candidate.system))
            words = len(candidate.text.split())  # as the metric `words` counts them
            rating = candidate.ratings.get(axis, nan)
            grids[:, at, place] = nan if score is None else score, words, rating
    every = _with_enough_candidates(grids[:2], LEAST_CANDIDATES)
    score, length, rating = _with_enough_candidates(grids, LEAST_RATED)
    people = row_correlations(rating, length)[0]
    by_length, by_rating = (row_correlations(score, other)[0] for other in (length, rating))
    by_partial = _partial(by_length, by_rating, people)
    return {
        "length": _moments(row_correlations(*every)[0]),
        "people_length": _moments(people[np.isfinite(by_partial)]),
        "given_length": _moments(by_partial),
    }


def _with_enough_candidates(grids: Floats, least: int) -> Floats:
    """The documents with enough candidates that have every value; NaN for other candidates."""
    whole = np.isfinite(grids).all(axis=0)
    kept: Floats = np.where(whole, grids, nan)[:, whole.sum(axis=1) >= least]
    return kept


def _partial(with_length: Floats, with_ratings: Floats, people: Floats) -> Floats:
    """Partial correlation of score and length, given ratings; NaN where a document cannot tell."""
    left, others = 1 - with_ratings**2, 1 - people**2
    defined = (left > EXACT) & (others > EXACT)
    result = np.where((left <= EXACT) & (others > EXACT), 0.0, np.nan)
    above = with_length - with_ratings * people
    np.divide(above, np.sqrt(np.abs(left * others)), out=result, where=defined)
    return result


def _moments(correlations: Floats) -> Floats:
    """How many documents have a correlation, their sum and the sum of squares."""
    defined = correlations[np.isfinite(correlations)]
    return np.array([defined.size, fsum(defined), fsum(defined**2)])


def _estimate(moments: Sequence[float]) -> tuple[float | None, float | None, float | None, int]:
    """The mean with its interval, and of how many documents; a single one has no spread."""
    n, total, squares = map(float, moments)
    mean = _mean(total, n)
    if mean is None or n == 1:
        return mean, None, None, int(n)
    margin = NORMAL * sqrt(max(0.0, squares - n * mean**2) / (n - 1) / n)
    return mean, max(-1.0, mean - margin), min(1.0, mean + margin), int(n)


def validity_rows(
    judge: str, sums: Sums, rated: Rated, documents: Mapping[str, int]
) -> list[ValidityRow]:
    """A row for each axis; `documents`: by id, what `rated` calls them."""
    rows = []
    for axis, counts in sums.items():
        row = ValidityRow(judge, axis)
        for name, amount in counts.items():
            if name in ("entropy", "certain", "mass"):
                setattr(row, name, _mean(amount, counts["comparisons"]))
            elif isinstance(amount, int):
                setattr(row, name, amount)
        kept = ~np.isin(rated.documents, [documents[d] for d in counts.get("inverted_ids", ())])
        every = np.ones_like(kept)
        row.agreement, row.agreement_documents = _agreement(rated, judge, axis, every)
        if row.checked:
            row.graded_agreement, row.graded_documents = _agreement(rated, judge, axis, kept)
        if "length" in counts:
            row.length, row.length_low, row.length_high, row.length_documents = _estimate(
                counts["length"]
            )
            row.people_length = _estimate(counts["people_length"])[0]
            (row.given_length, row.given_length_low, row.given_length_high,
             row.rated_length_documents) = _estimate(counts["given_length"])  # fmt: skip
        rows.append(row)
    return rows


def _agreement(
    rated: Rated, judge: str, axis: str, kept: NDArray[np.bool_]
) -> tuple[float | None, int]:
    """The sample-level agreement with the human axis of this name, and the number of documents."""
    scores, human = rated.scores.get((judge, axis)), rated.human.get(axis)
    if scores is None or human is None:
        return None, 0
    columns = (rated.documents, rated.systems, scores, human)
    rows, *_ = agreements(*(c[kept] for c in columns), coefficients=("spearman",))
    return rows.value, rows.n


def _mean(total: float, count: float) -> float | None:
    return total / count if count else None
