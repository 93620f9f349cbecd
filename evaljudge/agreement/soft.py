"""Soft pairwise accuracy of systems (Thompson, Mathur, Deutsch and Khayrallah 2024).

p-values of A > B, A > C and B > C: people .01 .30 .20, scorer .02 .60 .20
-> 1 - (.01 + .30 + 0) / 3 = .897

Pairwise accuracy asks whether scorer and people order two systems alike, and counts an order that
is mere chance as much as a certain one. Here both say how sure they are: with the p-value that the
first system is the better one, by a paired permutation test that exchanges the two systems at
random documents. One less the mean distance of the two p-values is the soft accuracy.

As in the authors' code, a p-value is the share of permutations whose difference is at least the
observed one. So it counts what is equal, which makes a tie speak against the system that comes
first, and the value depends a little on the systems' order: that of their codes. Two systems are
compared on the documents that have a pair of both.

There is no interval. The value has the uncertainty of the documents in it, and neither a percentile
bootstrap of documents nor a jackknife, which put it in once more, kept 95% in simulation.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from .agree import Agreement
from .documents import on_one_thread
from .pairs import Floats, Two, tables

PERMUTATIONS = 1000
MOST_SYSTEMS = 100  # every pair of them is tested
ROUNDING = 1e-12  # relative: differences closer than this share of their magnitudes are equal
AT_ONCE = 2**22  # numbers in one temporary array


@on_one_thread
def soft_accuracies(
    documents: ArrayLike, systems: ArrayLike, columns: Sequence[ArrayLike],
    compared: Sequence[Two], *, seed: int = 0,
) -> list[Agreement]:  # fmt: skip
    """The soft accuracy of each two columns; None with one system, or with too many systems."""
    by_place: dict[int, Agreement] = {}
    for places, table in tables(documents, systems, columns, compared):
        p = None
        if 1 < table.system_count <= MOST_SYSTEMS:
            shape = len(table.values), table.document_count, table.system_count
            values = np.full(shape, np.nan)
            values[:, table.documents, table.systems] = table.values
            p = p_values(values, PERMUTATIONS, seed)
        for alike, (left, right) in zip(places, table.compared, strict=True):
            value = None if p is None else soft_accuracy(p[left], p[right])
            count, lost = table.system_count, table.lost_systems
            row = Agreement("system", "soft_accuracy", value, None, None, count, lost)
            by_place |= dict.fromkeys(alike, row)
    return [by_place[place] for place in range(len(compared))]


def soft_accuracy(p: Floats, other: Floats) -> float | None:
    """The soft accuracy of two lists of p for the same pairs of systems; NaN: not comparable."""
    apart = np.abs(p - other)
    return float(1 - apart[np.isfinite(apart)].mean()) if np.isfinite(apart).any() else None


def p_values(values: Floats, permutations: int, seed: int) -> Floats:
    """The p of the first system being better: (columns, documents, systems) -> (columns, pairs).

    Pairs in the order of numpy's triu_indices; NaN where two systems share no document.
    """
    columns, documents, systems = values.shape
    left, right = np.triu_indices(systems, 1)
    ps = np.empty((columns, left.size))
    step = max(1, AT_ONCE // max(documents, permutations))
    for column, table in enumerate(values):
        for start in range(0, left.size, step):
            part = slice(start, start + step)
            gaps = table[:, left[part]] - table[:, right[part]]
            ps[column, part] = _p_values(gaps, permutations, seed)
    return ps


def _p_values(differences: Floats, permutations: int, seed: int) -> Floats:
    """The p-values (pairs,) from (documents, pairs)."""
    shared = np.isfinite(differences)
    filled = np.where(shared, differences, 0.0)
    least = filled.sum(axis=0) - ROUNDING * np.abs(filled).sum(axis=0)
    reached = np.zeros(least.size)
    # drawn as by the authors, so that the same seed gives the same permutations
    stream, step = np.random.default_rng(seed), max(1, AT_ONCE // len(filled))
    for start in range(0, permutations, step):
        shape = min(step, permutations - start), len(filled)
        exchanged = np.where(stream.random(shape, dtype=np.float32) > 0.5, 1.0, -1.0)
        reached += np.count_nonzero(exchanged @ filled >= least, axis=0)
    return np.where(shared.any(axis=0), reached / permutations, np.nan)
