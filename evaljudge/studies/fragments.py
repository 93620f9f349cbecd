"""What a text has from its source without any understanding: the extractive fragments of Grusky et
al. (2018), and what follows from them.

    source "a b c d e", text "b c x e"  ->  fragments [2, 1]
    coverage 3/4   density (4 + 1)/4   compression 5/4   length 4

Fragments are found greedily, as the paper's figure 3 has it: from each word of the text, the
longest run that the source shares (a scan of the source that resumes behind each run it has met),
then on from the run's end. Words are lower-cased runs of letters and digits; a punctuation mark is
a word of its own.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import nan

_WORD = re.compile(r"\w+|[^\w\s]")


@dataclass(frozen=True, slots=True)
class Correlates:
    """NaN where the text has no word."""

    coverage: float
    density: float
    compression: float
    length: float


def correlates(source: Sequence[str], texts: Sequence[Sequence[str]]) -> list[Correlates]:
    """Of several texts of one source, all as words."""
    places = _places(source)
    return [_correlates(source, places, text) for text in texts]


def words(text: str) -> list[str]:
    return _WORD.findall(text.lower())


def fragments(
    source: Sequence[str], places: Mapping[str, Sequence[int]], text: Sequence[str]
) -> list[int]:
    """The lengths of the runs."""
    found, at = [], 0
    while at < len(text):
        longest, resume = 0, 0
        for place in places.get(text[at], ()):
            if place >= resume:
                run = _run(source, place, text, at)
                longest, resume = max(longest, run), place + run
        if longest:
            found.append(longest)
        at += max(longest, 1)
    return found


def _places(source: Sequence[str]) -> Mapping[str, Sequence[int]]:
    found: dict[str, list[int]] = defaultdict(list)
    for place, word in enumerate(source):
        found[word].append(place)
    return found


def _run(source: Sequence[str], place: int, text: Sequence[str], at: int) -> int:
    most = min(len(source) - place, len(text) - at)
    return next((n for n in range(1, most) if source[place + n] != text[at + n]), most)


def _correlates(
    source: Sequence[str], places: Mapping[str, Sequence[int]], text: Sequence[str]
) -> Correlates:
    if not text:
        return Correlates(nan, nan, nan, nan)
    runs = fragments(source, places, text)
    length = len(text)
    return Correlates(
        coverage=sum(runs) / length,
        density=sum(run * run for run in runs) / length,
        compression=len(source) / length,
        length=float(length),
    )
