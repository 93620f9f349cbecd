"""Sentences and fragments of texts: literals, and the published procedure step by step."""

from __future__ import annotations

from math import isnan

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaljudge.metrics.sentences import sentences
from evaljudge.probes.excerpts import ALTERATIONS, excerpt, with_altered_references
from evaljudge.probes.fragments import correlates, fragments, words
from evaljudge.records import Case, Document


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", []),
        ("One. Two! Three? Four", ["One.", "Two!", "Three?", "Four"]),
        ("paul merson said . he left .", ["paul merson said .", "he left ."]),
        ("Mr. Smith met J. K. Rowling in the U.S. embassy.", None),
        ("It cost $2.6 million. Nobody paid.", ["It cost $2.6 million.", "Nobody paid."]),
        ('"Stop." He ran. (It rained.) So', ['"Stop."', "He ran.", "(It rained.)", "So"]),
        ("He paid approx. ten e.g. in cash. Then", ["He paid approx. ten e.g. in cash.", "Then"]),
        ("Wait... what? Yes", ["Wait... what?", "Yes"]),
        ("今天下雨。我们走吧！好", ["今天下雨。", "我们走吧！", "好"]),
        ("A title\n\nIts text\nruns on", ["A title", "Its text runs on"]),
    ],
)  # fmt: skip
def test_sentences(text: str, found: list[str] | None) -> None:
    assert sentences(text) == ([text] if found is None else found)


@given(st.text("aB. !?\n\"')", max_size=60))
def test_no_character_but_white_space_is_lost(text: str) -> None:
    assert "".join("".join(sentences(text)).split()) == "".join(text.split())


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("." * 200_000, 1),
        ("?!…." * 50_000 + "x", 1),
        ("." + ")" * 200_000 + "x", 1),
        ("One" + "." * 200_000 + ")" * 200_000 + " Two", 2),
        ("." + " " * 200_000 + "(" * 200_000, 2),
    ],
    ids=["dots", "stops", "brackets", "ended", "following"],
)
def test_a_long_run_of_one_kind_comes_to_an_end(text: str, count: int) -> None:
    """Tried anew from each of its characters, one run would last for minutes."""
    assert len(sentences(text)) == count


def test_excerpts() -> None:
    source = "A one. B two. C three. D four. E five."
    stream = np.random.default_rng(0)
    assert excerpt(source, "LEAD-3", stream) == "A one. B two. C three."
    assert excerpt(source, "TAIL-3", stream) == "C three. D four. E five."
    drawn = {excerpt(source, "RAND-3", stream) for _ in range(200)}
    assert len(drawn) == 10  # five choose three, each in the source's order
    assert all(sentences(text) == sorted(sentences(text)) for text in drawn)
    assert [excerpt("A one. B two.", how, stream) for how in ALTERATIONS] == ["A one. B two."] * 3
    assert excerpt("", "RAND-3", stream) == ""


def test_only_documents_with_references_are_altered() -> None:
    cases = [Case(Document("d", "S.", ("r", "q")), ()), Case(Document("e", "S."), ())]
    found = with_altered_references(cases, "LEAD-3", np.random.default_rng(0))
    assert [case.document.references for case in found] == [("S.",), ()]


def test_correlates() -> None:
    (found,) = correlates(["a", "b", "c", "d", "e"], [["b", "c", "x", "e"]])
    assert (found.coverage, found.density, found.compression, found.length) == (0.75, 1.25, 1.25, 4)
    assert words("It's U.S.-made") == ["it", "'", "s", "u", ".", "s", ".", "-", "made"]
    assert isnan(correlates(["a"], [[]])[0].coverage)
    assert correlates([], [["a"]])[0].coverage == 0


def test_a_scan_resumes_behind_each_run_it_has_met() -> None:
    """The run of three from the second word is never tried: the published procedure skips it."""
    (found,) = correlates(["a", "a", "a", "b"], [["a", "a", "b"]])
    assert found.density == pytest.approx((4 + 1) / 3)


WORDS = st.lists(st.sampled_from("abc"), max_size=12)


@given(WORDS, WORDS.filter(bool))
def test_fragments_as_published(source: list[str], text: list[str]) -> None:
    runs = published(source, text)
    (found,) = correlates(source, [text])
    assert found.coverage == pytest.approx(sum(runs) / len(text))
    assert found.density == pytest.approx(sum(run**2 for run in runs) / len(text))


def published(source: list[str], text: list[str]) -> list[int]:
    """Figure 3 of Grusky et al. (2018), line by line."""
    found, i, j = [], 0, 0
    while i < len(text):
        best = 0
        while j < len(source):
            if text[i] == source[j]:
                i2, j2 = i, j
                while i2 < len(text) and j2 < len(source) and text[i2] == source[j2]:
                    i2, j2 = i2 + 1, j2 + 1
                best = max(best, i2 - i)
                j = j2
            else:
                j += 1
        i, j = i + max(best, 1), 0
        found.append(best)
    return found


FEW_WORDS = st.text("01", max_size=60)


@given(FEW_WORDS, st.text("012", max_size=60))
def test_runs_as_published_where_words_recur(source: str, text: str) -> None:
    assert fragments(source, text) == [run for run in published([*source], [*text]) if run]


@pytest.mark.parametrize(
    ("source", "text", "runs"),
    [
        ("0" * 60_000, "01" * 5_000, [1] * 5_000),
        ("0" * 60_000, "001" * 3_000, [2] * 3_000),
        ("0" * 60_000 + "12", "01" * 5_000, [2] * 5_000),
        ("0" * 60_000, "0" * 20_000, [20_000]),
    ],
    ids=["ones", "twos", "at the end", "copy"],
)
def test_a_word_repeated_without_end(source: str, text: str, runs: list[int]) -> None:
    """Every place of the word tried for every word of the text would last for minutes."""
    assert fragments(source, text) == runs
    (found,) = correlates([*source], [[*text]])
    assert found.coverage == pytest.approx(sum(runs) / len(text))


@given(WORDS.filter(bool))
def test_a_copy_is_one_fragment(text: list[str]) -> None:
    (found,) = correlates(text, [text])
    assert (found.coverage, found.density) == (1.0, len(text))
