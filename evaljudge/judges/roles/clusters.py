"""Which of the roles vote: the static ones, and one of every kind of the invented ones.

    static      general public, critic, news author
    dynamic     ordinary readers, politicians, lawmakers, a journalist, residents of Nevada
    keep 2      general public, critic, news author, politicians, residents of Nevada
    dropped     ordinary readers: in one cluster with the static role “general public”
                lawmakers: in one cluster with “politicians”, which is nearer its centre

Static and dynamic roles are clustered together by k-means over their sentence vectors. A cluster
that holds a static role adds no other; of every other cluster, the role nearest the centre stays.
There are as few clusters as leave `keep` dynamic roles, or each role is a cluster of its own.

The result is the same on any machine and needs no seed, as nothing is random: k-means starts from
the static roles and then, one after another, the role farthest from all before it, so that one
start is enough. Distances are rounded to DIGITS, far above what machines differ in, and ties go to
the earlier role (the two roles of a cluster of two are always equally near its centre). k-means
runs on one thread until nothing moves. Near-duplicates count as one role from the beginning.
"""

from collections.abc import Sequence

import numpy as np

from evaljudge.agreement.pairs import Floats
from evaljudge.judges.roles.briefs import Role
from evaljudge.model.asks import Vector

ALIKE = 0.999  # roles with at least this cosine count as one
DIGITS = 9  # decimals of the distances that are compared
Clusters = list[list[int]]  # the points of each cluster, the nearest to the centre first


def survivors(
    static: Sequence[Role], dynamic: Sequence[Role], vectors: Sequence[Vector], keep: int
) -> tuple[list[Role], list[tuple[Role, str]]]:
    """The dynamic roles that stay, and the others with the reason, each in their given order.

    `vectors`: one of length 1 for each role, static roles first.
    """
    if not dynamic:
        return [], []
    roles, every, fixed = [*static, *dynamic], np.array(vectors, dtype=np.float64), len(static)
    first = _first_alike(every)
    points = sorted(set(first))
    places = _clustered(every[points], sum(point < fixed for point in points), keep)
    clusters = [[points[point] for point in cluster] for cluster in places]
    free = [cluster for cluster in clusters if min(cluster) >= fixed]
    largest = sorted(free, key=lambda cluster: (-len(cluster), min(cluster)))
    stay = sorted(cluster[0] for cluster in largest[:keep])

    def why(at: int) -> str:
        if first[at] != at:
            return f"the same as “{roles[first[at]].type}”"
        [mine] = [cluster for cluster in clusters if at in cluster]
        if min(mine) < fixed:
            return f"in one cluster with the static role “{roles[min(mine)].type}”"
        if mine[0] != at:
            return f"in one cluster with “{roles[mine[0]].type}”, which is nearer its centre"
        return "in a smaller cluster, of which there are too many"

    dropped = [(roles[at], why(at)) for at in range(fixed, len(roles)) if at not in stay]
    return [roles[at] for at in stay], dropped


def _first_alike(vectors: Floats) -> list[int]:
    """The first role that each role is a near-duplicate of; mostly the role itself."""
    same = (vectors[:, None] == vectors).all(axis=2)
    alike = same | ((vectors @ vectors.T).round(DIGITS) >= ALIKE)
    first: list[int] = []
    for at in range(len(vectors)):
        first.append(next((i for i in range(at) if first[i] == i and alike[i, at]), at))
    return first


def _clustered(points: Floats, fixed: int, keep: int) -> Clusters:
    """As few clusters as leave at least `keep` without a static role, or as many as possible."""
    from threadpoolctl import threadpool_limits

    with threadpool_limits(limits=1):
        order = _farthest_first(points, fixed)
        for count in range(min(fixed + keep, len(points)), len(points) + 1):
            clusters = _k_means(points, points[order[:count]])
            if sum(min(cluster) >= fixed for cluster in clusters) >= keep:
                break
    return clusters


def _farthest_first(points: Floats, fixed: int) -> list[int]:
    """The static roles, or else the point nearest the mean; then always the farthest from these."""
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
