"""What the report's page draws: which texts it shows, and counts of how scores are spread.

The page shows the most telling texts, and not the first of the corpus. In turn: a text where the
judge and people disagree most, one about which the judge is most undecided, one of the lowest of an
axis' best system (to which the page's first screen leads), and one of those that are spread evenly
over the scores. Where nobody rated, or no scorer says how undecided it is, the others have that
share, too.

    spreads(grid)  ->  [Spread("synthetic", "fluency", low=1.0, high=5.0,
                               systems={"A": (0, 3, 12, …), "B": (9, 4, …)}, people=(…))]
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice, zip_longest
from math import isfinite
from statistics import fmean
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from evaljudge.agreement.rated import Floats, Grid, Key, Rated, Text
from evaljudge.records import ANY_AXIS

WORST = 3  # the number of a system's lowest texts that are shown
Numbers = NDArray[np.floating[Any]]
BINS = 100  # of equal width: a threshold at an edge selects as many texts as the counts say
MOST_RATINGS = 41
"""The most different ratings. Where people gave more, their range is cut into so many values."""


@dataclass(frozen=True, slots=True)
class Disagreement:
    """How far the scores are from people's ratings on the texts that the page shows: of each text
    the distance between its places among all scores and among all ratings of the run."""

    scorer: str
    axis: str  # rated by people
    apart: Sequence[float | None]  # in the order of `telling`; from 0 to 1, None: not both there


def telling_texts(kept: Rated, headlines: Iterable[Key], wanted: int) -> list[Text]:
    """The most telling first, of all that is kept; `headlines`: the scorers and axes that count."""
    names, scores = kept.texts, {key: kept.scores[key] for key in headlines}
    lists = [
        _falling(_most_apart(kept, scores)),
        _falling(_most(len(names), (kept.doubts[key] for key in scores))),
        _worst_of_the_best(scores, [system for _, system in names]),
        _spread(scores, len(names)),
    ]
    chosen = dict[int, None]()
    while len(chosen) < min(wanted, len(names)):
        for candidates in lists:
            new = (at for at in candidates if at not in chosen)
            chosen |= dict.fromkeys(islice(new, 1))
    return [names[at] for at in islice(chosen, wanted)]


def disagreements(kept: Rated, texts: Sequence[Text]) -> list[Disagreement]:
    """The disagreements on these texts, for each scorer and axis that people rated: a scorer with
    axes on its own, a scorer without axes on each."""
    places = {text: at for at, text in enumerate(kept.texts)}
    rows, shown = [places[text] for text in texts], []
    for (scorer, axis), column in kept.scores.items():
        for name in [name for name in kept.human if axis in (name, ANY_AXIS)]:
            apart = disagreement(column, kept.human[name])[rows].tolist()
            shown.append(Disagreement(scorer, name, [x if isfinite(x) else None for x in apart]))
    return shown


def disagreement(scores: Numbers, ratings: Numbers) -> Floats:
    """How far the place of each text among the scores is from its place among the ratings, from 0
    to 1; NaN where it has no score or no rating.

    Texts of one rating share all of the places that they have together, and so do texts of one
    score: a judge that orders texts which people rate alike does not disagree with them.
    """
    scores, ratings = scores.astype(np.float32), ratings.astype(np.float32)  # as the page has them
    both = np.isfinite(scores) & np.isfinite(ratings)
    distances = np.full(len(scores), np.nan)
    first, low = (rankdata(values[both], "min") for values in (scores, ratings))
    last, high = (rankdata(values[both], "max") for values in (scores, ratings))
    apart = np.maximum(np.maximum(first - high, low - last), 0)
    distances[both] = apart / max(both.sum() - 1, 1)
    return distances


def _most_apart(kept: Rated, scores: Mapping[Key, Floats]) -> Floats:
    """The most disagreement of all scorers and axes; NaN where nobody rated the text."""
    apart = [
        disagreement(values, ratings)
        for name, ratings in kept.human.items()
        for (_, axis), values in scores.items()
        if axis in (name, ANY_AXIS)
    ]
    return _most(len(kept.texts), apart)


def _most(texts: int, columns: Iterable[Floats]) -> Floats:
    return np.fmax.reduce([np.full(texts, np.nan), *columns])


def _falling(values: Floats) -> Iterator[int]:
    """The places of the highest values first; those without a value are left out."""
    for at in np.argsort(-values, kind="stable"):
        if np.isfinite(values[at]):
            yield int(at)


def _worst_of_the_best(scores: Mapping[Key, Floats], systems: Sequence[str]) -> Iterator[int]:
    each = []
    for values in scores.values():
        by_system: dict[str, list[float]] = {}
        for system, value in zip(systems, values.tolist(), strict=True):
            if isfinite(value):
                by_system.setdefault(system, []).append(value)
        if by_system:
            best = max(by_system, key=lambda system: fmean(by_system[system]))
            is_its = np.array([system == best for system in systems])
            each.append(islice(_falling(np.where(is_its, -values, np.nan)), WORST))
    for same_rank in zip_longest(*each):
        yield from (at for at in same_rank if at is not None)


def _spread(scores: Mapping[Key, Floats], texts: int) -> Iterator[int]:
    """Over the mean place of each text: the ends, the middle, the quarters, and so on. Texts
    without any score come first, since they have to be explained."""
    places = [
        rankdata(np.where(np.isfinite(values), values, np.nanmin([*values, 0.0])))
        for values in scores.values()
    ]
    mean = np.mean(places, axis=0) if places else np.zeros(texts)
    unscored = [at for at in range(texts) if not any(np.isfinite(v[at]) for v in scores.values())]
    yield from unscored[: max(texts // 50, 5)] if scores else ()
    order = np.argsort(mean, kind="stable")
    yield from (int(order[at]) for at in _halving(texts))
    yield from range(texts)


def _halving(size: int) -> Iterator[int]:
    """0, the last, the middle, the quarters: each number once."""
    seen, parts = set[int](), 1
    while len(seen) < size and parts <= 2 * size:
        for part in range(parts + 1):
            at = round(part * (size - 1) / parts)
            if at not in seen:
                seen.add(at)
                yield at
        parts *= 2


@dataclass(frozen=True, slots=True)
class BinnedRatings:
    """How many texts with a score in this bin people gave this rating."""

    axis: str
    ratings: Sequence[float]  # rising
    counts: Sequence[tuple[int, int, int]]
    """Bin, place in `ratings`, number of texts; without those that nothing met."""


@dataclass(frozen=True, slots=True)
class Spread:
    scorer: str
    axis: str
    low: float
    high: float
    systems: Mapping[str, Sequence[int]]  # how many texts of each system have a score in each bin
    people: Sequence[BinnedRatings] = field(default=())
    """The ratings beside the scores, for each rated axis that the scorer is compared with."""
    is_sample: bool = False

    @property
    def counts(self) -> list[int]:
        return [sum(column) for column in zip(*self.systems.values(), strict=True)]


def spreads(grid: Grid) -> list[Spread]:
    return [made for key in grid.scores if (made := _spread_of(grid, *key))]


def _spread_of(grid: Grid, scorer: str, axis: str) -> Spread | None:
    table = grid.scores[scorer, axis]
    finite = table[np.isfinite(table)]
    if not finite.size:
        return None
    low, high = float(finite.min()), float(finite.max())
    places = np.searchsorted(edges(low, high), table, side="right") - 1
    bins = np.where(np.isfinite(table), places, -1)
    counts = {
        system: tuple(np.bincount(column[column >= 0], minlength=BINS).tolist())
        for system, column in zip(grid.systems, bins.T, strict=True)
        if (column >= 0).any()
    }
    people = [
        rated
        for name, ratings in grid.human.items()
        if axis in (name, ANY_AXIS) and (rated := _binned(name, bins, ratings))
    ]
    return Spread(scorer, axis, low, high, counts, people, grid.is_sample)


def edges(low: float, high: float) -> Floats:
    """The lowest score of each bin."""
    return low + np.arange(BINS, dtype=np.float64) * ((high - low) / BINS)


def _binned(axis: str, bins: NDArray[np.int64], ratings: Floats) -> BinnedRatings | None:
    both = (bins >= 0) & np.isfinite(ratings)
    if not both.any():
        return None
    distinct = np.unique(ratings[both])
    if len(distinct) > MOST_RATINGS:
        distinct = np.linspace(distinct[0], distinct[-1], MOST_RATINGS)
    places = np.abs(ratings[both][:, None] - distinct).argmin(axis=1)
    pairs, numbers = np.unique(np.stack([bins[both], places]), axis=1, return_counts=True)
    counts = [(int(b), int(r), int(n)) for b, r, n in zip(*pairs, numbers, strict=True)]
    return BinnedRatings(axis, distinct.tolist(), counts)
