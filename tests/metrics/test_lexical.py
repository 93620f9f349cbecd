"""ROUGE as rouge-score has it, BLEU and chrF as sacrebleu; words, laws, reasons, SummEval."""

import json
import random
from functools import cache
from typing import Any

import numpy as np
import pytest
import sacrebleu
from hypothesis import given
from hypothesis import strategies as st
from rouge_score.rouge_scorer import RougeScorer
from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a
from scipy.stats import spearmanr

from evaljudge.metrics.lexical import Lexical, bleu, chrf, rouge1, rouge2, rouge_l, spaced, words
from evaljudge.metrics.protocol import Unscored, Value
from evaljudge.records import Candidate, Case, Document
from tests.build import SHARED, case, needs_shared

ROUGES = {"rouge1": rouge1, "rouge2": rouge2, "rougeL": rouge_l}
MAKERS = ROUGES | {"bleu": bleu, "chrf": chrf}
RIVER = "The river rose and closed the bridge."
CHINESE = "我喜欢北京的秋天。", "我很喜欢北京的秋天。"
VOCABULARY = ["The", "the", "rivers", "river", "rising", "3.5", "U.S.", "&amp;", "co-op", "x_y",
              "don't", ","]  # fmt: skip

some_words = st.lists(st.sampled_from(VOCABULARY), max_size=12).map(" ".join)
english = some_words.filter(bool)
letters = st.lists(st.sampled_from("abcd"), min_size=1, max_size=14).map(" ".join)


def made(name: str, **settings: Any) -> Lexical:
    return MAKERS[name](name, settings)


def compared(metric: Lexical, text: str, reference: str) -> Value:
    """With a text that may be this very one, which has no value of its own."""
    return metric.comparing(reference)(text)


def value(metric: Lexical, text: str, *references: str) -> Value:
    ((found,),) = metric.measure([case(text, source=RIVER, references=references)])
    return found


# ROUGE


@pytest.mark.parametrize(
    ("name", "expected"),
    # 5 words shared of 6 and 7; 2 pairs of 5 and 6; in order: the river closed the bridge.
    [("rouge1", 10 / 13), ("rouge2", 4 / 11), ("rougeL", 10 / 13)],
)
def test_rouge_by_hand(name, expected):
    found = value(made(name), "The river closed the old bridge.", RIVER)
    assert found == pytest.approx(expected)


@cache
def oracle(name: str, stemmer: bool) -> RougeScorer:
    return RougeScorer([name], use_stemmer=stemmer)


@pytest.mark.parametrize("stemmer", [False, True])
@pytest.mark.parametrize("name", ROUGES)
@given(mine=some_words | letters, theirs=some_words | letters)
def test_as_rouge_score(name, stemmer, mine, theirs):
    got = compared(made(name, stemmer=stemmer), mine, theirs)
    if isinstance(got, Unscored):
        assert not (words(mine) and words(theirs))
    else:
        expected = oracle(name, stemmer).score(theirs, mine)[name].fmeasure
        assert got == pytest.approx(expected)


def test_longer_than_a_machine_word():
    draw = random.Random(0)
    mine, theirs = (" ".join(draw.choice("abcdefgh") for _ in range(n)) for n in (150, 200))
    expected = oracle("rougeL", False).score(theirs, mine)["rougeL"].fmeasure
    assert compared(made("rougeL"), mine, theirs) == pytest.approx(expected)


@given(st.text(st.characters(max_codepoint=127)), st.booleans())
def test_words_of_ascii_are_rouge_scores(text, stemmer):
    assert words(text, stemmer) == oracle("rouge1", stemmer)._tokenizer.tokenize(text)


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
def test_words_of_other_scripts(text, expected):
    assert words(text) == expected


def test_only_letters_that_stand_alone_are_set_apart():
    assert spaced("naïve 한국어 हिन्दी") == "naïve 한국어 हिन्दी"
    assert spaced("北京tower").split() == ["北", "京", "tower"]


def test_chinese():
    """Eight letters, nine in the other, which has 很 between the first two."""
    mine, theirs = CHINESE
    expected = sacrebleu.sentence_bleu(mine, [theirs], tokenize="zh").score / 100
    assert expected > 0.5
    assert value(made("bleu"), mine, theirs) == pytest.approx(expected)
    apart = " ".join(mine), " ".join(theirs)
    expected = sacrebleu.sentence_chrf(apart[0], [apart[1]], word_order=2).score / 100
    assert value(made("chrf", words=2), mine, theirs) == pytest.approx(expected)
    assert value(made("rouge2"), mine, theirs) == pytest.approx(2 * 6 / (7 + 8))
    assert value(made("rougeL"), mine, theirs) == pytest.approx(2 * 8 / (8 + 9))


# BLEU and chrF


def test_bleu_and_chrf_by_hand():
    """Orders 1 and 2 match 2 of 3 and 1 of 2; of order 3 none of 1, smoothed to 1/2; no order 4."""
    expected = (2 / 3 * 1 / 2 * 1 / 2) ** (1 / 3)
    assert value(made("bleu"), "a b x", "a b c") == pytest.approx(expected)
    brief = np.exp(1 - 3 / 2)
    assert value(made("bleu"), "a b", "a b c") == pytest.approx(brief)
    # abd, abc: letters match 2 of 3, pairs 1 of 2, threes 0 of 1; spaces are nothing
    assert value(made("chrf"), "a bd", "ab c") == pytest.approx((2 / 3 + 1 / 2) / 3)
    assert compared(made("bleu"), "?!", "?!") == pytest.approx(1)
    assert compared(made("chrf"), "?!", "?!") == pytest.approx(1)
    for name in ROUGES:
        assert compared(made(name), "?! …", RIVER) == Unscored("no words")
        assert compared(made(name), "river", "* * *") == Unscored("no words")
    reordered = "the bridge closed and the river rose"
    assert value(made("rouge1", against="best"), RIVER, "?!", reordered) == 1


@given(english, english)
def test_as_sacrebleu(mine, theirs):
    for metric, expected in [
        (made("bleu"), sacrebleu.sentence_bleu(mine, [theirs])),
        (made("chrf"), sacrebleu.sentence_chrf(mine, [theirs])),
        (made("chrf", words=2), sacrebleu.sentence_chrf(mine, [theirs], word_order=2)),
    ]:
        assert compared(metric, mine, theirs) == pytest.approx(expected.score / 100)


def test_long_runs_keep_no_texts():
    for turn in range(20):
        value(made("bleu"), f"turn {turn}", f"the turn {turn}")
    assert Tokenizer13a.__call__.cache_info().currsize <= 2


# all of them


@pytest.mark.parametrize("name", MAKERS)
@given(text=english, other=english, mine=st.text(max_size=20), theirs=st.text(max_size=20))
def test_laws(name, text, other, mine, theirs):
    said = f"{text} the end."  # two words at least
    assert compared(made(name), said, said) == pytest.approx(1)
    for across in (compared(made(name), text, other), value(made(name), mine, theirs)):
        assert isinstance(across, Unscored) or 0 <= across <= 1 + 1e-12


def test_what_the_signature_says():
    named = rouge1("of-source", {"against": "source"})
    assert named.name == "of-source"
    assert named.facts == {"against": "source", "stemmer": False, "like": "rouge-score 0.1.2"}
    assert made("rougeL", stemmer=True).facts["library"].startswith("nltk 3.")
    told = made("bleu", against="mean").facts
    assert told["library"] == f"sacrebleu {sacrebleu.__version__}"
    assert (told["against"], told["tokenize"], told["smooth_method"]) == ("mean", "13a", "exp")
    assert made("chrf", words=2).facts["words"] == 2


@cache
def summeval() -> tuple[list[Case], list[float]]:
    """The cases, and each system's mean relevance."""
    cases, rated = [], []
    for line in (SHARED / "summeval.jsonl").read_text().splitlines():
        row = json.loads(line)
        candidates = sorted(row["candidates"], key=lambda candidate: str(candidate["system"]))
        document = Document(row["doc_id"], row["source"], tuple(row["references"]))
        cases.append(Case(document, tuple(Candidate(c["system"], c["text"]) for c in candidates)))
        rated.append([c["ratings"]["relevance"] for c in candidates])
    return cases, list(np.mean(rated, axis=0))


@needs_shared
@pytest.mark.parametrize(
    ("name", "expected"), [("rouge1", 0.594), ("rouge2", 0.618), ("chrf", 0.735)]
)
def test_relevance_on_summeval(name, expected):
    cases, relevance = summeval()
    means = np.mean(np.array(made(name).measure(cases), dtype=float), axis=0)
    assert spearmanr(means, relevance).statistic == pytest.approx(expected, abs=0.01)
