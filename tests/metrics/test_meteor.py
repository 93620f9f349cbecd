"""METEOR: published values, what nltk does differently, a WordNet of four words."""

from typing import Any

import pytest

from evaljudge.errors import UserError
from evaljudge.metrics import make_metrics
from evaljudge.metrics.meteor import meteor
from evaljudge.metrics.protocol import Value

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
def test_published_values(text, f, penalty, published):
    """The examples of Wikipedia's article METEOR, which it gives with four decimals."""
    found = value(text, MAT)
    assert found == pytest.approx(f * (1 - penalty))
    assert found == pytest.approx(published, abs=5e-5)


def test_alignments_by_hand():
    """Its example of two chunks, `the president` and `spoke to the audience`."""
    text, other = "the president spoke to the audience", "the president then spoke to the audience"
    precision, recall = 6 / 6, 6 / 7
    f = 10 * precision * recall / (recall + 9 * precision)
    assert value(text, other) == pytest.approx(f * (1 - 0.5 * (2 / 6) ** 3))
    # `a` takes the later `a`, so two chunks are made where the paper's rule makes one
    precision, recall = 1, 2 / 3
    f = 10 * precision * recall / (recall + 9 * precision)
    assert value("a b", "a b a") == pytest.approx(f * (1 - 0.5 * (2 / 2) ** 3))
    # `floods` and `flooding` have the stem `flood`; three words of three, in one chunk
    assert value("The floods rose.", "the flooding rose") == pytest.approx(1 - 0.5 / 27)
    without = value("The floods rose.", "the flooding rose", stems=False)
    assert without == pytest.approx(2 / 3 * (1 - 0.5 * (2 / 2) ** 3))


def test_parameters():
    """Two words of three and of four, in two chunks."""
    text, other = "a b c", "a x y b"
    precision, recall = 2 / 3, 2 / 4
    assert value(text, other, alpha=1) == pytest.approx(recall / 2)
    assert value(text, other, alpha=0) == pytest.approx(precision / 2)
    assert value(text, other, alpha=1, gamma=0) == pytest.approx(recall)
    assert value(text, other, alpha=1, beta=0, gamma=0.3) == pytest.approx(recall * 0.7)


@pytest.fixture
def wordnet(tmp_path):
    """Its files, in which car and automobile, and mouse and rodent, share a synset."""
    licence = "  1 This software and database is being provided to you\n"
    synsets, index = licence, licence
    for lemmas in (["car", "automobile"], ["mouse", "rodent"]):
        named = " ".join(f"{lemma} 0" for lemma in lemmas)
        index += "".join(f"{lemma} n 1 0 1 0 {len(synsets):08}  \n" for lemma in lemmas)
        synsets += f"{len(synsets):08} 00 n {len(lemmas):02} {named} 000 | a gloss  \n"
    for kind in ("noun", "verb", "adj", "adv"):
        (tmp_path / f"index.{kind}").write_text(index if kind == "noun" else licence)
        (tmp_path / f"data.{kind}").write_text(synsets if kind == "noun" else licence)
        (tmp_path / f"{kind}.exc").write_text("mice mouse\n" if kind == "noun" else "")
    (tmp_path / "lexnames").write_text("00\tadj.all\t3\n")
    return tmp_path


def test_synonyms(wordnet):
    """With base forms of the text's words: by their endings, and by the list of exceptions."""
    how: dict[str, Any] = {"synonyms": str(wordnet), "stems": False}
    for text, other in [("cars stop", "automobile stop"), ("mice stop", "rodent stop")]:
        assert value(text, other, stems=False) == pytest.approx(1 / 2 * (1 - 0.5))
        assert value(text, other, **how) == pytest.approx(1 - 0.5 / 8)
    for text, other in [("rodent stop", "car stop"), ("rodent stop", "mice stop")]:
        assert value(text, other, **how) == pytest.approx(1 / 4)
    # as nltk has it: `rodent` is its own stem, and `automobil` is no word of WordNet
    assert value("mice stop", "rodent stop", synonyms=str(wordnet)) == pytest.approx(1 - 0.5 / 8)
    assert value("car stop", "automobile stop", synonyms=str(wordnet)) == pytest.approx(1 / 4)


def test_a_folder_without_wordnet(tmp_path, wordnet):
    (wordnet / "adj.exc").unlink()
    with pytest.raises(
        UserError, match=r"^metrics\.m\.synonyms: .* has no adj\.exc: name a folder"
    ):
        meteor("m", {"synonyms": str(wordnet)})
    with pytest.raises(UserError, match="has no index.noun"):
        make_metrics({"meteor": {"synonyms": str(tmp_path / "nowhere")}})


def test_what_the_signature_says(wordnet):
    facts = meteor("meteor", {}).facts
    assert facts["library"].startswith("nltk 3.")
    assert {k: facts[k] for k in ("stems", "synonyms", "alpha", "beta", "gamma")} == {
        "stems": True, "synonyms": None, "alpha": 0.9, "beta": 3.0, "gamma": 0.5
    }  # fmt: skip
    first = meteor("meteor", {"synonyms": str(wordnet)}).facts["synonyms"]
    assert first.startswith("wordnet@")
    (wordnet / "verb.exc").write_text("stopt stop\n")
    assert meteor("meteor", {"synonyms": str(wordnet)}).facts["synonyms"] != first
