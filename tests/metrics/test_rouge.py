"""ROUGE and its words: by hand, and as rouge-score has them."""

import random
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rouge_score.rouge_scorer import RougeScorer

from evaljudge.metrics.lexical import Kind, compared, spaced, words
from evaljudge.metrics.protocol import Unscored, Value

ROUGES: tuple[Kind, ...] = ("rouge1", "rouge2", "rougeL")
RIVER = "The river rose and closed the bridge."
CHINESE = "我喜欢北京的秋天。", "我很喜欢北京的秋天。"
VOCABULARY = [
    "The",
    "the",
    "rivers",
    "river",
    "rising",
    "3.5",
    "U.S.",
    "co-op",
    "x_y",
    "don't",
    ",",
]

english = st.lists(st.sampled_from(VOCABULARY), max_size=12).map(" ".join)
letters = st.lists(st.sampled_from("abcd"), min_size=1, max_size=14).map(" ".join)


def value(name: Kind, text: str, reference: str, stemmer: bool = False) -> Value:
    return compared(name, stemmer, reference)(text)


@pytest.mark.parametrize(
    ("name", "expected"),
    # 5 words shared of 6 and 7; 2 pairs of 5 and 6; in order: the river closed the bridge.
    [("rouge1", 10 / 13), ("rouge2", 4 / 11), ("rougeL", 10 / 13)],
)
def test_by_hand(name: Kind, expected: float) -> None:
    assert value(name, "The river closed the old bridge.", RIVER) == pytest.approx(expected)


@pytest.mark.parametrize("name", ROUGES)
def test_signs_are_no_words(name: Kind) -> None:
    assert value(name, "?! …", RIVER) == Unscored("no words")
    assert value(name, "river", "* * *") == Unscored("no words")


# as rouge-score


@cache
def oracle(name: str, stemmer: bool) -> RougeScorer:
    return RougeScorer([name], use_stemmer=stemmer)


@pytest.mark.parametrize("stemmer", [False, True])
@pytest.mark.parametrize("name", ROUGES)
@given(mine=english | letters, theirs=english | letters)
def test_as_rouge_score(name: Kind, stemmer: bool, mine: str, theirs: str) -> None:
    got = value(name, mine, theirs, stemmer)
    if isinstance(got, Unscored):
        assert not (words(mine) and words(theirs))
    else:
        expected = oracle(name, stemmer).score(theirs, mine)[name].fmeasure
        assert got == pytest.approx(expected)


def test_longer_than_a_machine_word() -> None:
    draw = random.Random(0)
    mine, theirs = (" ".join(draw.choice("abcdefgh") for _ in range(n)) for n in (150, 200))
    expected = oracle("rougeL", False).score(theirs, mine)["rougeL"].fmeasure
    assert value("rougeL", mine, theirs) == pytest.approx(expected)


@given(st.text(st.characters(max_codepoint=127)), st.booleans())
def test_words_of_ascii_are_rouge_scores(text: str, stemmer: bool) -> None:
    assert words(text, stemmer) == oracle("rouge1", stemmer)._tokenizer.tokenize(text)


# other scripts


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Café naïve", ["café", "naïve"]),
        ("cafe\u0301", ["café"]),  # the accent as a character of its own
        ("don’t ﬁnd １２３ m²", ["don", "t", "find", "123", "m2"]),
        ("Москва, СССР", ["москва", "ссср"]),
        ("हिन्दी भाषा", ["हिन्दी", "भाषा"]),  # vowel signs and virama are marks
        ("한국어 문장", ["한국어", "문장"]),
        ("北京tower 2号。", ["北", "京", "tower", "2", "号"]),
        ("東京タワー", ["東", "京", "タ", "ワ", "ー"]),
        ("ที่นี่", ["ที่", "นี่"]),  # each with its vowel and tone above
        ("… — ! _", []),
    ],
)
def test_words_of_other_scripts(text: str, expected: list[str]) -> None:
    assert words(text) == expected


def test_only_letters_that_stand_alone_are_set_apart() -> None:
    assert spaced("naïve 한국어 हिन्दी") == "naïve 한국어 हिन्दी"
    assert spaced("北京tower").split() == ["北", "京", "tower"]


def test_chinese_by_hand() -> None:
    """Eight letters, nine in the other, which has 很 between the first two."""
    assert value("rouge1", *CHINESE) == pytest.approx(2 * 8 / (8 + 9))
    assert value("rouge2", *CHINESE) == pytest.approx(2 * 6 / (7 + 8))
    assert value("rougeL", *CHINESE) == pytest.approx(2 * 8 / (8 + 9))
