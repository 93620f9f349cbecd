"""Any Hugging Face encoder: texts go in, a unit vector per token comes out.

    opened("models/all-MiniLM-L6-v2", None).embed(["A flood."], layers=[-1], batch=32)
      ->  {"A flood.": Embedded(vectors=<5 x 384>, own=[F, T, T, T, F], ids=[101, 1037, …])}

Layers are the encoder's hidden states: 0 is its input embeddings, -1 the last layer. A long text is
read in several windows, whose tokens follow each other. Apart from rounding, a text's vectors do
not depend on the texts encoded with it. The encoder runs on the CPU: metrics share machines with
engines, which take the GPUs' memory for themselves.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from string import punctuation
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evaljudge.engines.tokens import Ids, Tokeniser
from evaljudge.errors import UserError, first_words

Vectors = NDArray[np.float32]
LATER_PIECE = "##"
_POSITIONS = 512
"""The window of encoders that name no limit; attention takes the square of it."""


@dataclass(frozen=True, slots=True)
class Embedded:
    """A text's tokens as unit vectors; all but its own are the encoder's marks around them."""

    vectors: Vectors
    own: NDArray[np.bool_]
    ids: NDArray[np.int64]
    minor: NDArray[np.bool_]  # which tokens are punctuation, or the later pieces of words

    @property
    def words(self) -> Vectors:
        return self.vectors[self.own]


class Windows:
    """Texts as token ids, in consecutive windows, as long as the encoder's positions allow.

    Windows(minilm's tokenizer, 512).of("A flood.")
      ->  [(101, 1037, 7186, 1012, 102)]

    Each has its own marks ([CLS], [SEP]). What looks like a mark inside a text is ordinary text.
    """

    def __init__(self, hf_tokenizer: Any, positions: int) -> None:
        self._tokeniser = Tokeniser(hf_tokenizer)
        self._head, self._tail = marks_around(hf_tokenizer)
        self.room = positions - len(self._head) - len(self._tail)
        """How many of a text's tokens a window holds."""
        self._lead = _lead(self._tokeniser)

    def of(self, text: str) -> list[Ids]:
        """No window, if the vocabulary reads nothing in the text."""
        ids = self.ids(text)
        starts = range(0, len(ids), self.room)
        return [self.around(ids[start : start + self.room]) for start in starts]

    def ids(self, text: str) -> Ids:
        return self._tokeniser.text(self._lead + text.strip())

    def around(self, ids: Ids) -> Ids:
        return self._head + ids + self._tail

    def own(self, window: Ids) -> NDArray[np.bool_]:
        """Which tokens of a window are the text's, and no marks."""
        places = np.arange(len(window))
        return (places >= len(self._head)) & (places < len(window) - len(self._tail))


@cache
def opened(source: str, revision: str | None, unpickles: bool = False) -> "TokenEncoder":
    hf, model = pretrained("AutoModel", source, revision, unpickles)
    return TokenEncoder(hf, model.get_encoder() if model.config.is_encoder_decoder else model)


def pretrained(
    kind: str, source: str, revision: str | None, unpickles: bool, *, is_whole: bool = False
) -> tuple[Any, Any]:
    """The tokenizer and the model, of this class of transformers; `unpickles`: pickled weights may
    be read; `is_whole`: no weights may be missing."""
    import transformers

    options: dict[str, Any] = {"trust_remote_code": False, "revision": revision or "main"}
    try:
        hf = transformers.AutoTokenizer.from_pretrained(source, **options)
        model, loading = getattr(transformers, kind).from_pretrained(
            source, use_safetensors=not unpickles or None, output_loading_info=True, **options
        )
    except Exception as error:  # transformers raises many kinds; each means: no such model there
        raise UserError(f"{source} cannot be read as {kind}: {first_words(error)}") from None
    if is_whole and (lacking := sorted(loading["missing_keys"])):
        raise UserError(f"{source} cannot be read as {kind}: it has no weights for {lacking[0]}")
    return hf, model


def longest_first(lengths: Sequence[Any], batch: int) -> Iterator[list[int]]:
    """Which texts to read together: those of similar length, so that there is little padding."""
    order = sorted(range(len(lengths)), key=lengths.__getitem__, reverse=True)
    return (order[start : start + batch] for start in range(0, len(order), batch))


class TokenEncoder:
    def __init__(self, hf_tokenizer: Any, model: Any) -> None:
        self._model = model.float().eval()
        self.windows = Windows(hf_tokenizer, positions(hf_tokenizer, model))
        self.mask: int | None = hf_tokenizer.mask_token_id
        self._minor = _minor(hf_tokenizer)
        self._pad = hf_tokenizer.pad_token_id or 0

    @property
    def layers(self) -> int:
        return int(self._model.config.num_hidden_layers)

    def embed(
        self, texts: Collection[str], layers: Sequence[int], batch: int
    ) -> dict[str, Embedded]:
        """Each distinct text once; a text without any token is left out."""
        windows = [(text, w) for text in dict.fromkeys(texts) for w in self.windows.of(text)]
        states = self.states([window for _, window in windows], layers, batch)
        embedded: dict[str, Embedded] = {}
        for text, group in groupby(zip(windows, states, strict=True), lambda part: part[0][0]):
            parts = [(_pooled(of_layers), self.windows.own(w), w) for (_, w), of_layers in group]
            vectors, own, ids = map(np.concatenate, zip(*parts, strict=True))
            embedded[text] = Embedded(vectors, own, ids, np.isin(ids, self._minor))
        return embedded

    def inputs(self, ids: Sequence[int]) -> Vectors:
        """The vectors of these tokens before any context is read."""
        table = self._model.get_input_embeddings().weight
        return np.asarray(table.detach()[list(ids)].numpy())

    def states(self, windows: Sequence[Ids], layers: Sequence[int], batch: int) -> list[Vectors]:
        """For each window, an array of layers x tokens x numbers, as the encoder gives them."""
        import torch

        arrays: dict[int, Vectors] = {}
        for chosen in longest_first(list(map(len, windows)), batch):
            ids, mask = padded([windows[place] for place in chosen], self._pad)
            inputs = {"input_ids": ids, "attention_mask": mask}
            with torch.inference_mode():
                states = self._model(**inputs, output_hidden_states=True).hidden_states
                kept = torch.stack([states[layer] for layer in layers]).numpy()
            for row, place in enumerate(chosen):
                arrays[place] = kept[:, row, : len(windows[place])]
        return [arrays[place] for place in range(len(windows))]


def padded(texts: Sequence[Ids], pad: int = 0) -> tuple[Any, Any]:
    """The texts as one table of ids, and a table with 1 where a token is a text's own."""
    import torch
    from torch.nn.utils.rnn import pad_sequence

    rows = [torch.tensor(text, dtype=torch.long) for text in texts]
    ids = pad_sequence(rows, batch_first=True, padding_value=pad)
    return ids, pad_sequence(list(map(torch.ones_like, rows)), batch_first=True)


def _pooled(states: Vectors) -> Vectors:
    """A unit vector for each token. Of several layers, which are made unit vectors first, it is the
    smallest, the mean and the largest of each number: MoverScore's power means, side by side."""
    units = unit(states)
    if len(units) == 1:
        return np.asarray(units[0])
    return unit(np.concatenate([units.min(axis=0), units.mean(axis=0), units.max(axis=0)], axis=1))


def unit(vectors: NDArray[Any]) -> NDArray[Any]:
    from torch import from_numpy
    from torch.nn.functional import normalize

    return np.asarray(normalize(from_numpy(vectors), dim=-1).numpy())


def positions(hf_tokenizer: Any, model: Any) -> int:
    """How many tokens are read at once: the lower of the tokenizer's limit, which may be absent (a
    huge number), and the encoder's. RoBERTa's kind counts positions from after the padding's."""
    named = getattr(model.config, "max_position_embeddings", None) or _POSITIONS
    table = getattr(getattr(model, "embeddings", None), "position_embeddings", None)
    padding = getattr(table, "padding_idx", None)
    return int(min(named - (0 if padding is None else padding + 1), hf_tokenizer.model_max_length))


def marks_around(hf_tokenizer: Any) -> tuple[Ids, Ids]:
    """The tokens that the model was trained to see before and after a text."""
    read = hf_tokenizer("a", return_special_tokens_mask=True)
    ids, marks = tuple(read["input_ids"]), list(read["special_tokens_mask"])
    start = marks.index(0)
    return ids[:start], ids[start + marks.count(0) :]


def _lead(tokeniser: Tokeniser) -> str:
    """A space, if words contain the space before them (GPT-2's kind): so does the first, then."""
    bare, spaced = tokeniser.text("a"), tokeniser.text(" a")
    return " " if bare != spaced and len(bare) == len(spaced) else ""


def _minor(hf_tokenizer: Any) -> list[int]:
    """The ids of punctuation and of the later pieces of words, by the vocabulary's spelling.

    `##ing` is a later piece, and `Ġ,` or `▁,` a comma. Only BERT's kind marks later pieces.
    """
    return [
        number
        for token, number in hf_tokenizer.get_vocab().items()
        if token.startswith(LATER_PIECE) or token.lstrip("Ġ▁") in set(punctuation)
    ]
