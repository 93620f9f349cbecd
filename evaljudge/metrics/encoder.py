"""Any Hugging Face encoder: texts go in, a unit vector per token comes out.

    opened("models/all-MiniLM-L6-v2", None).embed(["A flood."], layer=-1, batch=32)
      ->  {"A flood.": Embedded(vectors=<5 x 384>, own=[F, T, T, T, F])}

`layer` counts the encoder's hidden states: 0 is its input embeddings, -1 the last layer. A long
text is read in several windows, whose tokens follow each other. Apart from rounding, a text's
vectors do not depend on the texts encoded with it. The encoder runs on the CPU: metrics share
machines with engines, which take the GPUs' memory for themselves.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evaljudge.engines.tokens import Ids, Tokeniser
from evaljudge.errors import UserError, first_words

Vectors = NDArray[np.float32]
_POSITIONS = 512
"""The window of encoders that name no limit; attention takes the square of it."""


@dataclass(frozen=True, slots=True)
class Embedded:
    """A text's tokens as unit vectors; all but its own are the encoder's marks around them."""

    vectors: Vectors
    own: NDArray[np.bool_]

    @property
    def words(self) -> Vectors:
        return self.vectors[self.own]


@dataclass(frozen=True, slots=True)
class Window:
    """A part of a text; all ids but its own are the encoder's marks around it."""

    ids: Ids
    own: tuple[bool, ...]


class Windows:
    """Texts as token ids, in consecutive windows, as long as the encoder's positions allow.

    Windows(minilm's tokenizer, 512).of("A flood.")
      ->  [Window(ids=(101, 1037, 7186, 1012, 102), own=(F, T, T, T, F))]

    Each has its own marks ([CLS], [SEP]). What looks like a mark inside a text is ordinary text.
    """

    def __init__(self, hf_tokenizer: Any, positions: int) -> None:
        self._tokeniser = Tokeniser(hf_tokenizer)
        self._head, self._tail = _marks(hf_tokenizer)
        self._room = positions - len(self._head) - len(self._tail)
        self._lead = _lead(self._tokeniser)

    def of(self, text: str) -> list[Window]:
        """No window, if the vocabulary reads nothing in the text."""
        ids = self._tokeniser.text(self._lead + text.strip())
        starts = range(0, len(ids), self._room)
        return [self._window(ids[start : start + self._room]) for start in starts]

    def _window(self, ids: Ids) -> Window:
        before, after = len(self._head), len(self._tail)
        own = (False,) * before + (True,) * len(ids) + (False,) * after
        return Window(self._head + ids + self._tail, own)


@cache
def opened(source: str, revision: str | None, unpickles: bool = False) -> TokenEncoder:
    """Loaded once per process; `unpickles`: pickled weights may be read."""
    return TokenEncoder(*_loaded(source, revision or "main", unpickles))


class TokenEncoder:
    def __init__(self, hf_tokenizer: Any, model: Any) -> None:
        self._model = model.float().eval()
        self._windows = Windows(hf_tokenizer, _positions(hf_tokenizer, model))
        self._pad = hf_tokenizer.pad_token_id or 0

    @property
    def layers(self) -> int:
        return int(self._model.config.num_hidden_layers)

    def embed(self, texts: Collection[str], layer: int, batch: int) -> dict[str, Embedded]:
        """Each distinct text once; a text without any token is left out."""
        windows = [(text, w) for text in dict.fromkeys(texts) for w in self._windows.of(text)]
        vectors = self._vectors([window.ids for _, window in windows], layer, batch)
        found: dict[str, Embedded] = {}
        for text, group in groupby(zip(windows, vectors, strict=True), lambda part: part[0][0]):
            parts = [(states, window.own) for (_, window), states in group]
            found[text] = Embedded(*map(np.concatenate, zip(*parts, strict=True)))
        return found

    def _vectors(self, windows: Sequence[Ids], layer: int, batch: int) -> list[Vectors]:
        """Windows of similar length go together, so that there is little padding."""
        longest_first = sorted(range(len(windows)), key=lambda i: -len(windows[i]))
        found: dict[int, Vectors] = {}
        for start in range(0, len(windows), batch):
            chosen = longest_first[start : start + batch]
            states = self._states([windows[i] for i in chosen], layer)
            found.update(zip(chosen, states, strict=True))
        return [found[i] for i in range(len(windows))]

    def _states(self, windows: Sequence[Ids], layer: int) -> list[Vectors]:
        import torch

        ids = torch.full((len(windows), max(map(len, windows))), self._pad)
        mask = torch.zeros_like(ids)
        for row, window in enumerate(windows):
            ids[row, : len(window)] = torch.tensor(window)
            mask[row, : len(window)] = 1
        given = {"input_ids": ids, "attention_mask": mask}
        with torch.inference_mode():
            states = self._model(**given, output_hidden_states=True).hidden_states[layer]
            units = torch.nn.functional.normalize(states, dim=-1).numpy()
        return [units[row, : len(window)] for row, window in enumerate(windows)]


def _loaded(source: str, revision: str, unpickles: bool) -> tuple[Any, Any]:
    from transformers import AutoModel, AutoTokenizer

    given: dict[str, Any] = {"revision": revision, "trust_remote_code": False}
    try:
        hf = AutoTokenizer.from_pretrained(source, **given)
        model = AutoModel.from_pretrained(source, use_safetensors=not unpickles or None, **given)
    except Exception as error:  # transformers raises many kinds; each means: no encoder there
        raise UserError(f"no encoder can be had of {source}: {first_words(error)}") from None
    return hf, model.get_encoder() if model.config.is_encoder_decoder else model


def _positions(hf_tokenizer: Any, model: Any) -> int:
    """How many tokens are read at once: the lower of the tokenizer's limit, which may be absent (a
    huge number), and the encoder's. RoBERTa's kind counts positions from after the padding's."""
    named = getattr(model.config, "max_position_embeddings", None) or _POSITIONS
    table = getattr(getattr(model, "embeddings", None), "position_embeddings", None)
    padding = getattr(table, "padding_idx", None)
    return int(min(named - (0 if padding is None else padding + 1), hf_tokenizer.model_max_length))


def _marks(hf_tokenizer: Any) -> tuple[Ids, Ids]:
    """The tokens that the encoder was trained to see before and after a text."""
    read = hf_tokenizer("a", return_special_tokens_mask=True)
    ids, marks = tuple(read["input_ids"]), list(read["special_tokens_mask"])
    start = marks.index(0)
    return ids[:start], ids[start + marks.count(0) :]


def _lead(tokeniser: Tokeniser) -> str:
    """A space, if words contain the space before them (GPT-2's kind): so does the first, then."""
    bare, spaced = tokeniser.text("a"), tokeniser.text(" a")
    return " " if bare != spaced and len(bare) == len(spaced) else ""
