"""Whether a probability means what it says: how often people agree with a comparison, by how sure
the judge was of it.

A text rated 4 was compared with the references of level 3 and 4, and one rated 2 with that of 3:

    p(Better) + ½ p(Similar)    .92    .55    .18
    people: above the level     1      ½      0

The first goes into the bin of .9 to 1, the second into that of .5 to .6, and so on. Only asked
comparisons count, not inferred ones, and only axes where every rating lies within the range of the
levels, since elsewhere a rating of 3 is not a text of level 3.

Comparisons of one document are alike, so intervals are over documents: a bin's share with its
sandwich variance over documents, from sums of a document's counts, which add up over shards. That
variance says how many independent comparisons would be as uncertain; of so many, the interval is
Wilson's with Student's t. Where a bin's comparisons all come out alike, each document counts as
one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy import special  # type: ignore[import-untyped, unused-ignore]

from evaljudge.judges.collector import SeenShard
from evaljudge.judges.shared.counting import Summed, wilson
from evaljudge.judges.synthetic.evidence import read_levels
from evaljudge.records import Verdict
from evaljudge.sections import Point, Points, Section, Table
from evaljudge.sections.figures import bracketed, correlation, count

BINS = 10
TITLE = "Reliability of probabilities"
ABOUT = (
    "Every comparison of a rated text with the reference of a level is a forecast: p(Better) + "
    "½ p(Similar) that people rate the text above the level (½ where they rate it equal). It is "
    "taken that people's scale is that of the levels; an axis with a rating outside their range "
    "is left out."
)
NOTE = (
    "Predicted, observed: the means over all comparisons. Calibration error: how far they are "
    "apart in ten bins of the prediction, the mean over comparisons. Near 0 is good; with few "
    "comparisons it is above 0 by chance alone. The bins, with intervals over documents, are in "
    "reliability.json; the interval of a bin whose comparisons all come out alike counts each "
    "document as one comparison. References that miss their level count as errors, too."
)
READING = (
    "A point is a tenth of the predictions' range: their mean (across), and how often people "
    "rated the texts above the reference's level (up), with a 95% interval over documents. On the "
    "dashed line, probabilities mean what they say; a judge whose points rise less steeply is too "
    "sure. Larger points are of more comparisons."
)
EXACT = 1e-12
Floats = NDArray[np.float64]


@dataclass
class ReliabilitySums(Summed):
    """Of one axis; each array has a number for each bin. `beyond`: comparisons of texts that are
    rated outside the range of the levels."""

    beyond: int = 0
    all_documents: int = 0
    predicted: Floats = field(default_factory=lambda: np.zeros(BINS))
    observed: Floats = field(default_factory=lambda: np.zeros(BINS))
    n: Floats = field(default_factory=lambda: np.zeros(BINS))
    documents: Floats = field(default_factory=lambda: np.zeros(BINS))
    squares: Floats = field(default_factory=lambda: np.zeros(BINS))  # over documents: n²
    products: Floats = field(default_factory=lambda: np.zeros(BINS))  # n · observed
    observed_squares: Floats = field(default_factory=lambda: np.zeros(BINS))


@dataclass(frozen=True, slots=True)
class ReliabilityBin:
    at_least: float
    n: int
    documents: int
    predicted: float
    observed: float
    low: float | None  # None with a single document
    high: float | None


@dataclass(frozen=True, slots=True)
class ReliabilityRow:
    """One judge on one axis; bins without a comparison are left out."""

    judge: str
    axis: str
    comparisons: int
    documents: int
    predicted: float
    observed: float
    calibration_error: float
    bins: Sequence[ReliabilityBin]


def reliability_sums(shard: SeenShard) -> dict[str, ReliabilitySums]:
    """By axis, of the rated texts of one shard."""
    ratings = {
        (case.document.doc_id, one.system, axis): rating
        for case in shard.cases
        for one in case.candidates
        for axis, rating in one.ratings.items()
    }
    rated: dict[str, list[tuple[Verdict, float]]] = {}
    for verdict in shard.verdicts:
        key = verdict.doc_id, verdict.system, verdict.axis
        if verdict.status == "ok" and key in ratings:
            rated.setdefault(verdict.axis, []).append((verdict, ratings[key]))
    return {axis: _of_axis(texts) for axis, texts in rated.items()}


def _of_axis(texts: Sequence[tuple[Verdict, float]]) -> ReliabilitySums:
    names = {doc_id: at for at, doc_id in enumerate(dict.fromkeys(v.doc_id for v, _ in texts))}
    compared = [
        (level, rating, names[one.doc_id])
        for one, rating in texts
        for level in one.evidence["levels"]
    ]
    levels = [level for level, _, _ in compared]
    p, _ = read_levels(levels)
    is_asked = np.array(["inferred" not in level for level in levels])
    of_level, ratings, documents = np.array(
        [(level["rating"], rating, document) for level, rating, document in compared]
    ).T
    is_beyond = (ratings < of_level.min()) | (ratings > of_level.max())
    predicted = p[:, 0] + p[:, 2] / 2
    above = (np.sign(ratings - of_level) + 1) / 2
    bins = np.minimum(predicted * BINS, BINS - 1).astype(int)
    places = documents.astype(int) * BINS + bins

    def by_bin(amounts: Floats) -> Floats:
        sums: Floats = np.zeros(len(names) * BINS)
        np.add.at(sums, places[is_asked], amounts[is_asked])
        return sums.reshape(len(names), BINS)  # documents × bins

    n, observed = by_bin(np.ones(len(levels))), by_bin(above)
    return ReliabilitySums(
        beyond=int(is_beyond.sum()),
        all_documents=len(names),
        predicted=by_bin(predicted).sum(axis=0),
        observed=observed.sum(axis=0),
        n=n.sum(axis=0),
        documents=(n > 0).sum(axis=0).astype(float),
        squares=(n**2).sum(axis=0),
        products=(n * observed).sum(axis=0),
        observed_squares=(observed**2).sum(axis=0),
    )


def reliability_rows(judge: str, sums: Mapping[str, ReliabilitySums]) -> list[ReliabilityRow]:
    return [
        ReliabilityRow(
            judge=judge,
            axis=axis,
            comparisons=int(own.n.sum()),
            documents=own.all_documents,
            predicted=float(own.predicted.sum() / own.n.sum()),
            observed=float(own.observed.sum() / own.n.sum()),
            calibration_error=float(np.abs(own.predicted - own.observed).sum() / own.n.sum()),
            bins=[_bin(own, at) for at in np.flatnonzero(own.n).tolist()],
        )
        for axis, own in sums.items()
        if not own.beyond
    ]


def _bin(sums: ReliabilitySums, at: int) -> ReliabilityBin:
    n, documents = float(sums.n[at]), int(sums.documents[at])
    predicted, share = float(sums.predicted[at]) / n, float(sums.observed[at]) / n
    low: float | None = None
    high: float | None = None
    if documents > 1:
        squares, products = sums.squares[at], sums.products[at]
        residuals = float(sums.observed_squares[at] - 2 * share * products + share**2 * squares)
        variance = residuals / n**2 * documents / (documents - 1)
        independent = min(n, share * (1 - share) / variance) if variance > EXACT else documents
        low, high = wilson(share, independent, float(special.stdtrit(documents - 1, 0.975)))
    return ReliabilityBin(at / BINS, int(n), documents, predicted, share, low, high)


def reliability(rows: Sequence[ReliabilityRow]) -> Section:
    heads = ["comparisons", "documents", "predicted", "observed", "calibration error"]
    cells = [
        [
            *(row.judge, row.axis, count(row.comparisons), count(row.documents)),
            *map(correlation, (row.predicted, row.observed, row.calibration_error)),
        ]
        for row in rows
    ]
    table = Table("By judge and axis", ["judge", "axis", *heads], cells, "llrrrrr", lead=2)
    titles = [f"{row.judge} on {row.axis}" for row in rows]
    pictures = [
        Points("Reliability", title, READING, "predicted", "observed", list(map(_point, row.bins)))
        for title, row in zip(titles, rows, strict=True)
    ]
    return Section(TITLE, [ABOUT], [table], [NOTE], pictures)


def _point(of: ReliabilityBin) -> Point:
    return Point(
        *(of.predicted, of.observed, of.n, of.low, of.high),
        f"predicted {correlation(of.predicted)}, "
        f"observed {bracketed(of.observed, of.low, of.high)}, "
        f"{count(of.n)} comparisons of {count(of.documents)} documents",
    )
