"""The lexical metrics as scorers: sacrebleu's numbers, laws, reasons, signatures, SummEval."""

import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sacrebleu
from hypothesis import given
from hypothesis import strategies as st
from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a
from scipy.stats import spearmanr

from evaljudge.metrics.lexical import Lexical, bleu, chrf, rouge1, rouge2, rouge_l
from evaljudge.metrics.protocol import Unscored, Value
from evaljudge.records import Candidate, Case, Document

SUMMEVAL = Path(__file__).parents[3] / "shared" / "data" / "summeval.jsonl"
MAKERS = {"rouge1": rouge1, "rouge2": rouge2, "rougeL": rouge_l, "bleu": bleu, "chrf": chrf}
RIVER = "The river rose and closed the bridge."
CHINESE = "我喜欢北京的秋天。", "我很喜欢北京的秋天。"
VOCABULARY = ["The", "the", "rivers", "river", "3.5", "U.S.", "&amp;", "don't", "café", "—", ","]

english = st.lists(st.sampled_from(VOCABULARY), min_size=1, max_size=12).map(" ".join)


def made(name: str, **settings: Any) -> Lexical:
    return MAKERS[name](name, settings)


def compared(metric: Lexical, text: str, reference: str) -> Value:
    """With a text that may be this very one, which has no value of its own."""
    return metric.comparing(reference)(text)


def value(metric: Lexical, text: str, *references: str) -> Value:
    case = Case(Document("d", RIVER, references), (Candidate("A", text),))
    ((found,),) = metric.measure([case])
    return found


def test_bleu_by_hand() -> None:
    """Orders 1 and 2 match 2 of 3 and 1 of 2; of order 3 none of 1, smoothed to 1/2; no order 4."""
    expected = (2 / 3 * 1 / 2 * 1 / 2) ** (1 / 3)
    assert value(made("bleu"), "a b x", "a b c") == pytest.approx(expected)
    brief = np.exp(1 - 3 / 2)
    assert value(made("bleu"), "a b", "a b c") == pytest.approx(brief)


def test_chrf_by_hand() -> None:
    """abd, abc: letters match 2 of 3, pairs 1 of 2, threes 0 of 1; spaces are nothing."""
    assert value(made("chrf"), "a bd", "ab c") == pytest.approx((2 / 3 + 1 / 2) / 3)


@given(english, english)
def test_as_sacrebleu(mine: str, theirs: str) -> None:
    expected = sacrebleu.sentence_bleu(mine, [theirs]).score / 100
    assert compared(made("bleu"), mine, theirs) == pytest.approx(expected)
    expected = sacrebleu.sentence_chrf(mine, [theirs]).score / 100
    assert compared(made("chrf"), mine, theirs) == pytest.approx(expected)
    expected = sacrebleu.sentence_chrf(mine, [theirs], word_order=2).score / 100
    assert compared(made("chrf", words=2), mine, theirs) == pytest.approx(expected)


def test_chinese_is_no_single_word() -> None:
    mine, theirs = CHINESE
    expected = sacrebleu.sentence_bleu(mine, [theirs], tokenize="zh").score / 100
    assert expected > 0.5
    assert value(made("bleu"), mine, theirs) == pytest.approx(expected)
    apart = " ".join(mine), " ".join(theirs)
    expected = sacrebleu.sentence_chrf(apart[0], [apart[1]], word_order=2).score / 100
    assert value(made("chrf", words=2), mine, theirs) == pytest.approx(expected)


@pytest.mark.parametrize("name", MAKERS)
@given(text=english, other=english)
def test_no_text_is_nearer_than_the_text_itself(name: str, text: str, other: str) -> None:
    said = f"{text} the end."  # two words at least
    assert compared(made(name), said, said) == pytest.approx(1)
    across = compared(made(name), text, other)
    assert isinstance(across, Unscored) or 0 <= across <= 1 + 1e-12


def test_signs_count_for_bleu_and_chrf_alone() -> None:
    assert compared(made("bleu"), "?!", "?!") == pytest.approx(1)
    assert compared(made("chrf"), "?!", "?!") == pytest.approx(1)
    assert compared(made("rouge1"), "?!", "?!") == Unscored("no words")
    reordered = "the bridge closed and the river rose"
    assert value(made("rouge1", against="best"), RIVER, "?!", reordered) == 1


@given(st.text(max_size=20), st.text(max_size=20))
def test_any_text_at_all(mine: str, theirs: str) -> None:
    for name in MAKERS:
        got = value(made(name), mine, theirs)
        assert isinstance(got, Unscored) or 0 <= got <= 1 + 1e-12


def test_what_the_signature_says() -> None:
    named = rouge1("of-source", {"against": "source"})
    assert named.name == "of-source"
    assert named.facts == {"against": "source", "stemmer": False, "like": "rouge-score 0.1.2"}
    assert made("rougeL", stemmer=True).facts["library"].startswith("nltk 3.")
    told = made("bleu", against="mean").facts
    assert told["library"] == f"sacrebleu {sacrebleu.__version__}"
    assert (told["against"], told["tokenize"], told["smooth_method"]) == ("mean", "13a", "exp")
    assert made("chrf", words=2).facts["words"] == 2


def test_long_runs_keep_no_texts() -> None:
    for turn in range(20):
        value(made("bleu"), f"turn {turn}", f"the turn {turn}")
    assert Tokenizer13a.__call__.cache_info().currsize <= 2


@cache
def summeval() -> tuple[list[Case], list[float]]:
    """The cases, and each system's mean relevance."""
    if not SUMMEVAL.exists():
        pytest.skip("SummEval is not here (../shared/data)")
    cases, rated = [], []
    for line in SUMMEVAL.read_text().splitlines():
        row = json.loads(line)
        candidates = sorted(row["candidates"], key=lambda candidate: str(candidate["system"]))
        document = Document(row["doc_id"], row["source"], tuple(row["references"]))
        cases.append(Case(document, tuple(Candidate(c["system"], c["text"]) for c in candidates)))
        rated.append([c["ratings"]["relevance"] for c in candidates])
    return cases, list(np.mean(rated, axis=0))


@pytest.mark.parametrize(
    ("name", "expected"), [("rouge1", 0.594), ("rouge2", 0.618), ("chrf", 0.735)]
)
def test_relevance_on_summeval(name: str, expected: float) -> None:
    cases, relevance = summeval()
    means = np.mean(np.array(made(name).measure(cases), dtype=float), axis=0)
    assert spearmanr(means, relevance).statistic == pytest.approx(expected, abs=0.01)
