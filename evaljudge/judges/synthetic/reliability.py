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

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special

from evaljudge.judges.collector import SeenShard
from evaljudge.judges.shared.counting import Sums, table, wilson
from evaljudge.judges.synthetic.equations import Floats
from evaljudge.judges.synthetic.evidence import read_levels
from evaljudge.records import Verdict
from evaljudge.sections import Point, Points, Section
from evaljudge.sections.figures import bracketed, correlation, count

BINS = 10
EXACT = 1e-12


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


def reliability_sums(shard: SeenShard) -> Sums:
    """The sums of one shard's rated texts, for each axis; see `_axis_sums`."""
    ratings = {
        (case.document.doc_id, candidate.system, axis): rating
        for case in shard.cases
        for candidate in case.candidates
        for axis, rating in candidate.ratings.items()
    }
    rated: dict[str, list[tuple[Verdict, float]]] = {}
    for verdict in shard.verdicts:
        key = verdict.doc_id, verdict.system, verdict.axis
        if verdict.status == "ok" and key in ratings:
            rated.setdefault(verdict.axis, []).append((verdict, ratings[key]))
    return {axis: _axis_sums(texts) for axis, texts in rated.items()}


def _axis_sums(texts: Sequence[tuple[Verdict, float]]) -> Sums:
    """`beyond`: how many comparisons are of texts rated outside the range of the levels. Each array
    has a number for each bin; `squares` are sums over documents of n², `products` of n · observed.
    """
    names = {doc_id: at for at, doc_id in enumerate(dict.fromkeys(v.doc_id for v, _ in texts))}
    compared = [
        (level, rating, names[text.doc_id])
        for text, rating in texts
        for level in text.evidence["levels"]
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
    return {
        "beyond": int(is_beyond.sum()),
        "all_documents": len(names),
        "predicted": by_bin(predicted).sum(axis=0),
        "observed": observed.sum(axis=0),
        "n": n.sum(axis=0),
        "documents": (n > 0).sum(axis=0),
        "squares": (n**2).sum(axis=0),
        "products": (n * observed).sum(axis=0),
        "observed_squares": (observed**2).sum(axis=0),
    }


def reliability_rows(judge: str, sums: Sums) -> list[ReliabilityRow]:
    rows = []
    for axis, bins in sums.items():
        n, predicted, observed = bins["n"], bins["predicted"], bins["observed"]
        if not bins["beyond"]:
            rows.append(ReliabilityRow(
                judge=judge,
                axis=axis,
                comparisons=int(n.sum()),
                documents=bins["all_documents"],
                predicted=float(predicted.sum() / n.sum()),
                observed=float(observed.sum() / n.sum()),
                calibration_error=float(np.abs(predicted - observed).sum() / n.sum()),
                bins=[_bin(bins, at) for at in np.flatnonzero(n).tolist()],
            ))  # fmt: skip
    return rows


def _bin(sums: Sums, at: int) -> ReliabilityBin:
    n, documents = float(sums["n"][at]), int(sums["documents"][at])
    predicted, share = float(sums["predicted"][at]) / n, float(sums["observed"][at]) / n
    low: float | None = None
    high: float | None = None
    if documents > 1:
        squares, products = sums["squares"][at], sums["products"][at]
        residuals = float(sums["observed_squares"][at] - 2 * share * products + share**2 * squares)
        variance = residuals / n**2 * documents / (documents - 1)
        independent = min(n, share * (1 - share) / variance) if variance > EXACT else documents
        low, high = wilson(share, independent, float(special.stdtrit(documents - 1, 0.975)))
    return ReliabilityBin(at / BINS, int(n), documents, predicted, share, low, high)


def reliability(rows: Sequence[ReliabilityRow], notes: Mapping[str, str]) -> Section:
    columns = ("comparisons", "documents", "predicted", "observed")
    error = ("calibration error", "calibration_error")
    shown = table("By judge and axis", rows, "judge", "axis", *columns, error)
    pictures = [
        Points(
            "Reliability", f"{row.judge} on {row.axis}", notes["reliability"], "predicted",
            "observed", list(map(_point, row.bins)),
        )
        for row in rows
    ]  # fmt: skip
    title = "Reliability of probabilities"
    return Section(
        title, [notes["about probabilities"]], [shown], [notes["probabilities"]], pictures
    )


def _point(row: ReliabilityBin) -> Point:
    return Point(
        *(row.predicted, row.observed, row.n, row.low, row.high),
        f"predicted {correlation(row.predicted)}, "
        f"observed {bracketed(row.observed, row.low, row.high)}, "
        f"{count(row.n)} comparisons of {count(row.documents)} documents",
    )
