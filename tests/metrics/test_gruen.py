"""GRUEN's two parts: by hand, and by a second implementation on tiny BERTs."""

from collections.abc import Sequence
from math import exp
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nltk.metrics.distance import edit_distance  # type: ignore[import-untyped]

from evaljudge.metrics import make_metrics
from evaljudge.metrics.gruen import edits, grammaticality, separated, ways_alike
from evaljudge.metrics.protocol import Value
from tests.build import case
from tests.lazily import Lazily

torch = Lazily("torch")
transformers = Lazily("transformers")

ROSE = "the river rose after two days."
some_text = st.text("ab c.", min_size=1, max_size=40)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It rose 3.5 metres\nBoats came.Yes.", ["It rose UNK metres.", "Boats came."]),
        ("One two... Three four!\n\nFive six", ["One two.", "Three four!.", "Five six"]),
        ("Mr. Smith left", ["Mr. Smith left"]),
        ("Yes. - No.", []),
    ],
)
def test_sentences_by_hand(text, expected):
    assert separated(text) == expected


def test_grammaticality_by_hand():
    assert grammaticality(2.0, 1.0) == pytest.approx(0.5 + (exp(-1) + 1) / 8)
    assert grammaticality(1e9, -4.5) == 0
    assert grammaticality(1e9, -4.0) == 0


@pytest.mark.parametrize(
    ("a", "b", "ways"),
    [
        (ROSE, ROSE, 4),
        ("the river", ROSE, 4),  # one inside the other
        ("a b c d", "a b c x", 0),  # too short for anything else
        ("boats came from the city today", ROSE, 0),
        # Five of six words in common, in another order: no long string, many edits.
        ("days two after rose river the", "the river rose after two weeks", 1),
        # One word differs in the middle: half a string, half the words, few edits, 8 of 9 words.
        ("a b c d eeee f g h i", "a b c d xxxx f g h i", 2),
        # The first words are equal: 26 of 30 letters, 5 of 6 words.
        ("the river rose after two days.", "the river rose after two weeks", 4),
    ],
)
def test_ways_to_be_alike_by_hand(a, b, ways):
    assert ways_alike(a, b) == ways_alike(b, a) == ways


@given(some_text, some_text)
def test_edits_as_nltk(a, b):
    assert edits(a, b) == edit_distance(a, b)


def ways_by_definition(a: str, b: str) -> int:
    if a in b or b in a:
        return 4
    if len(a.split()) < 5 and len(b.split()) < 5:
        return 0
    strings = [a[i:j] for i in range(len(a)) for j in range(i + 1, len(a) + 1) if a[i:j] in b]
    longest = max(strings, key=len, default="")
    fewer = min(len(a.split()), len(b.split()))
    alike = [
        len(longest) / min(len(a), len(b)) > 0.8,
        len(longest.split()) / fewer > 0.8 if fewer else len(longest.split()) > 0,
        edit_distance(a, b) / max(len(a), len(b)) < 0.6,
        len([w for w in a.split() if w in b.split()]) > 0.8 * fewer,
    ]
    return alike.count(True)


@given(some_text, some_text)
def test_ways_by_definition(a, b):
    assert ways_alike(a, b) == ways_by_definition(a, b)


# On tiny BERTs


@pytest.fixture(scope="module")
def models(make_bert):
    return make_bert(initializer_range=0.3), make_bert("BertForSequenceClassification")


def values(models: tuple[Path, Path], *texts: str, **settings: Any) -> list[Value]:
    spec = {"model": str(models[0]), "acceptability": str(models[1]), **settings}
    (metric,) = make_metrics({"gruen2of4": spec})
    (row,) = metric.measure([case(*texts, source="")])
    return row


def second_implementation(models: tuple[Path, Path], sentences: Sequence[str]) -> float:
    """Sentence by sentence, with transformers' own losses."""
    tokenizer = transformers.BertTokenizerFast.from_pretrained(models[0])
    language = transformers.BertForMaskedLM.from_pretrained(models[0]).eval()
    classifier = transformers.BertForSequenceClassification.from_pretrained(models[1]).eval()
    perplexity = acceptability = 0.0
    for sentence in sentences:
        given = tokenizer(sentence, return_tensors="pt", truncation=True, max_length=64)
        with torch.no_grad():
            loss = language(**given, labels=given["input_ids"]).loss
            logits = classifier(**given).logits
        perplexity += exp(float(loss)) / len(sentences)
        acceptability += float(logits[0, 1]) / len(sentences)
    grammar = max(0.0, (exp(-0.5 * perplexity) + acceptability) / 8 + 0.5)
    pairs = [(a, b) for i, a in enumerate(sentences) for b in sentences[i + 1 :]]
    return min(1.0, max(0.0, grammar - 0.1 * sum(ways_by_definition(*pair) for pair in pairs)))


@pytest.mark.engine
@pytest.mark.parametrize("batch", [1, 32])
def test_as_a_second_implementation(models, batch):
    split = [
        ["A flood closed the bridge of the town."],
        ["The river rose.", "The town was cut off.", "It rained two days."],
        ["The river rose after two days of rain.", "The river rose after 2 days of rain."],
        ["The town was cut off.", "The town was cut off."],
        ["rain " * 100 + "flood."],
    ]
    expected = [second_implementation(models, sentences) for sentences in split]
    found = values(models, *(" ".join(sentences) for sentences in split), batch=batch)
    assert found == pytest.approx(expected, abs=1e-5)
    assert len({round(value, 3) for value in expected if 0 < value < 1}) >= 4
