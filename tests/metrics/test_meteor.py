"""METEOR: published values, alignments by hand and by trying them all, a WordNet of four words."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nltk.translate.meteor_score import single_meteor_score  # type: ignore[import-untyped]

from evaljudge.errors import UserError
from evaljudge.metrics import make_metrics
from evaljudge.metrics.meteor import Links, aligned, chunks_in, fewest_crossings, meteor
from evaljudge.metrics.protocol import Unscored, Value
from evaljudge.records import Candidate, Case, Document

MAT = "the cat sat on the mat"


def value(text: str, other: str, **settings: Any) -> Value:
    return meteor("meteor", settings).comparing(other)(text)


@pytest.mark.parametrize(
    ("text", "f", "penalty", "published"),
    [
        (MAT, 1.0, 0.5 * (1 / 6) ** 3, 0.9977),
        ("on the mat sat the cat", 1.0, 0.5, 0.5000),
        ("the cat was sat on the mat", 60 / 61, 0.5 * (2 / 6) ** 3, 0.9654),
    ],
)
def test_published_values(text: str, f: float, penalty: float, published: float) -> None:
    """The examples of Wikipedia's article METEOR, which it gives with four decimals."""
    found = value(text, MAT)
    assert found == pytest.approx(f * (1 - penalty))
    assert found == pytest.approx(published, abs=5e-5)


def test_the_chunks_of_the_paper() -> None:
    """Its example of two chunks, `the president` and `spoke to the audience`."""
    text, other = "the president spoke to the audience", "the president then spoke to the audience"
    (equal,) = [lambda word: frozenset([word])]
    assert aligned(text.split(), other.split(), [equal]) == [0, 1, 3, 4, 5, 6]
    precision, recall = 6 / 6, 6 / 7
    f = 10 * precision * recall / (recall + 9 * precision)
    assert value(text, other) == pytest.approx(f * (1 - 0.5 * (2 / 6) ** 3))


def test_stems_by_hand() -> None:
    """`floods` and `flooding` have the stem `flood`; three words of three, in one chunk."""
    assert value("The floods rose.", "the flooding rose") == pytest.approx(1 - 0.5 / 27)
    without = value("The floods rose.", "the flooding rose", stems=False)
    assert without == pytest.approx(2 / 3 * (1 - 0.5 * (2 / 2) ** 3))


def test_equal_words_come_before_equal_stems() -> None:
    """`runs` takes the later `runs`, though the `run` before it would cross nothing."""
    stages = [lambda word: frozenset([word]), lambda word: frozenset([word.rstrip("s")])]
    assert aligned(["runs", "far"], ["run", "far", "runs"], stages) == [2, 1]
    assert aligned(["runs", "far", "run"], ["far", "runs", "runs"], stages) == [1, 0, 2]


def test_parameters() -> None:
    """Two words of three and of four, in two chunks."""
    text, other = "a b c", "a x y b"
    precision, recall = 2 / 3, 2 / 4
    assert value(text, other, alpha=1) == pytest.approx(recall / 2)
    assert value(text, other, alpha=0) == pytest.approx(precision / 2)
    assert value(text, other, alpha=1, gamma=0) == pytest.approx(recall)
    assert value(text, other, alpha=1, beta=0, gamma=0.3) == pytest.approx(recall * 0.7)


@pytest.mark.parametrize(
    ("options", "links"),
    [
        ([{0, 1}, {2}], [1, 2]),  # no crossing either way: the fewer chunks
        ([{1}, {0, 2}], [1, 2]),
        ([{1}, {0}], [1, 0]),  # a largest alignment, though its links cross
        ([{0, 1}, {0}], [1, 0]),
        ([{0}, set(), {0, 1}], [0, None, 1]),
        ([{2}, {2}, {0}], [None, 2, 0]),
        ([], []),
    ],
)
def test_alignments_by_hand(options: Sequence[set[int]], links: Links) -> None:
    found = fewest_crossings(options, 3)
    assert cost(found) == cost(links)
    if len(options) == 2:
        assert found == links


def cost(links: Links) -> tuple[int, int, int]:
    places = [place for place in links if place is not None]
    crossings = sum(a > b for a, b in combinations(places, 2))
    pairs = pairwise([None, *links])
    chunks = sum(b is not None and (a is None or b != a + 1) for a, b in pairs)
    return -len(places), crossings, chunks


def all_alignments(options: Sequence[set[int]]) -> list[list[int | None]]:
    if not options:
        return [[]]
    return [
        [*before, place]
        for before in all_alignments(options[:-1])
        for place in (None, *options[-1])
        if place is None or place not in before
    ]


@given(st.lists(st.sets(st.integers(0, 4)), max_size=5))
def test_no_alignment_is_better(options: list[set[int]]) -> None:
    found = fewest_crossings(options, 5)
    assert all(link is None or link in may for link, may in zip(found, options, strict=True))
    assert cost(found) == min(map(cost, all_alignments(options)))
    assert chunks_in(found) == cost(found)[2]


@given(st.text("ab ", max_size=60), st.text("ab ", max_size=60))
def test_any_words(text: str, other: str) -> None:
    found = value(text, other)
    if text.split() and other.split():
        assert isinstance(found, float) and 0 <= found < 1
        assert (found == 0) == (not {*text.split()} & {*other.split()})
    else:
        assert found == Unscored("no words")


class NoWordNet:
    def synsets(self, word: str) -> list[str]:
        return []


@st.composite
def distinct_words(draw: Any) -> list[str]:
    """Of each stem one form at most, so that there is only one alignment."""
    stems = ["flood", "rain", "river", "town", "boat"]
    forms = draw(st.permutations([draw(st.sampled_from([stem, f"{stem}s"])) for stem in stems]))
    return list(forms[: draw(st.integers(1, 5))])


@given(distinct_words(), distinct_words())
def test_as_nltk(text: list[str], other: list[str]) -> None:
    expected = single_meteor_score(other, text, wordnet=NoWordNet())
    assert value(" ".join(text), " ".join(other)) == pytest.approx(expected)


# WordNet


@pytest.fixture
def wordnet(tmp_path: Path) -> Path:
    """Its files, in which car and automobile, and mouse and rodent, share a synset."""
    licence = "  1 This software and database is being provided to you\n"
    nouns = ["automobile n 1 1 @ 1 1 00000100", "car n 2 1 @ 2 1 00000100 00000200"]
    nouns += ["mouse n 1 0 1 0 00000300", "rodent n 1 0 1 0 00000300"]
    for kind in ("noun", "verb", "adj", "adv"):
        lines = nouns if kind == "noun" else []
        (tmp_path / f"index.{kind}").write_text(licence + "".join(f"{line}  \n" for line in lines))
        (tmp_path / f"{kind}.exc").write_text("mice mouse\n" if kind == "noun" else "")
    return tmp_path


def test_synonyms(wordnet: Path) -> None:
    """With base forms: by their endings, and by the list of exceptions."""
    for text, other in [("cars stop", "automobile stop"), ("rodent stop", "mice stop")]:
        assert value(text, other) == pytest.approx(1 / 2 * (1 - 0.5))
        assert value(text, other, synonyms=str(wordnet)) == pytest.approx(1 - 0.5 / 8)
    assert value("rodent stop", "car stop", synonyms=str(wordnet)) == pytest.approx(1 / 4)


def test_a_folder_without_wordnet(tmp_path: Path, wordnet: Path) -> None:
    (wordnet / "adj.exc").unlink()
    with pytest.raises(
        UserError, match=r"^metrics\.m\.synonyms: .* has no adj\.exc: name a folder"
    ):
        meteor("m", {"synonyms": str(wordnet)})
    with pytest.raises(UserError, match="has no index.noun"):
        make_metrics({"meteor": {"synonyms": str(tmp_path / "nowhere")}})


# As a scorer


def test_as_a_scorer(wordnet: Path) -> None:
    (metric,) = make_metrics({"meteor": {"synonyms": str(wordnet), "against": "best"}})
    there = pickle.loads(pickle.dumps(metric))
    texts = ("cars stop", MAT, "?!", " ")
    case = Case(
        Document("d", "s", ("stop", "automobile stop", MAT)),
        tuple(Candidate(f"s{i}", text) for i, text in enumerate(texts)),
    )
    expected = [1 - 0.5 / 8, *map(Unscored, ("is the reference", "no words", "empty text"))]
    assert (
        there.measure([case])
        == metric.measure([case])
        == [[pytest.approx(expected[0]), *expected[1:]]]
    )
    assert there.facts == metric.facts


def test_what_the_signature_says(wordnet: Path) -> None:
    facts = meteor("meteor", {}).facts
    assert facts["library"].startswith("nltk 3.")
    assert {k: facts[k] for k in ("stems", "synonyms", "alpha", "beta", "gamma")} == {
        "stems": True, "synonyms": None, "alpha": 0.9, "beta": 3.0, "gamma": 0.5
    }  # fmt: skip
    first = meteor("meteor", {"synonyms": str(wordnet)}).facts["synonyms"]
    assert first.startswith("wordnet@")
    (wordnet / "index.verb").write_text("stop v 1 0 1 0 00000400  \n")
    assert meteor("meteor", {"synonyms": str(wordnet)}).facts["synonyms"] != first
    assert "library" not in meteor("meteor", {"stems": False}).facts
