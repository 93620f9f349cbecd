"""The importance metric: literals by hand, its definition, laws, edges, the paper's numbers."""

import json
import pickle
import random
from collections import defaultdict
from collections.abc import Sequence
from importlib.metadata import version
from math import log, tanh
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import spearmanr

from evaljudge.metrics import Unscored, Value, make_metrics
from evaljudge.metrics.protocol import drawn, measure_here
from evaljudge.metrics.tokens import of_model
from evaljudge.records import Candidate, Case, Document
from tests.build import SHARED, needs_shared
from tests.metrics.importance_by_definition import by_definition


def cases_of(sources: Sequence[str], texts: Sequence[Sequence[str]]) -> list[Case]:
    return [
        Case(Document(f"d{i}", source), tuple(Candidate(f"s{j}", t) for j, t in enumerate(own)))
        for i, (source, own) in enumerate(zip(sources, texts, strict=True))
    ]


def measured(
    sources: Sequence[str], texts: Sequence[Sequence[str]], **told: Any
) -> list[list[Value]]:
    (metric,) = make_metrics({"importance": told})
    return measure_here([metric], cases_of(sources, texts))["importance"]


def only(source: str, text: str, others: Sequence[str] = (), **told: Any) -> Value:
    """The value of one text among other documents."""
    sources = [source, *others]
    return measured(sources, [[text], *([] for _ in others)], **told)[0][0]


OTHERS = ["a b c d", "x y z w v"]


def test_by_hand():
    """Bigrams of "a b a b q": ab twice, ba once, bq once. ab is in two of three documents, ba and
    bq in one. w: ab 2 ln 1.5 = 0.811, ba and bq ln 3 = 1.099; so ba and bq share rank 2, ab has 3.
    """
    told = {"tokenizer": "words", "n": 2, "length_penalty": False}
    shared, rare = tanh(2 * log(1.5) / 3), tanh(log(3) / 2)
    ceiling = shared + 2 * rare
    assert only("a b a b q", "a b", OTHERS, **told) == pytest.approx(shared / ceiling)
    assert only("a b a b q", "b a b a", OTHERS, **told) == pytest.approx((shared + rare) / ceiling)
    assert only("a b a b q", "A B a b Q", OTHERS, **told) == pytest.approx(1.0)
    assert only("a b a b q", "q a", OTHERS, **told) == 0.0


def test_the_length_penalty_by_hand():
    told = {"tokenizer": "words", "n": 2, "weight": "constant"}
    half = only("a b c d e f g h", "a b c d", OTHERS, **told)
    assert half == pytest.approx(0.5 * 3 / 7)  # at half the source's length it is one half
    whole = only("a b c d", "a b c d", OTHERS, **told)
    assert whole == pytest.approx(1 / (1 + np.exp(10)))
    longer = only("a b c d", "a b c d " * 500, OTHERS, **told)
    assert 0 <= longer < 1e-300
    assert only("the river rose and fell", "x", OTHERS) == 0.0  # shorter than an n-gram
    assert only("the river rose and fell", "‽‽‽ ☃☃☃", OTHERS) == 0.0  # unknown characters
    single = only("one two three four", "one two three", (), weight="constant", tokenizer="words")
    assert isinstance(single, float) and single > 0  # ranks need no idf


WORDS = [
    "the",
    "東京",
    "Дом",
    "river",
    "rose",
    "and",
    "flooded",
    "town",
    "it",
    "was",
    "bridge",
    "a",
    "closed",
]
SETTINGS = [
    {},
    {"n": 2},
    {"n": 4},
    {"vocabulary": 30},
    {"tokenizer": "words", "n": 2},
    {"tokenizer": "characters"},
    {"tokenizer": "characters", "n": 4},
    {"by": "bm25"},
    {"by": "bm25", "tokenizer": "words", "n": 2},
    *({"weight": w} for w in ("importance", "inverse-rank", "exponential-rank", "constant")),
    {"length_penalty": False},
    {"drop_stop_words": True},
    {"refined": True},
    {"refined": True, "drop_stop_words": True, "tokenizer": "words", "n": 2},
]


@pytest.mark.parametrize("told", SETTINGS, ids=json.dumps)
def test_by_definition(told):
    draw = random.Random(json.dumps(told))
    sources = [" ".join(draw.choices(WORDS, k=draw.randint(5, 40))) for _ in range(6)]
    texts = [
        [" ".join(draw.choices(WORDS, k=draw.randint(0, 12))) for _ in range(5)] for _ in sources
    ]
    asked = {("use_refined" if key == "refined" else key): value for key, value in told.items()}
    expected = by_definition(sources, texts, **asked)
    found = measured(sources, texts, **told)
    assert sum(value is not None for row in expected for value in row) > 15
    for row, of_row in zip(found, expected, strict=True):
        for mine, theirs in zip(row, of_row, strict=True):
            if theirs is None:
                assert isinstance(mine, Unscored)
            else:
                assert mine == pytest.approx(theirs, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize(
    ("source", "text", "others", "reason"),
    [
        ("the river rose", "", OTHERS, "empty text"),
        ("the river rose", " \n\t ", OTHERS, "empty text"),
        ("", "the river", OTHERS, "empty source"),
        ("ab", "the river", ["a river", "the town"], "source shorter than an n-gram"),
        ("the river rose", "the river", [], "no n-gram of the source has any weight"),
        ("the river rose", "the river", ["the river rose"], "no n-gram of the source"),
    ],
)
def test_what_has_no_number(source, text, others, reason):
    found = only(source, text, others)
    assert found.reason.startswith(reason)


def saved_tokenizer(folder: Path, words: Sequence[str]) -> None:
    """Of whole words and signs, in the form that models are published in."""
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    known = {word: i for i, word in enumerate(["[UNK]", "[SEP]", *words])}
    tokenizer = Tokenizer(models.WordLevel(known, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    wrapped = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, sep_token="[SEP]", unk_token="[UNK]"
    )
    wrapped.save_pretrained(folder)
    (folder / "config.json").write_text("{}")


def test_a_model_tokenizer(tmp_path):
    saved_tokenizer(tmp_path, WORDS)
    sources, texts = (
        ["the river rose and flooded town", "a bridge closed"],
        [["the river rose"], []],
    )
    of_model = measured(sources, texts, tokenizer="model", model=str(tmp_path))
    assert of_model == measured(sources, texts, tokenizer="words")


def test_it_travels():
    (metric,) = make_metrics({"importance": {"n": 2}})
    assert pickle.loads(pickle.dumps(metric)) == metric
    assert metric.facts["n"] == 2 and metric.facts["weight"] == "tanh"
    assert metric.facts["library"] == f"tokenizers {version('tokenizers')}"


def test_a_model_is_named_by_what_it_is(tmp_path):
    """Another tokenizer under the same path is another signature; no path is in it."""
    told = []
    for words in (WORDS, WORDS[::-1]):
        saved_tokenizer(tmp_path / "tok", words)
        settings = {"tokenizer": "model", "model": str(tmp_path / "tok")}
        (metric,) = make_metrics({"importance": settings})
        told.append(metric.facts["model"])
    assert told[0] != told[1]
    assert all(name.startswith("tok@") for name in told)


def test_texts_yield_no_special_token(tmp_path):
    """A written [SEP] is ordinary text: it is no more like another special than other words are."""
    saved_tokenizer(tmp_path, [*WORDS, "[", "]", "SEP", "PAD"])
    tokens = of_model(str(tmp_path), None)(["the [SEP] river", "the river"])
    assert tokens.lengths.tolist() == [5, 2]


def test_the_sample_depends_on_ids_alone():
    documents = [Document(f"d{i}", f"source {i}") for i in range(2_000)]
    some = list(drawn(documents, 200, len(documents), seed=1))
    assert 120 < len(some) < 280
    assert set(drawn(documents[::-1], 200, len(documents), seed=1)) == set(some)
    assert list(drawn(documents, 200, len(documents), seed=2)) != some
    assert len(list(drawn(documents, 2_000, 2_000, seed=1))) == 2_000


@needs_shared
@pytest.mark.parametrize(
    ("told", "published"),
    [({}, 0.676), ({"drop_stop_words": True}, 0.694),
     ({"drop_stop_words": True, "refined": True}, 0.67)],
)  # fmt: skip
def test_the_papers_numbers(told, published):
    lines = (SHARED / "summeval.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    texts = [[c["text"] for c in row["candidates"]] for row in rows]
    found = measured([row["source"] for row in rows], texts, **told)
    means: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for row, values in zip(rows, found, strict=True):
        for candidate, value in zip(row["candidates"], values, strict=True):
            assert isinstance(value, float)
            means[candidate["system"]].append((value, candidate["ratings"]["relevance"]))
    pairs = np.array([np.mean(pairs, axis=0) for pairs in means.values()])
    tolerance = 0.01 if published != 0.67 else 0.015  # the released code's is only told roughly
    assert spearmanr(pairs[:, 0], pairs[:, 1]).statistic == pytest.approx(published, abs=tolerance)
