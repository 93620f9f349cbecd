"""Votes of several roles, in the shapes that models write them in."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise, product
from math import exp, inf, nan

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaljudge.judges.roles.lists import Role
from evaljudge.judges.roles.votes import NO_VOTE, Vote, confidence, votes_in
from evaljudge.model.asks import Failed, Sample, Token

NAMES = ("Summary 1", "Summary 2")
TYPES = ("General Public", "Critic", "News Author")
WHY = {"no vote": "-", "no choice": "?", "undecided": "=", "more than": "!", "two votes": "x"}


def roles(*types: str) -> list[Role]:
    return [Role(type_, "reads the news") for type_ in types]


def votes(
    text: str, *types: str, cut: bool = False, names: tuple[str, str] = NAMES
) -> list[Vote | Failed]:
    return votes_in(Sample(text, "length" if cut else "stop"), roles(*(types or TYPES)), names)


def read(text: str, *types: str, cut: bool = False, names: tuple[str, str] = NAMES) -> str:
    """One sign a role: the number of the text, or why there is no vote."""
    return "".join(
        WHY[" ".join(vote.reason.split()[:2]).rstrip(":")]
        if isinstance(vote, Failed) and not vote.reason.startswith("undecided")
        else "="
        if isinstance(vote, Failed)
        else str(vote.choice + 1)
        for vote in votes(text, *types, cut=cut, names=names)
    )


SHAPES = {
    "plain": "{}: Summary {}, because it is clear.",
    "plain, no comma": "{}: Summary {} because it is clear.",
    "choice alone": "{}: Summary {}",
    "with a dot": "{}: Summary {}. It is clear.",
    "dashes": "{} – Summary {} – it is clear.",
    "bullets": "- {}: Summary {}. It is clear.",
    "stars": "* {}: Summary {} since it is clear.",
    "bold": "**{}**: Summary {}. It is clear.",
    "bold with its colon": "**{}:** Summary {}\nIt is clear.",
    "both bold": "**{}**: **Summary {}** – It is clear.",
    "bold bullets": "- **{}** – **Summary {}** (it is clear).",
    "headings": "### {}\nSummary {}. It is clear.",
    "headings and a field": "### {}\n**Choice:** Summary {}\n**Reason:** It is clear.",
    "headings, reason first": "## {}\n\nReason: It is clear.\n\nVote: Summary {}\n",
    "fields": "Role: {}\nChoice: Summary {}\nReason: It is clear.",
    "fields in bullets": "- Role: {}\n- Choice: Summary {}\n- Reason: It is clear.",
    "fields on one line": "Role: {} / Choice: Summary {} / Reason: It is clear.",
    "fields in bold": "**Role:** {}\n**Vote:** Summary {}\n**Reason:** It is clear.",
    "a bare choice": "{}\nChoice: {}\nReason: It is clear.",
    "nested bullets": "- {}\n  - Vote: Summary {}\n  - Reason: It is clear.",
    "better": "{}\nBetter summary: Summary {}\nReason: It is clear.",
    "the better one is": "{}: The better summary is Summary {}. It is clear.",
    "my vote": "{}: My vote goes to Summary {} because it is clear.",
    "votes": "{} votes for Summary {}: it is clear.",
    "vote of": "Vote of the {}: Summary {}. It is clear.",
    "prose": "The {} would prefer Summary {} because it is clear.",
    "prose of perspectives": "From the perspective of the {}, Summary {} is better because clear.",
    "prose with as": "As a {}, I would choose Summary {}. It is clear.",
    "prose with for": "For the {}, Summary {} is clearly the better choice.",
    "prose that picks": "The {} picks Summary {} and likes how clear it is.",
    "analysis, then a vote": "{}: The first thing that counts is clarity. I prefer Summary {}.",
    "both gone through": "{}:\nSummary 1: too long.\nSummary 2: short.\nChoice: Summary {}",
    "the table": "| {} | Summary {} | It is clear. |",
    "a table of bare labels": "| {} | {} | It is clear. |",
    "a bold table": "| **{}** | **Summary {}** | It is clear. |",
    "JSON": '{{"role": "{}", "choice": "Summary {}", "reason": "It is clear."}}',
    "JSON of numbers": '{{"role": "{}", "vote": {}, "reason": "It is clear."}}',
    "JSON by role": '{{"{}": {{"choice": "Summary {}", "reason": "It is clear."}}}}',
    "JSON by role, flat": '{{"{}": "Summary {}"}}',
    "brackets": "[{}] Summary {}: It is clear.",
    "angles": "<{}> Summary {}; it is clear.",
    "arrows": "{} -> Summary {}",
    "in brackets": "{} (Summary {}): It is clear.",
    "hashes": "{}: Summary #{}. It is clear.",
    "a quoted choice": '{}: "Summary {}". It is clear.',
    "possessive": "{}'s choice: Summary {}",
}  # fmt: skip


@contextmanager
def row(*names: str) -> Iterator[None]:
    """Of many that one test goes through: which of them failed is said."""
    try:
        yield
    except AssertionError as error:
        error.add_note(f"in the row {names}")
        raise


NUMBERS = ("", "{}. ", "{}) ", "({}) ", "Role {}: ")


@pytest.mark.parametrize("case", [str, str.lower, str.upper])
def test_every_shape_is_read(case: type[str]) -> None:
    for (name, shape), number in product(SHAPES.items(), NUMBERS):
        with row(name, number):
            _is_read(shape, case, number)


def _is_read(shape: str, case: type[str], number: str) -> None:
    if number and shape.startswith(("|", "{{", "#")):
        number = ""
    said = [
        number.format(at) + shape.format(case(type_), choice)
        for at, (type_, choice) in enumerate(zip(TYPES, (2, 1, 2), strict=True), 1)
    ]
    for joint in ("\n", "\n\n"):
        assert read(joint.join(said)) == "212"
        assert read("Here are the votes:\n\n" + joint.join(said)) == "212"
        assert read(joint.join(said) + "\n\nOverall, Summary 1 is better.") == "212"
        assert read(joint.join([said[2], said[0]])) == "2-2" if not number else True


SAID = [
    # said
    ("I prefer Summary 2 over Summary 1.", "2"), ("prefers Summary 1 to Summary 2.", "1"),
    ("Summary 2 rather than Summary 1.", "?"), ("would rather choose Summary 1.", "1"),
    ("Over Summary 1, the critic prefers Summary 2.", "2"),
    ("Compared with Summary 1, Summary 2 is better.", "2"),
    ("Summary 2 is better than Summary 1.", "2"), ("Summary 1 is the better one.", "1"),
    ("Summary 1 is not as good as Summary 2.", "2"),
    ("Summary 1 isn't as good as Summary 2", "2"),
    ("Summary 1 is worse than Summary 2.", "2"), ("Summary 2 is inferior to Summary 1.", "1"),
    ("Summary 1 is worse.", "2"), ("Summary 2 wins.", "2"), ("Summary 2 gets my vote.", "2"),
    ("Summary 1 is my choice.", "1"), ("Summary 1 would be preferred over Summary 2.", "1"),
    ("The winner is Summary 2.", "2"), ("Winner: Summary 2 (clear)", "2"),
    ("Both are well written, but I would pick Summary 2.", "2"),
    ("Both are equally accurate, but Summary 1 is better.", "1"),
    ("Although Summary 1 is better written, Summary 2 is preferred.", "2"),
    ("I do not like Summary 1 and prefer Summary 2.", "2"),
    ("the first summary is better.", "1"),
    ("The second summary.", "2"), ("I prefer the second one.", "2"), ("Summary Two.", "2"),
    ("I would go with Summary 1, which is clear.", "1"), ("Summary 1", "1"), ("1", "1"),
    ("Summary 1 is better because it is not as long as Summary 2.", "1"),
    ("Summary 1. News authors would prefer Summary 2 for its style.", "1"),
    ("Summary 1. The general public would prefer Summary 2.", "1"),
    ("Unlike the news author, the critic prefers Summary 2.", "2"),
    ("Summary 2 is better: Summary 1 is too long.", "2"), ("I find Summary 2 better.", "2"),
    ("Summary 2 is the better choice – Summary 1 is long.", "2"),
    ("Summary 2, which is clear.", "2"), ("Summary 2, mainly because it is clear.", "2"),
    ("Summary 2, for its clarity.", "2"), ("Summary 2, with more details.", "2"),
    ("Summary 2, as its sentences flow.", "2"), ("Summary 2, on the whole.", "2"),
    ("Summary 2, not Summary 1.", "2"), ("Summary 2, which is clear", "2"),
    ("Summary 1, which is clear. Summary 2, however, is long.", "1"),
    ("Summary 1, because it is clear. Summary 2, which is not, is long.", "1"),
    ("Summary 1, because it is clear. Summary 2, with its long sentences.", "1"),
    ("Summary 1, because Summary 2 is preferred by experts only.", "1"),
    ("Summary 1, as its readers know that Summary 2 is better.", "1"),
    ("Summary 1 (clear), because Summary 2 is preferred by experts only.", "1"),
    ("Summary 1 (clear), which counts.", "1"),
    ("Summary 1 – because Summary 2 is preferred by experts only.", "1"),
    ("Choice: Summary 1, because Summary 2 is preferred by experts only.", "1"),
    # praised, but not chosen: on purpose, as many a loser is praised
    ("Summary 2 is clearer and more complete.", "?"),
    # no choice by a comma alone
    *((f"Summary 2, {rest}", "?") for rest in (
        "while long, is clear.", "whereas it is long.", "though it is long.",
        "although it is long.", "even though it is long.", "if it were short.",
        "unless time is short.", "despite its length.", "unlike Summary 1, is clear.",
        "like Summary 1, is clear.", "compared to Summary 1, is clear.",
        "on the one hand, is clear.", "on the other hand, is clear.",
        "as opposed to Summary 1.", "however, is long.", "but it is long.", "and so on.",
        "or else it is long.", "nor is it long.", "Summary 1", "the first one", "1",
        "in my view, is too long.", "as it stands, is long.", "right?", "for some.",
    )),
    ("Summary 1, clear. Summary 2, long.", "?"), ("Summary 1 vs. Summary 2", "?"),
    ("I prefer Summary 1 vs. Summary 2.", "?"), ("I prefer Summary 1, vs Summary 2.", "?"),
    # not said
    ("Readers who prefer Summary 1 are in a hurry.", "?"),
    ("It is better: Summary 1 is long.", "?"),
    ("Summary 1 is better for a quick read.", "?"), ("I find Summary 2 better written.", "?"),
    ("At first they prefer Summary 1.", "?"), ("I prefer Summary 1 less.", "?"),
    ("Summary 1 is clear. Summary 2 is accurate.", "?"), ("Both are good.", "?"),
    ("Summary 1 is clearer than Summary 2.", "?"), ("Summary 1 is better written.", "?"),
    ("Summary 1 is better at grammar.", "?"),
    ("Summary 2 is better than Summary 1 in style.", "?"),
    ("Summary 1 is not better than Summary 2.", "?"), ("Summary 1 is no better.", "?"),
    ("I would not choose Summary 1.", "?"), ("I don't think Summary 1 is better.", "?"),
    ("I would prefer Summary 1 if it were shorter.", "?"),
    ("Is it true that I prefer Summary 1?", "?"),
    ("Summary 1 would be better if it were shorter.", "?"), ("Some prefer Summary 1.", "?"),
    ("If pressed, whether Summary 1 is better is unclear.", "?"), ("", "?"),
    ("I like it.", "?"),
    ("The news author prefers Summary 1.", "?"), ("Choice: Summary 1 or Summary 2", "?"),
    ("Summary 1 and Summary 2 are clear.", "?"), ("Summary 1: clear. Summary 2: long.", "?"),
    ("Summary 1 is preferred by the news author.", "?"), ("Choose Summary 1/Summary 2.", "?"),
    ("Summary 10.", "?"), ("Summary 1 stands out.", "?"), ("not Summary 1.", "?"),
    # a tie
    ("Both are equally good.", "="), ("A tie.", "="), ("Choice: tie", "="), ("Neither.", "="),
    ("Choice: both, although Summary 1 is better.", "="), ("no preference.", "="),
    ("I prefer neither Summary 1 nor Summary 2.", "="), ("I cannot decide.", "="),
    ("Summary 1 is as good as Summary 2.", "="), ("Both", "="),
    ("It's a tie: both are clear.", "="), ("A draw.", "="), ("a draw", "="), ("A draw!", "="),
    ("A draw: both are clear.", "="), ("Choice: a draw", "="),
    ("A draw is unlikely; I prefer Summary 1.", "1"),
    # said and unsaid
    ("Choice: Summary 1. In the end I prefer Summary 2.", "!"),
    ("Summary 1 is better for some, Summary 2 is better for others.", "!"),
    ("Vote: Summary 1\nVote: Summary 2", "!"), ("Vote: Summary 1, vote: Summary 2", "!"),
    ("Summary 1, because it is clear. In the end I prefer Summary 2.", "!"),
    ("Summary 1, because it is clear.\nSummary 2 is preferred.", "!"),
    ("Summary 1, because it is clear, but I prefer Summary 2.", "!"),
    ("Summary 1: too long, Summary 2 is better.", "!"),
]  # fmt: skip


def test_what_a_role_says() -> None:
    for said, sign in SAID:
        found = read(f"Critic: {said}", "Critic", "General Public", "News Author")
        assert found == f"{sign}--", said
        if not any(other.lower() in said.lower() for other in ("news author", "general public")):
            assert read(f"Critic: {said}", "Critic") == sign, said


@pytest.mark.parametrize(
    ("text", "signs"),
    [
        # numbers alone
        ("1. Summary 1: clear.\n2. Summary 2: short.\n3. Summary 1: true.", "121"),
        ("Role 1: Summary 1\nRole 2: Summary 2\nRole 3: Summary 1", "121"),
        ("Role 3: Summary 1", "--1"), ("Role 4: Summary 1", "---"),
        ("Judge 2 prefers Summary 1.", "-1-"),
        ("1. Summary 1.\n2. Summary 2.", "---"),
        ("1. Summary 1.\n2. Summary 2.\n3. Summary 1.\n4. Summary 2.", "---"),
        ("2. Summary 1.\n3. Summary 2.\n1. Summary 2.", "---"),
        ("Summary 2 is better.\n1. It is clear.\n2. It is short.\n3. It is true.", "???"),
        ("Critic: Summary 2.\n1. It is clear.\n2. It is short.", "-2-"),
        ("1. General Public: Summary 1\n2. Editor: Summary 2\n3. News Author: Summary 1", "1?1"),
        ("2. General Public: Summary 1\n3. Editor: Summary 2\n1. News Author: Summary 1", "1-1"),
        ("Role 2 (News Author): Summary 1", "--1"),
        ('[{"role": 1, "choice": 2}, {"role": "Role 3", "choice": "Summary 1"}]', "2-1"),
        ('{"1": "Summary 2", "2": "Summary 1"}', "21-"),
        ('[{"role": "Editor", "choice": 1}, {"role": "Critic", "choice": 2}]', "-2-"),
        ('[{"role": "Critic", "choice": 1}, {"role": "Critic Association", "choice": 2}]', "-1-"),
        # those who were not asked
        ("Critic: Summary 1\nEditor: Summary 2", "-1-"),
        ("- Critic: Summary 1\n- Editor: Summary 2", "-1-"),
        ("Editor: Summary 2", "---"), ("News: Summary 2\nAuthor: Summary 1", "---"),
        ("Critic Association: Summary 1", "---"), ("Critic of news: Summary 1", "---"),
        ("Critic and General Public: Summary 1", "---"), ("Critic, News Author: Summary 1", "---"),
        ("Critic & News Author: Summary 1", "---"), ("Critic-like readers: Summary 1", "---"),
        ("Criticism: Summary 1", "---"), ("Critics: Summary 1", "-1-"),
        ("news authors: Summary 2", "--2"),
        # twice
        ("Critic: Summary 1\nCritic: Summary 1", "-1-"),
        ("Critic: Summary 1\nCritic: Summary 2", "-x-"),
        ("Critic: reads closely.\nCritic: Summary 2", "-2-"),
        ("Critic: Summary 1\nCritic: a tie", "-x-"),
        # mentioned
        ("General Public: Summary 1, because the critic would prefer Summary 2.", "1--"),
        ("General Public: Summary 1.\nUnlike the critic, they want it short.", "1--"),
        ("General Public: Summary 1\n- Reason: the news author knows more", "1--"),
        ("The public, the critic and the news author prefer Summary 1.", "---"),
        # what is around
        ("Summary 1 is better.\n\nCritic: Summary 2", "-2-"),
        ("General Public: Summary 1\nCritic: Summary 2\n\n---\nIn total, Summary 1 is better.",
         "12-"),
        ("General Public: Summary 1\nCritic: it is hard.\n\nConclusion: Summary 1 is better.",
         "1?-"),
        ("Critic: it is hard.\n\nOverall, Summary 1 is better.", "-1-"),
        ("General Public: Summary 1\nCritic: Summary 2\n\n**Votes:** Summary 1: 1, Summary 2: 1\n"
         "Choice: Summary 1", "12-"),
        ("General Public: Summary 1\nCritic: it is hard.\n\nVotes: Summary 1 wins.", "1?-"),
        ("General Public: Summary 1\nCritic:\n\nVote: Summary 2", "12-"),
        ("General Public: Summary 1\nCritic:\n – Summary 2", "12-"),
        ("**Critic**\nClear.\n\nOverall: Summary 1\n\n**News Author**\nTrue.\n\n"
         "Overall, I prefer Summary 2.",
         "-?2"),
        ("| Role | Choice | Why |\n|---|---|---|\n| 1 | General Public | Summary 1 | a |\n"
         "| 2 | Critic | Summary 2 | b |",
         "12-"),
        ('```json\n[{"choice": "Summary 1", "role": "Critic", "reason": "Summary 2 is long."},\n'
         '{"choice": "Summary 2", "role": "News Author", "reason": "The critic is wrong."}]'
         "\n```", "-12"),
        ('{"votes": {"Critic": {"vote": "Summary 1"}, "Editor": {"vote": "Summary 2"}}}', "-!-"),
        ("", "---"), ("I cannot answer this.", "---"),
    ],
)  # fmt: skip
def test_which_part_is_whose(text: str, signs: str) -> None:
    assert read(text) == signs


WIDE = str.maketrans(":,.;()!?", "：，。；（）！？")


WIDE_NUMBERS = ("", "{}。", "{}）", "（{}）", "{}、", "Role {}：")


def test_full_width_punctuation_reads_like_that_of_ascii() -> None:
    for (name, shape), number in product(SHAPES.items(), WIDE_NUMBERS):
        with row(name, number):
            _is_read_in_full_width(shape, number)


def _is_read_in_full_width(shape: str, number: str) -> None:
    if shape.startswith(("|", "{{", "#")):
        number = ""
    said = [
        number.format(at) + shape.format(type_, choice).translate(WIDE)
        for at, (type_, choice) in enumerate(zip(TYPES, (2, 1, 2), strict=True), 1)
    ]
    assert read("\n".join(said)) == "212"
    assert read("\n".join(said) + "\n\nOverall，Summary 1 is better。") == "212"


@pytest.mark.parametrize(
    ("text", "signs"),
    [
        ("1. Critic：Summary 2，因为它更清楚。", "-2-"), ("Critic：Summary 2。清楚。", "-2-"),
        ("Critic（Summary 2）：清楚！", "-2-"), ("Critic：Summary 2！", "-2-"),
        ("Critic：　Summary 2；清楚", "-2-"), ("Critic：Summary 2？", "-?-"),
        ("Critic：Summary 1、Summary 2", "-?-"), ("Critic：Summary 1：长。Summary 2：短。", "-?-"),
        ("Critic：a draw。", "-=-"), ("Critic，News Author：Summary 1", "---"),
        ("（1）Summary 1。\n（2）Summary 2。\n（3）Summary 1。", "121"),
        ("Role（2）：Summary 1", "-1-"), ("Critic：Summary 1\nEditor：Summary 2", "-1-"),
    ],
)  # fmt: skip
def test_replies_of_east_asia(text: str, signs: str) -> None:
    assert read(text) == signs


def test_full_width_punctuation_of_a_type_and_a_reason() -> None:
    assert read("编辑（资深）：Summary 1\n读者: Summary 2", "编辑（资深）", "读者") == "12"
    assert read("编辑(资深)：Summary 1", "编辑（资深）", "读者") == "1-"
    [vote, _] = votes("编辑：Summary 1\nReason：清楚，短。\n", "编辑", "读者")
    assert isinstance(vote, Vote) and vote.reason == "清楚，短。"
    [vote, _] = votes("编辑，Summary 1，清楚。", "编辑", "读者")
    assert isinstance(vote, Vote) and vote.reason == "Summary 1，清楚。"


def test_the_longest_type_wins() -> None:
    types = ("author", "news author", "News")
    assert read("News author: Summary 1\nAuthor: Summary 2\nNews: Summary 1", *types) == "211"
    assert read("The news author would prefer Summary 1.", *types) == "-1-"
    assert read("Critics: Summary 1\nCritic: Summary 2", "Critic", "Critics") == "21"
    assert read("The public: Summary 1", "the public", "A critic") == "1-"
    assert read("Naomi Irion’s family: Summary 2", "Naomi Irion's Family", "x") == "2-"
    assert (
        read("C++ (beginners): Summary 2\nक्रिकेट प्रेमी: Summary 1", "C++ (beginners)", "क्रिकेट प्रेमी")
        == "21"
    )


@pytest.mark.parametrize(
    ("text", "signs"),
    [
        ("General Public: Summary 1, clear.\nCritic: Summary 2, because", "12-"),
        ("Critic: Summary 2, whi", "-?-"), ("Critic: Summary 2, in my view", "-?-"),
        ("Critic: Summary 2, which is clear. It", "-2-"),
        ("Critic: Summary 2, mainly because it", "-2-"),
        ("General Public: Summary 1. Clear.\nCritic: Summary 2", "1?-"),
        ("General Public: Summary 1. Clear.\nCritic: Summary", "1?-"),
        ("General Public: Summary 1. Clear.\nCri", "1--"),
        ("Critic: Summary 2\n", "-2-"), ("Critic: I prefer Summary 2", "-?-"),
        ('[{"role": "Critic", "choice": "Summary 2", "reason": "it', "-2-"),
        ('[{"role": "Critic", "choice": "Summ', "-?-"),
        ("1. Summary 2, because it is clear.\n2. Summary 1. It", "21-"),
    ],
)  # fmt: skip
def test_a_cut_reply(text: str, signs: str) -> None:
    assert read(text, cut=True) == signs


@pytest.mark.parametrize(
    ("names", "text", "signs"),
    [
        (("A", "B"),
        "General Public: A\nCritic: prefers B over A\nNews Author: A critic is a bore", "12?"),
        (("Response A", "Response B"), "Critic: Response B. Clear.\nNews Author: Choice: A", "-21"),
        (("Story 2", "Story 1"),
        "Critic: Story 1.\nNews Author: the first story is better.", "-22"),
        (("the model's", "the human's"), "Critic: I prefer the human's.", "-2-"),
        (("文本：甲", "文本：乙"), "Critic：文本：乙。", "-2-"),
    ],
)  # fmt: skip
def test_other_names(names: tuple[str, str], text: str, signs: str) -> None:
    assert read(text, names=names) == signs


def test_one_role_alone_need_not_name_itself() -> None:
    assert read("Summary 2, because it is clear.", "Critic") == "2"
    assert read("I would choose Summary 1.\n\nOverall, it is clear.", "Critic") == "1"
    [vote] = votes("Well. I prefer Summary 1.", "Critic")
    assert isinstance(vote, Vote) and vote.span == (0, 25)


def test_the_reasons_for_no_vote() -> None:
    said = "General Public: Both are clear.\nCritic: it's a tie\nNews Author: x"
    assert [vote.reason for vote in votes(said)] == [
        "no choice in “Both are clear.”", "undecided: “it's a tie”", "no choice in “x”",
    ]  # fmt: skip
    assert votes(said, *TYPES, "Teacher")[3] == NO_VOTE
    assert votes("Critic：x。")[1] == Failed("no choice in “x。”")
    assert votes("Critic: Summ", cut=True)[1] == Failed("no choice before the cut in “Summ”")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("I cannot answer\nthis.", "“I cannot answer this.”"),
        ("Editor: Summary 1", "“Editor: Summary 1”"),
        ("Role 4: Summary 1", "“Role 4: Summary 1”"),
        ("", "“”"),
        ("x" * 99, f"“{'x' * 59}…”"),
    ],
)
def test_a_reply_without_a_part_of_any_role_is_quoted(text: str, shown: str) -> None:
    assert votes(text) == [Failed(f"no vote of any role in the reply: {shown}")] * 3


LONG = 3000


@pytest.mark.parametrize(
    ("text", "signs"),
    [
        (f"Critic: choice{' ' * LONG}{':' * LONG}", "-?-"),
        (f"Critic: {'choice ' * LONG}{'–' * LONG}", "-?-"),
        (f"Critic: Summary 2{' ' * LONG}is", "-?-"),
        (f"Critic: Summary 2\nReason:{' clear' * LONG}{chr(10) * LONG}", "-2-"),
        (f"Critic: Summary 2\n{'__ –' * LONG}", "-2-"),
        (f'{{"role": "Critic", "choice": 2, "x": {"[" * LONG}{"]" * LONG}}}', "-2-"),
    ],
    ids=range(6),
)  # fmt: skip
def test_a_long_degenerate_reply(text: str, signs: str) -> None:
    """Where two repetitions meet in a pattern, such a reply takes seconds to hours; the last one is
    nested too deeply for a JSON parser."""
    assert read(text) == signs


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ("Critic: Summary 1, because it is **clear**.", "Summary 1, because it is clear."),
        ("Critic\nChoice: Summary 1\nReason: It\n is clear.", "It is clear."),
        ("Critic\nReason: It is clear.\nChoice: Summary 1", "It is clear."),
        (
            '{"role": "Critic", "choice": "Summary 1", "reason": "It \\"is\\" clear."}',
            'It "is" clear.',
        ),
    ],
)
def test_the_reason(said: str, reason: str) -> None:
    found = votes(f"{said}\n")[1]
    assert isinstance(found, Vote) and found.reason == reason


def tokens(text: str, logprobs: list[float]) -> tuple[Token, ...]:
    """One of each line, its end with it."""
    ends = [i + 1 for i, c in enumerate(text) if c == "\n"] + [len(text)]
    starts = [0, *ends[:-1]]
    return tuple(Token(s, e, p) for s, e, p in zip(starts, ends, logprobs, strict=True))


def test_confidence_is_of_the_roles_own_part() -> None:
    text = "Votes:\nGeneral Public: Summary 1\nclear\nCritic: Summary 2\n\nOverall, fine."
    given = tokens(text, [-9.0, -0.1, -0.3, -0.5, -0.7, -8.0])
    first, second, third = votes_in(Sample(text, "stop", given), roles(*TYPES), NAMES)
    assert isinstance(first, Vote) and isinstance(second, Vote)
    assert first.confidence == pytest.approx(exp(-0.2))
    assert first.span == (7, 39) and text[7:39] == "General Public: Summary 1\nclear\n"
    assert second.confidence == pytest.approx(exp(-0.5))  # up to its closing words
    assert text[slice(*second.span)] == "Critic: Summary 2"
    assert third == NO_VOTE


def test_a_token_is_where_its_middle_lies() -> None:
    given = [Token(0, 4, -1.0), Token(4, 7, -2.0), Token(7, 10, -4.0), Token(10, 10, -100.0)]
    assert confidence(given, 0, 6) == pytest.approx(exp(-1.5))  # the second's middle is 5.5
    assert confidence(given, 6, 10) == pytest.approx(exp(-4.0))  # the end of the reply is no text
    assert confidence(given, 0, 2) is None  # a middle of 2 is in what begins there
    assert confidence(given, 2, 3) == pytest.approx(exp(-1.0))
    assert confidence(None, 0, 9) is None
    assert confidence([Token(0, 1, -inf)], 0, 1) is None
    assert confidence([Token(0, 1, nan)], 0, 1) is None
    assert confidence([Token(0, 1, -9999.0)], 0, 1) == pytest.approx(0, abs=1e-300)
    assert confidence([Token(0, 1, 1e-9)], 0, 1) == 1


PIECES = st.sampled_from(
    [*NAMES, *TYPES, ": ", "\n", "\n\n", "1. ", "- ", "**", " prefers ", " is better", "not ", "{",
     "}", '"', "Choice: ", "Reason: ", "|", " than ", "both", "equally", "Role 2", "Overall, ",
     "---", "because ", "ʘ", "\u2028", " and ", ", ", "."]
)  # fmt: skip
REPLIES = st.lists(PIECES | st.text(max_size=4), max_size=40).map("".join)


@given(REPLIES, st.booleans(), st.lists(st.sampled_from(TYPES) | st.text(max_size=6), max_size=4))
def test_any_reply_gives_every_role_a_vote_or_a_reason(
    text: str, cut: bool, types: list[str]
) -> None:
    given = tuple(Token(i, i + 1, -((i * 7) % 5) / 3) for i in range(len(text)))
    found = votes_in(Sample(text, "length" if cut else "stop", given), roles(*types), NAMES)
    assert len(found) == len(types)
    spans = sorted(vote.span for vote in found if isinstance(vote, Vote))
    assert all(end <= start for (_, end), (start, _) in pairwise(spans))
    for vote in found:
        if isinstance(vote, Failed):
            assert vote.reason.isprintable() and len(vote.reason) < 130
        else:
            assert vote.confidence is not None and 0 < vote.confidence <= 1
            assert 0 <= vote.span[0] < vote.span[1] <= len(text)


@given(
    st.lists(st.sampled_from("12"), min_size=3, max_size=3), st.sampled_from(list(SHAPES.values()))
)
def test_the_shape_changes_no_vote(chosen: list[str], shape: str) -> None:
    said = "\n".join(shape.format(t, c) for t, c in zip(TYPES, chosen, strict=True))
    assert read(said) == "".join(chosen)
