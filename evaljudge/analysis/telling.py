"""Which texts a report shows: the most telling ones, and not the first of the corpus.

In turn: a text where the judge and people disagree most, one about which the judge is most
undecided, one of the lowest of an axis' best system (to which the page's first screen leads), and
one of those that are spread evenly over the scores, from the lowest to the highest. Where nobody
rated, or no scorer says how undecided it is, the others have that share, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice, zip_longest
from math import isfinite
from statistics import fmean
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from evaljudge.agreement.rated import Floats, Key, Rated, Text
from evaljudge.analysis.findings import Disagreement
from evaljudge.records import ANY_AXIS

WORST = 3
"""Of a system's lowest texts."""
Numbers = NDArray[np.floating[Any]]


def telling_texts(kept: Rated, headlines: Iterable[Key], wanted: int) -> list[Text]:
    """The most telling first, of all that is kept; `headlines`: the scorers and axes that count."""
    names, scores = kept.texts, {key: kept.scores[key] for key in headlines}
    lists = [
        _falling(_most_apart(kept, scores)),
        _falling(_most([kept.doubts[key] for key in scores], len(names))),
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
    """Of these texts, for each scorer and each axis that people rated: for a scorer with axes its
    own, for one without each of them."""
    places = {text: at for at, text in enumerate(kept.texts)}
    rows, found = [places[text] for text in texts], []
    for (scorer, axis), column in kept.scores.items():
        for name in [name for name in kept.human if axis in (name, ANY_AXIS)]:
            apart = disagreement(column, kept.human[name])[rows].tolist()
            found.append(Disagreement(scorer, name, [x if isfinite(x) else None for x in apart]))
    return found


def disagreement(scores: Numbers, ratings: Numbers) -> Floats:
    """How far the place of each text among the scores is from its place among the ratings, from 0
    to 1; NaN where it has no score or no rating.

    Texts of one rating share all of the places that they have together, and so do texts of one
    score: a judge that orders texts which people rate alike does not disagree with them.
    """
    scores, ratings = scores.astype(np.float32), ratings.astype(np.float32)  # as the page has them
    known = np.isfinite(scores) & np.isfinite(ratings)
    found = np.full(len(scores), np.nan)
    (first, last), (low, high) = _places_of(scores[known]), _places_of(ratings[known])
    apart = np.maximum(np.maximum(first - high, low - last), 0)
    found[known] = apart / max(known.sum() - 1, 1)
    return found


def _places_of(values: Numbers) -> tuple[Floats, Floats]:
    """The first and the last place of each value, among which it shares all."""
    return rankdata(values, "min"), rankdata(values, "max")


def _most_apart(kept: Rated, scores: Mapping[Key, Floats]) -> Floats:
    """The most disagreement of all scorers and axes; NaN where nobody rated the text."""
    apart = [
        disagreement(values, ratings)
        for name, ratings in kept.human.items()
        for (_, axis), values in scores.items()
        if axis in (name, ANY_AXIS)
    ]
    return _most(apart, len(kept.texts))


def _most(columns: Iterable[Floats], texts: int) -> Floats:
    each = [column for column in columns if len(column) == texts]
    found: Floats = np.fmax.reduce([np.full(texts, np.nan), *each])
    return found


def _falling(values: Floats) -> Iterator[int]:
    """The places of the highest values first; those without a value are left out."""
    for at in np.argsort(-values, kind="stable"):
        if np.isfinite(values[at]):
            yield int(at)


def _worst_of_the_best(scores: Mapping[Key, Floats], systems: Sequence[str]) -> Iterator[int]:
    """Of the system with the highest mean on each axis."""
    each = []
    for values in scores.values():
        known: dict[str, list[float]] = {}
        for system, value in zip(systems, values.tolist(), strict=True):
            if isfinite(value):
                known.setdefault(system, []).append(value)
        if known:
            best = max(known, key=lambda system: fmean(known[system]))
            is_its = np.array([system == best for system in systems])
            each.append(islice(_falling(np.where(is_its, -values, np.nan)), WORST))
    for same_rank in zip_longest(*each):
        yield from (at for at in same_rank if at is not None)


def _spread(scores: Mapping[Key, Floats], texts: int) -> Iterator[int]:
    """Over the mean place of each text: the ends, the middle, the quarters, and so on. Texts
    without any score come first, since they have to be explained."""
    places = [_places(values) for values in scores.values()]
    mean = np.mean(places, axis=0) if places else np.zeros(texts)
    unscored = [at for at in range(texts) if not any(np.isfinite(v[at]) for v in scores.values())]
    yield from unscored[: max(texts // 50, 5)] if scores else ()
    order = np.argsort(mean, kind="stable")
    yield from (int(order[at]) for at in _halving(texts))
    yield from range(texts)


def _places(values: Floats) -> Floats:
    ranks: Floats = rankdata(np.where(np.isfinite(values), values, np.nanmin([*values, 0.0])))
    return ranks


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
