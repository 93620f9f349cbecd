"""Clusters of roles: who stays, who is dropped and why; by hand, and by scipy."""

from math import cos, radians, sin

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.cluster.vq import kmeans2
from scipy.spatial.distance import cdist

from evaljudge.judges.roles.briefs import Role
from evaljudge.judges.roles.clusters import survivors
from evaljudge.model.asks import Vector, some_vector


def named(types: str) -> list[Role]:
    return [Role(type_, f"reads as {type_}") for type_ in types.split()]


def at(*degrees: float) -> list[Vector]:
    """Directions in the plane."""
    return [(round(cos(radians(d)), 6), round(sin(radians(d)), 6)) for d in degrees]


def why(dropped: list[tuple[Role, str]]) -> dict[str, str]:
    return {role.type: reason for role, reason in dropped}


def test_paraphrases_merge():
    """Two clusters of their own, one around a static role."""
    roles = named("reader citizen lawyer judge solicitor farmer")
    stay, dropped = survivors(named("public"), roles, at(0, 5, 10, 90, 100, 110, 200), 2)
    assert stay == named("judge farmer")
    assert why(dropped) == {
        "reader": "in one cluster with the static role “public”",
        "citizen": "in one cluster with the static role “public”",
        "lawyer": "in one cluster with “judge”, which is nearer its centre",
        "solicitor": "in one cluster with “judge”, which is nearer its centre",
    }


def test_near_duplicates_count_as_one():
    """cos 2.5° = .99905, cos 2.6° = .99897; of two alike the earlier stays, a static one first."""
    stay, dropped = survivors(named("a"), named("b c d"), at(0, 2.5, 90, 92.5), 3)
    assert stay == named("c")
    assert why(dropped) == {"b": "the same as “a”", "d": "the same as “c”"}
    stay, _ = survivors(named("a"), named("b c d"), at(0, 2.6, 90, 92.6), 3)
    assert stay == named("b c d")


def by_scipy(vectors: list[Vector], fixed: int, keep: int) -> list[int]:
    """The definition: farthest-first, then Lloyd's rounds until nothing moves."""
    points = np.array(vectors)
    gaps = cdist(points, points, "sqeuclidean")
    middle = cdist([points.mean(axis=0)], points, "sqeuclidean")
    for count in range(min(fixed + keep, len(points)), len(points) + 1):
        order = list(range(fixed)) or [int(middle.argmin())]
        while len(order) < count:
            order.append(int(gaps[:, order].min(axis=1).argmax()))
        _, labels = kmeans2(points, points[order], iter=50, minit="matrix", missing="raise")
        groups = [[int(i) for i in np.flatnonzero(labels == group)] for group in range(count)]
        free = [group for group in groups if min(group) >= fixed]
        if len(free) >= keep:
            break
    largest = sorted(free, key=lambda group: (-len(group), min(group)))[:keep]
    return sorted(nearest(points, group) for group in largest)


def nearest(points: NDArray[np.float64], group: list[int]) -> int:
    """To the group's centre; of a group of two, the earlier."""
    gaps = ((points[group] - points[group].mean(axis=0)) ** 2).sum(axis=1)
    return group[int(gaps.round(9).argmin())]


@pytest.mark.parametrize("fixed", [0, 1, 3])
@pytest.mark.parametrize("keep", [1, 2, 4, 6])
def test_against_another_k_means(fixed, keep):
    for seed in range(8):
        vectors = [
            tuple(round(x, 6) for x in some_vector(f"{seed} {i}", 5)) for i in range(fixed + 14)
        ]
        static = [Role(f"s{i}", "static") for i in range(fixed)]
        dynamic = [Role(f"d{i}", "dynamic") for i in range(14)]
        stay, _ = survivors(static, dynamic, vectors, keep)
        assert stay == [dynamic[i - fixed] for i in by_scipy(vectors, fixed, keep)]


POINTS = st.lists(st.sampled_from(range(0, 360, 3)), max_size=14)


@given(st.integers(0, 3), POINTS, st.sampled_from([1, 2, 4, 6]))
@settings(deadline=None)
def test_everyone_stays_or_is_dropped(fixed, places, keep):
    fixed = min(fixed, len(places))
    roles = [Role(f"r{i}", "a role") for i in range(len(places))]
    vectors = [some_vector(str(place), 3) for place in places]
    stay, dropped = survivors(roles[:fixed], roles[fixed:], vectors, keep)
    everyone = sorted(role.type for role in [*stay, *(role for role, _ in dropped)])
    assert everyone == sorted(role.type for role in roles[fixed:])
    distinct = set(places[fixed:]) - set(places[:fixed])
    assert len(stay) == min(keep, len(distinct))
