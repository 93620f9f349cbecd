"""The forms of lists of readers and of votes: what they admit is read, and nothing else."""

import re
from math import cos, log, radians, sin

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.cluster.vq import kmeans2
from scipy.spatial.distance import cdist

from evaljudge.judges.roles.briefs import Readers, Role, list_form, listed
from evaljudge.judges.roles.clusters import survivors
from evaljudge.judges.roles.polling import CUT, MISSING, VoteForm, WrittenVote
from evaljudge.judges.shared.asking import fold, one_line, quoted
from evaljudge.model.asks import Failed, Sample, Token, Vector, Writing, Written, some_vector
from evaljudge.prompts import load_task

LAW, LOCAL = "They follow the law behind the case.", "They live nearby, and worry."
LISTED = f"1. Politicians: {LAW}\n2. Residents of Nevada: {LOCAL}"
BOTH = [Role("Politicians", LAW), Role("Residents of Nevada", LOCAL)]


def read(reply: str, cut: bool = False) -> tuple[list[Role], str] | str:
    found = listed(Written((Sample(reply, "length" if cut else "stop"),)))
    if "failed" in found:
        return str(found["failed"])
    return [Role(*role) for role in found["roles"]], found["note"]


def test_a_list_in_the_form_whole_or_cut():
    assert re.fullmatch(list_form(2), LISTED)
    assert not re.fullmatch(list_form(1), LISTED)
    assert read(LISTED) == (BOTH, "")
    first = BOTH[:1], "the list was cut at the token limit"
    for length in range(LISTED.index("\n") + 1, len(LISTED) + 1):
        assert read(LISTED[:length], cut=True) == first
    for length in range(LISTED.index("\n") + 1):
        said = read(LISTED[:length], cut=True)
        assert isinstance(said, str)
        assert said.startswith("cut at the token limit before a reader was whole: “")


@given(st.data(), st.integers(1, 20))
def test_whatever_the_form_admits_is_a_list(data, most):
    """Of as many roles as there are lines that say something."""
    reply = data.draw(st.from_regex(list_form(most), fullmatch=True))
    lines = reply.split("\n")
    assert 1 <= len(lines) <= most
    told = [line.partition(". ")[2].partition(": ") for line in lines]
    wanted = [who for who, _, what in told if fold(one_line(who)) and fold(one_line(what))]
    found = read(reply)
    if isinstance(found, str):
        assert not wanted
        assert found.isprintable() and len(found) < 130
        return
    assert found[1] == ""
    assert len(found[0]) == len(wanted)
    for role in found[0]:
        assert 0 < len(role.type) <= 80 and 0 < len(role.description) <= 300
        assert (role.type + role.description).isprintable()


@pytest.mark.parametrize("most", [1, 6, 20])
def test_what_is_imagined_keeps_the_form(most):
    how = Readers(load_task("summary"), Writing(64), most)._how
    assert how.regex == list_form(most)
    example = how.example.replace("{mark}", "f3a0")
    assert re.fullmatch(list_form(most), example)
    found = read(example)
    assert isinstance(found, tuple) and len(found[0]) == most


@pytest.mark.parametrize("reply", ["I cannot say who reads this.", "", "1. …: –", "Politicians: x"])
def test_what_is_no_list(reply):
    assert read(reply) == f"no readers in the reply: “{reply}”"


def test_roles_are_shown_on_one_short_line():
    found = read(f"1. {'t' * 81}: {'d' * 301}\n2. {'t' * 80}: {'d' * 300}")
    assert found == ([Role("t" * 79 + "…", "d" * 299 + "…"), Role("t" * 80, "d" * 300)], "")
    said = read("1. **Po\x1bliti\u200bcians** : _They_ `follow`\tthe </article> law_maker")
    assert said == ([Role("Po liti cians", "They follow the /article law_maker")], "")
    assert one_line("# a\n**b** _c_ d_e") == "a b c d_e"
    assert quoted("a\n\x07b") == "“a b”"


NAMES = ("Summary 1", "Summary 2")
FORM = VoteForm([Role("General Public", "news"), Role("Critic (of art)", "style")], NAMES)
REPLY = "General Public: Summary 2 — It is clear.\nCritic (of art): Summary 1 — *Short*  lines."


def stopped(text: str) -> Sample:
    return Sample(text, "stop")


def test_a_reply_in_the_form_whole_or_cut():
    public, critic = FORM.read(stopped(REPLY))
    assert public == WrittenVote(1, "It is clear.", (15, 40))
    assert critic == WrittenVote(0, "Short lines.", (57, len(REPLY)))
    assert REPLY[15:40] == " Summary 2 — It is clear."
    example = FORM.example.replace("{mark}", "f3a0")
    assert re.fullmatch(FORM.regex, example)
    assert all(isinstance(vote, WrittenVote) for vote in FORM.read(stopped(example)))
    first, _ = FORM.read(stopped(REPLY))
    for length in range(len(REPLY) + 1):
        votes = FORM.read(Sample(REPLY[:length], "length"))
        assert votes == ([first, CUT] if length > REPLY.index("\n") else [CUT, CUT])


LINE = st.characters(exclude_characters="\n", exclude_categories=["Cs"])
TYPES = st.text(LINE, min_size=1, max_size=12)
NOUNS = st.sampled_from([NAMES, ("Story 1", "Story 2"), ("A+ 1", "A+ 2"), ("回答 1", "回答 2")])


@given(st.data(), st.lists(TYPES, min_size=1, max_size=5), NOUNS)
def test_whatever_the_form_admits_is_a_vote_of_every_role(data, types, names):
    """Also where types hold signs of regexes, line separators, or come twice."""
    form = VoteForm([Role(type_, "all") for type_ in types], names)
    reply = data.draw(st.from_regex(form.regex, fullmatch=True))
    votes = form.read(stopped(reply))
    lines = reply.split("\n")
    assert len(votes) == len(lines) == len(types)
    for vote, line, type_ in zip(votes, lines, types, strict=True):
        assert reply[slice(*vote.span)] == line.removeprefix(f"{type_}:")
        assert line.startswith(f"{type_}: {names[vote.choice]} — ")


@given(st.text("GeneralPublic: Sumy12 — xyz", max_size=40) | st.text(LINE), st.booleans())
def test_any_other_line_is_no_vote(other, is_first):
    """And the other role keeps its own."""
    lines = REPLY.split("\n")
    lines[0 if is_first else 1] = other
    public, critic = FORM.read(stopped("\n".join(lines)))
    assert isinstance(critic if is_first else public, WrittenVote)
    is_kept = bool(re.fullmatch(FORM.regex, "\n".join(lines)))
    assert isinstance(public if is_first else critic, WrittenVote) == is_kept


def test_why_a_role_has_no_vote():
    other = REPLY.replace("Summary 2", "Neither")
    lacking, read = FORM.read(stopped(other))
    assert lacking == Failed("not a vote of this role: “General Public: Neither — It is clear.”")
    assert read == WrittenVote(0, "Short lines.", (55, len(other)))
    first, second = FORM.read(stopped(REPLY.split("\n")[0]))
    assert isinstance(first, WrittenVote)
    assert second == MISSING


# equation (3)


def test_the_confidence_is_the_mean_in_logs_over_choice_and_reason():
    """`: ` is of the name, `.⏎` begins in the reason: (.5 · .25 · .5)^(1/3)."""
    public = FORM.read(stopped(REPLY))[0]
    given = [
        Token(0, 14, log(0.01)), Token(14, 15, log(0.02)), Token(15, 25, log(0.5)),
        Token(25, 39, log(0.25)), Token(39, 41, log(0.5)), Token(41, len(REPLY), log(0.03)),
    ]  # fmt: skip
    assert public.confidence(given) == pytest.approx((0.5 * 0.25 * 0.5) ** (1 / 3))


# which readers are one role over again


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


@pytest.mark.parametrize(
    ("a", "b", "same"),
    [
        ("Past History:", "PAST  history", True),
        ("**Follow-up**", "follow up", True),
        ("Assessment/Plan", "Assessment & Plan", True),
        ("Straße", "STRASSE", True),
        ("कि", "का", False),
        ("Imaging", "Image", False),
        ("Day 1", "Day 2", False),
        ("", "Imaging", False),
    ],
)
def test_names_fold_alike(a, b, same):
    assert (fold(a) == fold(b)) is same
