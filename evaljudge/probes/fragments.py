"""What a text copies from its source: the extractive fragments of Grusky et al. (2018), and
measures of them.

    source "a b c d e", text "b c x e"  ->  fragments [2, 1]
    coverage 3/4   density (4 + 1)/4   compression 5/4   length 4

Fragments are found greedily, as in the paper's figure 3: take the longest run that the text, from
this word on, shares with the source, and go on at the run's end. The scan of the source for it
resumes behind each run it has found. Words are lower-cased runs of letters and digits; a
punctuation mark is a word of its own.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Sequence
from functools import cache, partial
from itertools import chain
from math import nan
from typing import NamedTuple

_WORD = re.compile(r"\w+|[^\w\s]")
_OF_SOURCE, _OF_TEXT = "\0", "\1"  # words that the other side lacks


class Correlates(NamedTuple):
    """NaN where the text has no word."""

    coverage: float
    density: float
    compression: float
    length: float


def correlates(source: Sequence[str], texts: Sequence[Sequence[str]]) -> list[Correlates]:
    """Of several texts of one source; source and texts are lists of words."""
    shared = set(source) & set(chain(*texts))
    signs = {word: chr(number) for number, word in enumerate(shared, start=2)}
    signed = "".join(signs.get(word, _OF_SOURCE) for word in source)
    return [
        _correlates(signed, "".join(signs.get(word, _OF_TEXT) for word in text)) for text in texts
    ]


def words(text: str) -> list[str]:
    return _WORD.findall(text.lower())


def fragments(source: str, text: str) -> list[int]:
    """The lengths of the runs. Each character means a word, so that strings can be searched."""
    holds, longest = cache(source.__contains__), cache(partial(_longest, source))
    found, at = [], 0
    while at < len(text):
        run = longest(_piece(holds, text, at))
        if run:
            found.append(run)
        at += max(run, 1)
    return found


def _piece(holds: Callable[[str], bool], text: str, at: int) -> str:
    """The longest piece from here on that occurs in the source; the scan depends on it alone."""
    held, tried, most = 0, 1, len(text) - at
    while tried <= most and holds(text[at : at + tried]):
        held, tried = tried, 2 * tried
    open_lengths = range(held + 1, min(tried, most + 1))
    held += bisect_left(open_lengths, True, key=lambda n: not holds(text[at : at + n]))
    return text[at : at + held]


def _longest(source: str, piece: str) -> int:
    """Only places of the first two words are tried, since shorter runs do not delay a scan. A scan
    may skip the place of the whole piece, inside a run that it has found; then it goes on to the
    end.
    """
    longest, place = 0, source.find(piece[:2])
    while place >= 0 and longest < len(piece):
        run = _run(source, place, piece)
        longest = max(longest, run)
        place = source.find(piece[:2], place + run)
    return longest


def _run(source: str, place: int, piece: str) -> int:
    most = min(len(source) - place, len(piece))
    return next((n for n in range(2, most) if source[place + n] != piece[n]), most)


def _correlates(source: str, text: str) -> Correlates:
    if not text:
        return Correlates(nan, nan, nan, nan)
    runs = fragments(source, text)
    length = len(text)
    return Correlates(
        coverage=sum(runs) / length,
        density=sum(run * run for run in runs) / length,
        compression=len(source) / length,
        length=float(length),
    )
