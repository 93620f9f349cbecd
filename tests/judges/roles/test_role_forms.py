"""The forms of lists of readers and of votes: what they admit is read, and nothing else."""

import re
from math import log

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaljudge.judges.roles.briefs import Readers, Role, list_form, listed
from evaljudge.judges.roles.polling import CUT, MISSING, VoteForm, WrittenVote
from evaljudge.judges.shared.asking import fold, one_line, quoted
from evaljudge.model.asks import Failed, Sample, Token, Writing, Written
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
