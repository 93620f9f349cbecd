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

from evaljudge.agreement.rated import Floats, Key
from evaljudge.analysis.findings import Disagreement
from evaljudge.analysis.tables import Tables
from evaljudge.records import ANY_AXIS

STEPS = 100
"""Of the range of scores: two in one step count as the same where they are compared with people."""
WORST = 3
"""Of a system's lowest texts."""
Numbers = NDArray[np.floating[Any]]
Text = tuple[str, str]
"""Its document and its system."""


def telling_texts(tables: Tables, headlines: Iterable[Key], wanted: int) -> list[Text]:
    """The most telling first; `headlines`: the scorers and axes that count."""
    names = [(one.doc_id, one.system) for one in tables.kept]
    scores = {key: np.array(tables.columns[key].kept) for key in headlines}
    doubts = {key: np.array(tables.columns[key].doubts) for key in headlines}
    lists = [
        _falling(_most_apart(tables, scores)),
        _falling(_most(doubts.values(), len(names))),
        _worst_of_the_best(scores, [one.system for one in tables.kept]),
        _spread(scores, len(names)),
    ]
    chosen = dict[int, None]()
    while len(chosen) < min(wanted, len(names)):
        for candidates in lists:
            new = (at for at in candidates if at not in chosen)
            chosen |= dict.fromkeys(islice(new, 1))
    return [names[at] for at in islice(chosen, wanted)]


def disagreements(tables: Tables, texts: Sequence[Text]) -> list[Disagreement]:
    """Of these texts, for each scorer and axis that people rated."""
    places = {(one.doc_id, one.system): at for at, one in enumerate(tables.kept)}
    rows, rated = [places[text] for text in texts], tables.ratings()
    found = []
    for (scorer, axis), column in tables.columns.items():
        if axis in rated:
            apart = disagreement(np.array(column.kept), rated[axis])[rows].tolist()
            found.append(Disagreement(scorer, axis, [x if isfinite(x) else None for x in apart]))
    return found


def disagreement(scores: Numbers, ratings: Numbers) -> Floats:
    """How far the place of each text among the scores is from its place among the ratings, from 0
    to 1; NaN where it has no score or no rating. Scores that are nearly equal share their place:
    a judge that is always certain gives 9.98 and 10.00 where people give the same 5."""
    known = np.isfinite(scores) & np.isfinite(ratings)
    found = np.full(len(scores), np.nan)
    places = [rankdata(values) for values in (_in_steps(scores[known]), ratings[known])]
    found[known] = np.abs(places[0] - places[1]) / max(known.sum() - 1, 1)
    return found


def _in_steps(values: Numbers) -> Floats:
    """Rounded to a part of their range; first to float32, as the page has them."""
    values = values.astype(np.float32).astype(np.float64)
    low, high = (values.min(), values.max()) if len(values) else (0.0, 0.0)
    steps: Floats = np.round((values - low) / ((high - low) or 1.0) * STEPS)
    return steps


def _most_apart(tables: Tables, scores: Mapping[Key, Floats]) -> Floats:
    """The most disagreement of all scorers and axes; NaN where nobody rated the text."""
    rated = tables.ratings()
    apart = [
        disagreement(values, ratings)
        for (_, axis), values in scores.items()
        for name, ratings in rated.items()
        if axis in (name, ANY_AXIS)
    ]
    return _most(apart, len(tables.kept))


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
