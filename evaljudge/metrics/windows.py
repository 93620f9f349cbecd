"""A text as an encoder reads it: token ids between its marks, in windows where it is too long.

    Windows(minilm's tokenizer, 512).of("A flood.")
      ->  [Window(ids=(101, 1037, 7186, 1012, 102), own=(F, T, T, T, F))]

Windows are consecutive, as long as the encoder's positions allow, each with its own marks ([CLS],
[SEP]). What looks like a mark inside a text is ordinary text.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from evaljudge.engines.tokens import Ids, Tokeniser


@dataclass(frozen=True, slots=True)
class Window:
    """A stretch of a text; all ids but its own are the encoder's marks around it."""

    ids: Ids
    own: tuple[bool, ...]


class Windows:
    def __init__(self, hf_tokenizer: Any, positions: int) -> None:
        self._tokeniser = Tokeniser(hf_tokenizer)
        self._head, self._tail = _marks(hf_tokenizer)
        self._room = positions - len(self._head) - len(self._tail)
        self._lead = _lead(self._tokeniser)

    def of(self, text: str) -> list[Window]:
        """None, where the vocabulary reads nothing in the text."""
        ids = self._tokeniser.text(self._lead + text.strip())
        starts = range(0, len(ids), self._room)
        return [self._window(ids[start : start + self._room]) for start in starts]

    def _window(self, ids: Ids) -> Window:
        before, after = len(self._head), len(self._tail)
        own = (False,) * before + (True,) * len(ids) + (False,) * after
        return Window(self._head + ids + self._tail, own)


def _marks(hf_tokenizer: Any) -> tuple[Ids, Ids]:
    """What the encoder was trained to see before a text and after it."""
    read = hf_tokenizer("a", return_special_tokens_mask=True)
    ids, marks = tuple(read["input_ids"]), list(read["special_tokens_mask"])
    start = marks.index(0)
    return ids[:start], ids[start + marks.count(0) :]


def _lead(tokeniser: Tokeniser) -> str:
    """A space, where it is a part of words (GPT-2's kind): the first is a word like the others."""
    bare, spaced = tokeniser.text("a"), tokeniser.text(" a")
    return " " if bare != spaced and len(bare) == len(spaced) else ""
