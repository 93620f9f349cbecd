"""ESTIME (Vasilyev and Bohannon 2021): how many words stand in the place of another source word.

A masked language model reads the text and its source. In both, words are masked (all their tokens),
and e(w) is the hidden state of `layer` at the mask for the first token of w. For each word w of the
text, the word of the source in the most similar place is

    v(w) = the v of the source with the largest e(w) · e(v)

    alarms   how many words, of those that also occur in the source, have another first token than
             v(w): the paper's number, at least 0; fewer are better
    all      the same of all words of the text
    soft     the mean over the words of the text of the cosine between the model's input vectors of
             the first tokens of w and v(w), at most 1; more is better (the authors' second paper,
             "Consistency and Coherence from Points of Contextual Similarity", 2021)

The reading is that of the authors' code: every 8th word of a text is masked at a time, so that each
text is read 8 times, in windows of 450 tokens (or as many as the model reads), of which the outer
ninths on both sides give the masks between them their context. Words are nltk's, of text in
Unicode's form NFKD, as in the code. Three things differ: sentences end by our own rule, since
nltk's needs data; `soft` takes the input vectors of `model`, the code bert-base-uncased's; and a
text that has no word in common with the source has no alarms to count, so it is unscored, where the
code counts all of its words.
"""

import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from evaljudge.engines.tokens import Ids
from evaljudge.errors import UserError
from evaljudge.metrics.embeddings import NO_TOKENS, NOTHING_TO_COMPARE, LayerSettings, OverEncoder
from evaljudge.metrics.encoder import TokenEncoder, Vectors, unit
from evaljudge.metrics.lexical import spaced
from evaljudge.metrics.passages import running_sentences
from evaljudge.metrics.protocol import Comparison, KnownMetric, Unscored, Value, libraries, measured
from evaljudge.records import Case
from evaljudge.settings import read_settings

APART = 8  # words of which one is masked at a time
LONGEST_WINDOW = 450
MARGIN = 9  # parts of a window inside a text, of which the first and the last hold no mask
NO_COMMON_WORD = Unscored("no word in common with the source")


class EstimeSettings(LayerSettings):
    kinds = {"model": "a masked language model"}
    layer: int = 21
    part: Literal["alarms", "all", "soft"] = "alarms"


def estime(name: str, given: Mapping[str, Any]) -> "Estime":
    where = f"metrics.{name}"
    settings = read_settings(EstimeSettings, given, where)
    libraries(where, "nltk")  # whose words they are
    library = libraries(where, "transformers", "torch")
    return Estime(name, settings, library, (settings.layer,))


@dataclass(frozen=True, slots=True)
class Read:
    """A text's words, the first token of each, and what the model has in its masked place."""

    words: Sequence[str]
    first: NDArray[np.int64]
    places: Vectors
    inputs: Vectors  # the model's input vectors of the first tokens


@dataclass(frozen=True)
class Estime(OverEncoder):
    settings: EstimeSettings
    version: str = "3"

    def measure(self, cases: Sequence[Case]) -> list[list[Value]]:
        encoder = self._encoder()
        if encoder.mask is None:
            reason = f"{self.settings.model} has no mask token: name a masked language model"
            raise UserError(f"metrics.{self.name}.model: {reason}")
        return measured(cases, "source", partial(self._comparing, encoder))

    def _comparing(self, encoder: TokenEncoder, source: str) -> Comparison:
        theirs = self._read(encoder, source)

        def value(text: str) -> Value:
            mine = self._read(encoder, text)
            if not mine.words:
                return NO_TOKENS
            if not theirs.words:
                return NOTHING_TO_COMPARE
            if self.settings.part == "alarms" and not {*mine.words} & {*theirs.words}:
                return NO_COMMON_WORD
            return estimated(self.settings.part, mine, theirs)

        return value

    def _read(self, encoder: TokenEncoder, text: str) -> Read:
        split = [(word, encoder.windows.ids(word)) for word in words_of(text)]
        words = [word for word, ids in split if ids]
        tokens = [ids for _, ids in split if ids]
        first = [ids[0] for ids in tokens]
        places = self._places(encoder, tokens)
        return Read(words, np.array(first, np.int64), places, encoder.inputs(first))

    def _places(self, encoder: TokenEncoder, words: Sequence[Ids]) -> Vectors:
        places: dict[int, Vectors] = {}
        room = min(LONGEST_WINDOW, encoder.windows.room)
        windows = list(masked(words, encoder.mask or 0, room))
        around = [encoder.windows.around(ids) for ids, _ in windows]
        states = encoder.states(around, self.layers, self.settings.batch)
        for (_, masks), marked, (state,) in zip(windows, around, states, strict=True):
            before = int(np.argmax(encoder.windows.own(marked)))
            places.update((word, state[before + place]) for word, place in masks.items())
        return np.array([places[word] for word in range(len(words))])


def words_of(text: str) -> list[str]:
    """nltk's words, as in the authors' code, but of the sentences that our own rule finds."""
    from nltk.tokenize.destructive import NLTKWordTokenizer

    word_tokenizer = NLTKWordTokenizer()
    plain = unicodedata.normalize("NFKD", text)
    return [word for s in running_sentences(plain) for word in word_tokenizer.tokenize(spaced(s))]


def estimated(part: Literal["alarms", "all", "soft"], text: Read, source: Read) -> float:
    nearest = np.argmax(text.places @ source.places.T, axis=1)
    if part == "soft":
        mine, theirs = map(unit, (text.inputs, source.inputs[nearest]))
        return float((mine * theirs).sum(axis=1).mean())
    differs = text.first != source.first[nearest]
    in_source = np.isin(text.words, source.words) if part == "alarms" else True
    return float(np.count_nonzero(differs & in_source))


def masked(words: Sequence[Ids], mask: int, room: int) -> Iterator[tuple[Ids, Mapping[int, int]]]:
    """Windows of at most `room` tokens in which each word of a text is masked once: its tokens, and
    where in it the first mask of which word is.

    masked([(5,), (6, 7), (8,)], mask=0, room=450)
      ->  ((0, 6, 7, 8), {0: 0}), ((5, 0, 0, 8), {1: 1}), ((5, 6, 7, 0), {2: 3})
    """
    ends = np.cumsum([len(ids) for ids in words]).tolist()
    starts, tokens = [0, *ends], list(chain(*words))
    for group in range(min(APART, len(words))):
        todo = list(range(group, len(words), APART))
        while todo:
            begin = max(0, starts[todo[0]] - room // MARGIN)
            last = begin + room - room // MARGIN
            chosen = [word for word in todo if ends[word] <= last + 1] or todo[:1]
            hidden = {place for word in chosen for place in range(starts[word], ends[word])}
            window = range(begin, min(begin + room, len(tokens)))
            ids = tuple(mask if place in hidden else tokens[place] for place in window)
            yield ids, {word: starts[word] - begin for word in chosen}
            todo = todo[len(chosen) :]


METRICS = {
    "estime": KnownMetric(
        estime,
        "How many words stand where the source would have others: fewer are better.",
        "the source; a masked language model (`model`) and the extra `embeddings`",
    )
}
