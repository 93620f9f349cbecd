"""Which of the roles are asked: the static ones, and of those invented one of every kind.

    static      general public, critic, news author
    dynamic     ordinary readers, politicians, lawmakers, a journalist, residents of Nevada
    keep 2      general public, critic, news author, politicians, residents of Nevada
    dropped     ordinary readers: in one cluster with the static role “general public”
                lawmakers: in one cluster with “politicians”, which is nearer its centre

Static and dynamic roles are clustered together by k-means over their sentence vectors. A cluster
that holds a static role adds no other; of every other cluster the role nearest the centre stays.
The clusters are as few as leave `keep` dynamic roles. Where each role is a cluster of its own and
`keep` are still not there, `note` says so.

The roles are the same on any machine, and without a seed, as nothing is drawn: k-means starts from
the static roles and, one after another, the role farthest from all before it, so one start is
enough. What is compared here is rounded far above what machines differ in, and ties go to the
earlier role: the two of a cluster of two are always equally near its centre. k-means itself runs
on one thread over vectors of six digits until nothing moves: only a role exactly between two
centres could fall to either. Near-duplicates count as one before all that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evaljudge.judges.roles.readers import Role
from evaljudge.model.asks import Vector

ALIKE = 0.999
"""The cosine from which two roles are one."""
DIGITS = 9
"""Of distances, when they are compared."""
Floats = NDArray[np.float64]
Clusters = list[list[int]]
"""Of each cluster its points, nearest to the centre first."""


@dataclass(frozen=True, slots=True)
class Survivors:
    """The static roles, then the dynamic ones that stay, in the order in which they came.

    `clusters`: how many k-means made; 0 where it was not needed. `dropped`: who, and why.
    """

    roles: tuple[Role, ...]
    clusters: int
    dropped: tuple[tuple[Role, str], ...] = ()
    note: str = ""


def survivors(
    static: Sequence[Role], dynamic: Sequence[Role], vectors: Sequence[Vector], keep: int
) -> Survivors:
    """`vectors`: of each role one of length 1, of static roles first."""
    roles = [*static, *dynamic]
    if len(vectors) != len(roles):
        raise ValueError(f"{len(vectors)} vectors of {len(roles)} roles")
    if not keep or not dynamic:
        why = "no dynamic role is wanted"
        return Survivors(tuple(static), 0, tuple((role, why) for role in dynamic), _note(0, keep))
    first = _first_alike(np.array(vectors, dtype=np.float64))
    points = sorted(set(first))
    fixed = sum(point < len(static) for point in points)
    found = _clustered(np.array([vectors[p] for p in points], dtype=np.float64), fixed, keep)
    clusters = [[points[point] for point in cluster] for cluster in found]
    stay = {points[point] for point in _staying(found, fixed, keep)}
    dropped = tuple(
        (roles[at], _why(at, clusters, first[at], roles, len(static)))
        for at in range(len(static), len(roles))
        if at not in stay
    )
    kept = (roles[at] for at in sorted(stay))
    return Survivors((*static, *kept), len(clusters), dropped, _note(len(stay), keep))


def first_come(static: Sequence[Role], dynamic: Sequence[Role], keep: int) -> Survivors:
    """Without clusters: the first so many."""
    left = tuple((role, "more than are wanted") for role in dynamic[keep:])
    stay = dynamic[:keep]
    return Survivors((*static, *stay), 0, left, _note(len(stay), keep))


def _note(kept: int, keep: int) -> str:
    if kept == keep:
        return ""
    return f"{kept} of {keep} dynamic roles: no more of them are distinct"


def _first_alike(vectors: Floats) -> list[int]:
    """Of each role, the first that it is a near-duplicate of; of most, the role itself."""
    first: list[int] = []
    for at, vector in enumerate(vectors):
        earlier = (i for i in range(at) if first[i] == i and _alike(vectors[i], vector))
        first.append(next(earlier, at))
    return first


def _alike(one: Floats, other: Floats) -> bool:
    return round(float(one @ other), DIGITS) >= ALIKE or bool((one == other).all())


def _clustered(points: Floats, fixed: int, keep: int) -> Clusters:
    """As few clusters as leave so many without a static role; else the most there can be.

    From one number to the next there can be two more at once: then that is enough.
    """
    from threadpoolctl import (  # type: ignore[import-untyped, unused-ignore]
        threadpool_limits,
    )

    with threadpool_limits(limits=1):
        order = _farthest_first(points, fixed)
        for count in range(min(fixed + keep, len(points)), len(points) + 1):
            found = _k_means(points, points[order[:count]])
            if len(_free(found, fixed)) >= keep:
                break
    return found


def _farthest_first(points: Floats, fixed: int) -> list[int]:
    """Static roles, then each time the farthest from all before; without any, from the middle."""
    order = list(range(fixed)) or [int(_distances(points, points.mean(axis=0)).argmin())]
    gaps = np.min([_distances(points, points[at]) for at in order], axis=0)
    while len(order) < len(points):
        gaps[order] = -1.0
        order.append(int(gaps.argmax()))
        gaps = np.minimum(gaps, _distances(points, points[order[-1]]))
    return order


def _distances(points: Floats, centre: Floats) -> Floats:
    squares: Floats = ((points - centre) ** 2).sum(axis=1).round(DIGITS)
    return squares


def _k_means(points: Floats, start: Floats) -> Clusters:
    from sklearn.cluster import KMeans

    fitted = KMeans(len(start), init=start, n_init=1, tol=0, random_state=0).fit(points)
    nearest = []
    for cluster in range(len(start)):
        mine = np.flatnonzero(fitted.labels_ == cluster)
        gaps = _distances(points[mine], points[mine].mean(axis=0))
        nearest.append([int(at) for at in mine[np.argsort(gaps, kind="stable")]])
    return nearest


def _free(found: Clusters, fixed: int) -> Clusters:
    """The clusters that hold no static role."""
    return [cluster for cluster in found if min(cluster) >= fixed]


def _staying(found: Clusters, fixed: int, keep: int) -> list[int]:
    """The nearest of each such cluster; of the largest clusters, if there are too many."""
    largest = sorted(_free(found, fixed), key=lambda cluster: (-len(cluster), min(cluster)))
    return [cluster[0] for cluster in largest[:keep]]


def _why(at: int, clusters: Sequence[Sequence[int]], first: int, roles: Sequence[Role],
         fixed: int) -> str:  # fmt: skip
    """Why this dynamic role is dropped; `first`: what it is a near-duplicate of."""
    if first != at:
        return f"the same as “{roles[first].type}”"
    [mine] = [cluster for cluster in clusters if at in cluster]
    if min(mine) < fixed:
        return f"in one cluster with the static role “{roles[min(mine)].type}”"
    if mine[0] != at:
        return f"in one cluster with “{roles[mine[0]].type}”, which is nearer its centre"
    return "in a smaller cluster, of which there are too many"
