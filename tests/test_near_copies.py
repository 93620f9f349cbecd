"""Texts that are their reference, or nearly: unscored, or warned of."""

import pytest

from evaljudge.analysis.near_copies import NearCopies
from evaljudge.text import is_selfsame
from tests.build import case

WORDS = [f"word{number}" for number in range(40)]
REFERENCE = " ".join(WORDS)


@pytest.mark.parametrize(
    ("text", "is_same"),
    [
        ("it said, “HELLO” –\n  twice", True),
        ("It said hello twice!", True),
        ("It said ｈｅｌｌｏ twice.", True),  # letters of full width
        ("It said hello.", False),
        ("It said hello twice 2.", False),
    ],
)
def test_case_and_punctuation_make_no_other_text(text: str, is_same: bool) -> None:
    assert is_selfsame(text, "It said hello twice.") == is_same


@pytest.mark.parametrize(("text", "other"), [("की", "का"), ("!!!", "?"), ("3.5", "35"), ("", "!")])
def test_signs_that_make_a_difference(text: str, other: str) -> None:
    """Vowel signs of Hindi are no punctuation; punctuation alone is compared as it is."""
    assert not is_selfsame(text, other)
    assert is_selfsame(text, text)


def copies(*texts: str, references: tuple[str, ...] = (REFERENCE,)) -> NearCopies:
    found = NearCopies()
    found.see(case(*texts, references=references))
    return found


@pytest.mark.parametrize(
    ("changed", "number"), [(0, 0), (1, 1), (2, 1), (3, 0)], ids="itself one two three".split()
)
def test_two_words_of_forty_may_differ(changed: int, number: int) -> None:
    assert copies(" ".join(["x"] * changed + WORDS[changed:])).number == number


def test_a_copy_of_a_part_or_beside_more_words_is_none() -> None:
    assert copies(" ".join(WORDS[:37]), f"{REFERENCE} and three more").number == 0
    assert copies(" ".join(WORDS[1:]), references=("other", REFERENCE)).number == 1
    assert copies("", REFERENCE, references=()).number == 0


def test_copies_add_up_and_are_said_with_the_first() -> None:
    found = copies("other", " ".join(WORDS[1:]))
    found += copies(" ".join(WORDS[:-1]))
    assert found.warnings == [
        "2 candidates share at least 95% of the words with a reference of the document (first: "
        "document d, system s1): for a near copy, scorers that compare the two say little"
    ]
    assert NearCopies().warnings == []
