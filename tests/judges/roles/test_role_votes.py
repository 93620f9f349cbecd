"""The form of votes: whatever keeps it is read, and confidences are those of choice and reason."""

from __future__ import annotations

import re
from math import log

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaljudge.judges.roles.briefs import Role
from evaljudge.judges.roles.polling import CUT, MISSING, VoteForm, WrittenVote
from evaljudge.model.asks import Failed, Sample, Token

NAMES = ("Summary 1", "Summary 2")
FORM = VoteForm([Role("General Public", "news"), Role("Critic (of art)", "style")], NAMES)
REPLY = "General Public: Summary 2 — It is clear.\nCritic (of art): Summary 1 — *Short*  lines."


def stopped(text: str) -> Sample:
    return Sample(text, "stop")


def test_a_reply_in_the_form() -> None:
    public, critic = FORM.read(stopped(REPLY))
    assert public == WrittenVote(1, "It is clear.", (15, 40))
    assert critic == WrittenVote(0, "Short lines.", (57, len(REPLY)))
    assert REPLY[15:40] == " Summary 2 — It is clear."


LINE = st.characters(exclude_characters="\n", exclude_categories=["Cs"])
TYPES = st.text(LINE, min_size=1, max_size=12)
NOUNS = st.sampled_from([NAMES, ("Story 1", "Story 2"), ("A+ 1", "A+ 2"), ("回答 1", "回答 2")])


@given(st.data(), st.lists(TYPES, min_size=1, max_size=5), NOUNS)
def test_whatever_the_form_admits_is_a_vote_of_every_role(
    data: st.DataObject, types: list[str], names: tuple[str, str]
) -> None:
    """Also where types hold signs of regexes, line separators, or come twice."""
    form = VoteForm([Role(type_, "all") for type_ in types], names)
    reply = data.draw(st.from_regex(form.regex, fullmatch=True))
    votes = form.read(stopped(reply))
    lines = reply.split("\n")
    assert len(votes) == len(lines) == len(types)
    for vote, line, type_ in zip(votes, lines, types, strict=True):
        assert isinstance(vote, WrittenVote)
        assert reply[slice(*vote.span)] == line.removeprefix(f"{type_}:")
        assert line.startswith(f"{type_}: {names[vote.choice]} — ")


@given(st.text("GeneralPublic: Sumy12 — xyz", max_size=40) | st.text(LINE), st.booleans())
def test_any_other_line_is_no_vote(other: str, is_first: bool) -> None:
    """And the other role keeps its own."""
    lines = REPLY.split("\n")
    lines[0 if is_first else 1] = other
    public, critic = FORM.read(stopped("\n".join(lines)))
    assert isinstance(critic if is_first else public, WrittenVote)
    is_kept = bool(re.fullmatch(FORM.regex, "\n".join(lines)))
    assert isinstance(public if is_first else critic, WrittenVote) == is_kept


def test_the_example_keeps_the_form() -> None:
    example = FORM.example.replace("{mark}", "f3a0")
    assert re.fullmatch(FORM.regex, example)
    assert all(isinstance(vote, WrittenVote) for vote in FORM.read(stopped(example)))


@pytest.mark.parametrize("length", range(len(REPLY) + 1))
def test_a_cut_reply_has_the_votes_of_its_whole_lines(length: int) -> None:
    votes = FORM.read(Sample(REPLY[:length], "length"))
    first, second = FORM.read(stopped(REPLY))
    assert votes == ([first, CUT] if length > len(REPLY.split("\n")[0]) else [CUT, CUT])
    assert second != CUT


def test_why_a_role_has_no_vote() -> None:
    other = REPLY.replace("Summary 2", "Neither")
    lacking, read = FORM.read(stopped(other))
    assert lacking == Failed("not a vote of this role: “General Public: Neither — It is clear.”")
    assert read == WrittenVote(0, "Short lines.", (55, len(other)))
    first, second = FORM.read(stopped(REPLY.split("\n")[0]))
    assert isinstance(first, WrittenVote)
    assert second == MISSING


# equation (3)


def test_the_confidence_is_the_mean_in_logs_over_choice_and_reason() -> None:
    """`: ` is of the name, `.⏎` begins in the reason: (.5 · .25 · .5)^(1/3)."""
    public = FORM.read(stopped(REPLY))[0]
    assert isinstance(public, WrittenVote)
    given = [
        Token(0, 14, log(0.01)), Token(14, 15, log(0.02)), Token(15, 25, log(0.5)),
        Token(25, 39, log(0.25)), Token(39, 41, log(0.5)), Token(41, len(REPLY), log(0.03)),
    ]  # fmt: skip
    assert public.confidence(given) == pytest.approx((0.5 * 0.25 * 0.5) ** (1 / 3))
