"""Which texts of a run people are asked to rate: the size of each, the draw, and the means.

    sizes, strata = sized("stratified", systems, scores, doubts)

The size says how probable a text is to be drawn beside others.

    random      every text has the same
    stratified  the same; each system, and each quarter of the scores, gets its share
    doubt       rises with the judges' doubt of their scores; where no score says how far it is
                doubted, with the disagreement between scorers

So texts are drawn with known probabilities:

    probabilities = inclusion(doubtful(doubts), 200)        they add up to 200
    drawn = draw(probabilities, documents, rng)             exactly 200 texts
    weighted_mean(ratings, probabilities)                   tables, NaN where a text is not drawn
    -> WeightedMean(value=3.42, low=3.21, high=3.63, n=200, documents=87, effective=141.2)

Texts are drawn by systematic sampling in a random order (Madow 1949; Hartley and Rao 1962): the
probabilities are laid end to end, and a text is drawn where one of the points u, u + 1, u + 2, …
falls into its part, u being uniform in [0, 1). Whatever the order, a text is drawn with exactly its
probability. The order puts a document's texts together, so that the sample is spread over as many
documents as possible; where there are strata, it puts those together first, so that each gets its
share to the nearest text. The probability that two texts are drawn together is not computed: the
intervals treat documents as clusters and do not need it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata, zscore

from evaljudge.agreement.documents import means
from evaljudge.agreement.rated import Codes, Floats, Key
from evaljudge.decisions.powered import labelled, powered_together
from evaljudge.errors import UserError
from evaljudge.records import ANY_AXIS

FLOOR = 0.1
"""The least size of a text as a share of the largest: no weight is more than ten times another."""
BANDS = 4
FEWEST = 6
"""Documents behind an interval: of fewer, unequal weights leave too little to estimate it from."""


@dataclass(frozen=True)
class WeightedMean:
    """A mean in which each text stands for all that could have been drawn in its place."""

    axis: str = field(default="", kw_only=True)  # both empty until the caller names them
    system: str = field(default="", kw_only=True)  # ANY_SYSTEM: all texts
    value: float
    low: float | None
    high: float | None
    n: int
    documents: int
    effective: float
    """How many texts drawn with equal probabilities would weigh as much (Kish 1965)."""


def inclusion(sizes: Floats, n: int) -> Floats:
    """Probabilities in proportion to the sizes, which add up to n; what would exceed 1 is 1."""
    if n >= sizes.size:
        return np.ones(sizes.size)
    certain = np.zeros(sizes.size, bool)
    while True:
        scaled = (n - certain.sum()) * sizes / sizes[~certain].sum()
        more = ~certain & (scaled >= 1)
        if not more.any():
            return np.where(certain, 1.0, scaled)
        certain |= more


def draw(
    probabilities: Floats, documents: Codes, rng: np.random.Generator, strata: Codes | None = None
) -> NDArray[np.int64]:
    """The places of the drawn texts, in random order; their number is the probabilities' sum."""
    kinds = np.zeros(documents.size, np.int64) if strata is None else strata
    order = np.lexsort(
        (rng.random(documents.size), _shuffled(documents, rng), _shuffled(kinds, rng))
    )
    certain, rest = order[probabilities[order] >= 1], order[probabilities[order] < 1]
    ends = np.cumsum(probabilities[rest])
    number = round(float(ends[-1])) if rest.size else 0
    points = rng.random() + np.arange(number)
    # the last end is `number`, but for rounding
    at = np.minimum(np.searchsorted(ends, points, side="right"), rest.size - 1)
    return rng.permutation(np.concatenate([certain, rest[at]]))


def _shuffled(codes: Codes, rng: np.random.Generator) -> Floats:
    """The same random number for equal codes."""
    distinct, inverse = np.unique(codes, return_inverse=True)
    return rng.random(distinct.size)[inverse]


def bands(systems: Codes, scores: Floats) -> Codes:
    """Strata: each system's texts by quarter of all scores; its unscored ones are a stratum."""
    scored = np.isfinite(scores)
    band = np.full(scores.size, BANDS)
    if scored.any():
        ends = np.quantile(scores[scored], np.arange(1, BANDS) / BANDS)
        band[scored] = np.searchsorted(ends, scores[scored], side="left")
    return systems * (BANDS + 1) + band


def doubtful(doubts: Floats) -> Floats:
    """Sizes that rise with doubt, a number from 0 on: at least FLOOR of the largest, also where
    there is no number; all equal where all are 0."""
    finite = np.nan_to_num(doubts, nan=0.0)
    largest = finite.max(initial=0.0)
    return np.maximum(finite / largest, FLOOR) if largest > 0 else np.ones(finite.size)


def weighted_mean(ratings: Floats, probabilities: Floats) -> WeightedMean | None:
    """Hajek's mean (1971) of tables (documents, systems), in which each rating weighs 1 / its
    probability; None where nothing is rated. The interval treats documents as clusters (see
    decisions/powered.py); fewer than FEWEST documents have none."""
    sample = labelled(np.where(np.isfinite(probabilities), 0.0, np.nan), ratings, probabilities)
    if not sample.is_labelled.any():
        return None
    documents, low, high = int(sample.is_labelled.any(axis=1).sum()), None, None
    if documents >= FEWEST:
        (mean,) = powered_together(sample).by_labels.intervals()
        low, high = mean.low, mean.high
    weights = sample.weights
    value, n = float(np.average(sample.ratings, weights=weights)), int(sample.is_labelled.sum())
    effective = float(weights.sum() ** 2 / np.sum(weights**2))
    return WeightedMean(value, low, high, n, documents, effective)


Method = Literal["random", "stratified", "doubt"]


def sized(
    by: Method, systems: Codes, scores: Mapping[Key, Floats], doubts: Floats
) -> tuple[Floats, Codes | None]:
    """`doubts`: of each text, in the mean; NaN where no score says how far it is doubted."""
    equal = np.ones(systems.size)
    match by:
        case "random":
            return equal, None
        case "stratified":
            each = zscore(np.array(list(scores.values())), axis=1, nan_policy="omit")
            return equal, bands(systems, means(each.T))
    is_known = np.isfinite(doubts).any()
    return doubtful(doubts if is_known else _disagreement(scores)), None


def _disagreement(scores: Mapping[Key, Floats]) -> Floats:
    """The standard deviation of a text's ranks by each scorer; in the mean over axes."""
    by_axis: dict[str, list[Floats]] = {}
    for (_, axis), column in scores.items():
        ranks = rankdata(column, nan_policy="omit") / max(1, np.isfinite(column).sum())
        by_axis.setdefault(axis, []).append(ranks)
    anywhere = by_axis.pop(ANY_AXIS, [])
    each = [columns + anywhere for columns in by_axis.values()] or [anywhere]
    several = [_spread(columns) for columns in each if len(columns) > 1]
    if not several:
        raise UserError(
            "--by doubt: no score has a doubt and no axis has two scorers, so nothing says "
            "which texts are in doubt: take --by random"
        )
    return means(np.array(several).T)


def _spread(columns: Sequence[Floats]) -> Floats:
    """The spread of the columns; NaN where fewer than two are numbers."""
    table = np.array(columns)
    several = np.isfinite(table).sum(axis=0) > 1
    spreads = np.full(table.shape[1], np.nan)
    spreads[several] = np.nanstd(table[:, several], axis=0)
    return spreads
