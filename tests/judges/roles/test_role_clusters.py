"""Clusters of roles: who stays, who is dropped and why; by hand, by a naive k-means, for real."""

from __future__ import annotations

from math import cos, radians, sin

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

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


def test_paraphrases_merge() -> None:
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


def test_near_duplicates_count_as_one() -> None:
    """cos 2.5° = .99905, cos 2.6° = .99897; of two alike the earlier stays, a static one first."""
    stay, dropped = survivors(named("a"), named("b c d"), at(0, 2.5, 90, 92.5), 3)
    assert stay == named("c")
    assert why(dropped) == {"b": "the same as “a”", "d": "the same as “c”"}
    stay, _ = survivors(named("a"), named("b c d"), at(0, 2.6, 90, 92.6), 3)
    assert stay == named("b c d")


def naive(vectors: list[Vector], fixed: int, keep: int) -> set[int]:
    """The definition with loops: farthest-first, then Lloyd's rounds until nothing moves."""

    def gap(one: Vector, other: Vector) -> float:
        return sum((x - y) ** 2 for x, y in zip(one, other, strict=True))

    def mean(points: list[Vector]) -> Vector:
        return tuple(sum(column) / len(points) for column in zip(*points, strict=True))

    everyone = range(len(vectors))
    for count in range(min(fixed + keep, len(vectors)), len(vectors) + 1):
        middle = mean(vectors)
        order = list(range(fixed)) or [min(everyone, key=lambda i: gap(vectors[i], middle))]
        while len(order) < count:
            left = [i for i in everyone if i not in order]
            order.append(max(left, key=lambda i: min(gap(vectors[i], vectors[j]) for j in order)))
        centres = [vectors[i] for i in order]
        groups: list[list[int]] = []
        while True:
            near = [min(range(count), key=lambda c: gap(vectors[i], centres[c])) for i in everyone]
            found = [[i for i in everyone if near[i] == c] for c in range(count)]
            assert all(found), "an empty cluster"
            if found == groups:
                break
            groups = found
            centres = [mean([vectors[i] for i in group]) for group in groups]
        free = [(g, c) for g, c in zip(groups, centres, strict=True) if min(g) >= fixed]
        if len(free) >= keep:
            break
    free = sorted(free, key=lambda pair: (-len(pair[0]), nearest(pair[0], vectors, pair[1])))
    return {nearest(group, vectors, centre) for group, centre in free[:keep]}


def nearest(group: list[int], vectors: list[Vector], centre: Vector) -> int:
    gaps = {
        i: round(sum((x - y) ** 2 for x, y in zip(vectors[i], centre, strict=True)), 9)
        for i in group
    }
    return min(group, key=lambda i: gaps[i])


@pytest.mark.parametrize("fixed", [0, 1, 3])
@pytest.mark.parametrize("keep", [1, 2, 4, 6])
def test_against_a_naive_k_means(fixed: int, keep: int) -> None:
    for seed in range(8):
        vectors = [
            tuple(round(x, 6) for x in some_vector(f"{seed} {i}", 5)) for i in range(fixed + 14)
        ]
        static = [Role(f"s{i}", "static") for i in range(fixed)]
        dynamic = [Role(f"d{i}", "dynamic") for i in range(14)]
        stay, _ = survivors(static, dynamic, vectors, keep)
        assert stay == [dynamic[i - fixed] for i in sorted(naive(vectors, fixed, keep))]


POINTS = st.lists(st.sampled_from(range(0, 360, 3)), max_size=14)


@given(st.integers(0, 3), POINTS, st.sampled_from([1, 2, 4, 6]))
@settings(deadline=None)
def test_everyone_stays_or_is_dropped(fixed: int, places: list[int], keep: int) -> None:
    fixed = min(fixed, len(places))
    roles = [Role(f"r{i}", "a role") for i in range(len(places))]
    vectors = [some_vector(str(place), 3) for place in places]
    stay, dropped = survivors(roles[:fixed], roles[fixed:], vectors, keep)
    everyone = sorted(role.type for role in [*stay, *(role for role, _ in dropped)])
    assert everyone == sorted(role.type for role in roles[fixed:])
    distinct = set(places[fixed:]) - set(places[:fixed])
    assert len(stay) == min(keep, len(distinct))
