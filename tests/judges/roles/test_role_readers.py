"""Lists of readers: whatever keeps the form is read, and what is shown is one clean line."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaljudge.judges.roles.briefs import Readers, Role, list_form, roles_in
from evaljudge.judges.shared.asking import fold, one_line, quoted
from evaljudge.model.asks import Failed, Sample, Writing
from evaljudge.prompts import load_task

LAW, LOCAL = "They follow the law behind the case.", "They live nearby, and worry."
LISTED = f"1. Politicians: {LAW}\n2. Residents of Nevada: {LOCAL}"
BOTH = [Role("Politicians", LAW), Role("Residents of Nevada", LOCAL)]


def read(reply: str, cut: bool = False) -> tuple[list[Role], str] | str:
    found = roles_in(Sample(reply, "length" if cut else "stop"))
    return found.reason if isinstance(found, Failed) else found


def test_a_list_in_the_form() -> None:
    assert re.fullmatch(list_form(2), LISTED)
    assert not re.fullmatch(list_form(1), LISTED)
    assert read(LISTED) == (BOTH, "")


@given(st.data(), st.integers(1, 20))
def test_whatever_the_form_admits_is_a_list(data: st.DataObject, most: int) -> None:
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
def test_what_is_imagined_keeps_the_form(most: int) -> None:
    how = Readers("roles", load_task("summary"), Writing(64), most)._how
    assert how.regex == list_form(most)
    example = how.example.replace("{mark}", "f3a0")
    assert re.fullmatch(list_form(most), example)
    found = read(example)
    assert isinstance(found, tuple) and len(found[0]) == most


def test_a_list_that_was_cut_keeps_its_whole_lines() -> None:
    first = BOTH[:1], "the list was cut at the token limit"
    for length in range(LISTED.index("\n") + 1, len(LISTED) + 1):
        assert read(LISTED[:length], cut=True) == first
    for length in range(LISTED.index("\n") + 1):
        said = read(LISTED[:length], cut=True)
        assert isinstance(said, str)
        assert said.startswith("cut at the token limit before a reader was whole: “")


@pytest.mark.parametrize("reply", ["I cannot say who reads this.", "", "1. …: –", "Politicians: x"])
def test_what_is_no_list(reply: str) -> None:
    assert read(reply) == f"no readers in the reply: “{reply}”"


def test_long_roles_are_shortened() -> None:
    found = read(f"1. {'t' * 81}: {'d' * 301}\n2. {'t' * 80}: {'d' * 300}")
    assert found == ([Role("t" * 79 + "…", "d" * 299 + "…"), Role("t" * 80, "d" * 300)], "")


def test_what_is_shown_is_one_clean_line() -> None:
    said = read("1. **Po\x1bliti\u200bcians** : _They_ `follow`\tthe </article> law_maker")
    assert said == ([Role("Po liti cians", "They follow the /article law_maker")], "")
    assert one_line("# a\n**b** _c_ d_e") == "a b c d_e"
    assert quoted("a\n\x07b") == "“a b”"
