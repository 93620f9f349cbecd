"""Two refinements of n-gram importance, as in the authors' released code: peaks, and new words.

salient(w=[1, 5, 2], first=[0, 1, 2])  ->  [0.1, 5, 0.2]     both stand beside 5
novel(w=[9, 4], first=[0, 1], members=[[7, 8], [8, 9]])  ->  [9, 4 / 1.5]     8 was seen
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from evaljudge.metrics.tokens import Counts, Ids

Floats = NDArray[np.float64]

BEFORE, AFTER = 2, 1
DEMOTION, SEEN_AGAIN = 10.0, 0.5


def salient(w: Floats, first: Counts) -> Floats:
    """A tenth, unless no neighbour is larger; they stand in the order in which they first come."""
    order = np.argsort(first)
    padded = np.pad(w[order], (BEFORE, AFTER), constant_values=-np.inf)
    largest = np.lib.stride_tricks.sliding_window_view(padded, BEFORE + 1 + AFTER).max(axis=1)
    found = np.empty_like(w)
    found[order] = np.where(w[order] >= largest, w[order], w[order] / DEMOTION)
    return found


def novel(w: Floats, first: Counts, members: Ids) -> Floats:
    """From the most important down, less for each time that a token was seen before.

    `members`: the tokens of each n-gram; of equal importance, the one that comes `first` is first.
    """
    order = np.lexsort([first, -w])
    seen = _seen_before(members[order].ravel()).reshape(members.shape)
    found = np.empty_like(w)
    found[order] = w[order] / (1 + SEEN_AGAIN * seen.sum(axis=1))
    return found


def _seen_before(tokens: Ids) -> Counts:
    """How often each token has come before, at each place."""
    order = np.argsort(tokens, kind="stable")
    run = np.concatenate([[0], np.flatnonzero(np.diff(tokens[order])) + 1])
    starts = np.repeat(run, np.diff(np.append(run, tokens.size)))
    seen = np.empty(tokens.size, np.int64)
    seen[order] = np.arange(tokens.size) - starts
    return seen
