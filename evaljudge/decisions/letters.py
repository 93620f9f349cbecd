"""Groups that cannot be told apart, as letters: a compact letter display.

    letters([[0, 0, 1], [0, 0, 0], [1, 0, 0]])  -> ["a", "ab", "b"]

Two share a letter exactly where they are not told apart (Piepho, 2004). Every letter is a clique of
the graph that joins those, grown from a pair that shares no letter yet; a letter that the others
make superfluous is dropped (Gramm et al., 2007, compare such ways to few letters).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from string import ascii_lowercase

import numpy as np
from numpy.typing import ArrayLike, NDArray

Flags = NDArray[np.bool_]


def letters(apart: ArrayLike) -> list[str]:
    """`apart`: (items, items), whether two are told apart; items in the order they are shown in."""
    joined = ~np.asarray(apart, dtype=bool)
    np.fill_diagonal(joined, True)
    groups = sorted(_needed(list(_cliques(joined))), key=lambda g: np.flatnonzero(g).tolist())
    named = [(_letter(number), group) for number, group in enumerate(groups)]
    return ["".join(name for name, group in named if group[i]) for i in range(len(joined))]


def _cliques(joined: Flags) -> Iterator[Flags]:
    """Every item, and every pair that is joined, is in one of them."""
    covered = np.zeros_like(joined)
    for one in range(len(joined)):
        for other in range(one, len(joined)):
            if joined[one, other] and not covered[one, other]:
                clique = _grown(joined, one, other)
                covered |= np.outer(clique, clique)
                yield clique


def _grown(joined: Flags, one: int, other: int) -> Flags:
    """With those after `one` first, then those before it, as long as all are joined."""
    fitting: Flags = joined[one] & joined[other]
    order = np.roll(np.arange(len(joined)), -one)
    for item in order:
        if fitting[item]:
            fitting = fitting & joined[item]
    return fitting


def _needed(groups: Sequence[Flags]) -> list[Flags]:
    """Without those whose pairs are all in another, too."""
    times = sum((np.outer(group, group).astype(int) for group in groups), start=np.zeros(1, int))
    kept = []
    for group in groups:
        own = np.outer(group, group)
        if (times[own] > 1).all():
            times = times - own
        else:
            kept.append(group)
    return kept


def _letter(number: int) -> str:
    """a to z, then a2 to z2: letters that are written together can still be read."""
    turn, place = divmod(number, len(ascii_lowercase))
    return ascii_lowercase[place] + (str(turn + 1) if turn else "")
