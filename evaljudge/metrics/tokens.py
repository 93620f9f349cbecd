"""How the texts of a corpus become tokens, each a 64-bit number.

    Words()(["The river rose.", ""])  ->  TokenIds(ids=[8712…, 1204…, 3390…], lengths=[3, 0])

`base` is one more than a tokenizer's largest number, so that an n-gram's key can be exact; 0 if any
64-bit number can occur.

`Bpe` is learnt from the corpus: it splits words (runs of letters and digits, or of other signs)
into pieces that are frequent in the corpus. A character that its sample lacks is UNKNOWN.

n-grams as 64-bit keys, and the number of documents of a corpus in which each occurs.

    grams(TokenIds([5, 6, 7, 5, 6], [3, 2]), n=2, base=10)
    -> Grams(keys=[56, 67, 56], texts=[0, 0, 1], at=[0, 1, 3])
    Frequencies.of(…)  ->  Frequencies(keys=[56, 67], counts=[2, 1], documents=2, tokens=5)

Keys are exact where base^n fits into 64 bits. Otherwise they are hashes: among a thousand million
n-grams, the probability that any two coincide is about one in forty. The two refinements of n-gram
importance come from the authors' released code: `salient` keeps peaks, `novel` new tokens.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from evaljudge.engines.loading import load_tokeniser
from evaljudge.engines.source import ModelSource
from evaljudge.engines.tokens import Tokeniser

if TYPE_CHECKING:
    from tokenizers import Tokenizer as Trained

Ids = NDArray[np.uint64]
Counts = NDArray[np.int64]

UNKNOWN = 0
_PIECE = re.compile(r"\w+|[^\w\s]+")


@dataclass(frozen=True, slots=True)
class TokenIds:
    """The tokens of several texts, one after the other, and how many each text has."""

    ids: Ids
    lengths: Counts


@dataclass(frozen=True)
class Words:
    """Words are separated by white space; a word's number is its hash."""

    base: int = 0

    def __call__(self, texts: Sequence[str]) -> TokenIds:
        return _by_piece([text.split() for text in texts], lambda ws: [[_hash(w)] for w in ws])


@dataclass(frozen=True)
class Characters:
    """Every character, white space too; its number is its code point plus one."""

    base: int = 0x110001

    def __call__(self, texts: Sequence[str]) -> TokenIds:
        points = np.frombuffer("".join(texts).encode("utf-32-le", "surrogatepass"), dtype="<u4")
        return TokenIds(points.astype(np.uint64) + np.uint64(1), _lengths(texts))


@dataclass(frozen=True)
class Bpe:
    """Byte pair encoding, as learnt (the JSON of a `tokenizers.Tokenizer`)."""

    learnt: str
    base: int

    def __call__(self, texts: Sequence[str]) -> TokenIds:
        return _by_piece([_PIECE.findall(text) for text in texts], self._encode)

    def _encode(self, pieces: list[str]) -> list[Sequence[int]]:
        encoded = _read(self.learnt).encode_batch_fast(pieces, add_special_tokens=False)
        return [encoding.ids for encoding in encoded]


@dataclass(frozen=True)
class OfModel:
    """A pretrained model's tokenizer; no text of a corpus yields a special token."""

    source: str
    commit: str | None
    base: int

    def __call__(self, texts: Sequence[str]) -> TokenIds:
        tokeniser = _pretrained(self.source, self.commit)
        rows = [tokeniser.text(text) for text in texts]
        tokeniser.text.cache_clear()  # texts of a corpus do not come again
        ids = np.fromiter(chain.from_iterable(rows), np.uint64)
        return TokenIds(ids + np.uint64(1), _lengths(rows))


Tokenizer = Words | Characters | Bpe | OfModel


def learn_bpe(texts: Iterable[str], vocabulary: int) -> Bpe:
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers

    trained = Tokenizer(models.BPE(unk_token="[UNK]"))
    trained.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary, special_tokens=["[UNK]"], show_progress=False
    )
    trained.train_from_iterator((" ".join(_PIECE.findall(text)) for text in texts), trainer)
    return Bpe(trained.to_str(), trained.get_vocab_size())


def of_model(source: str, commit: str | None) -> OfModel:
    """`commit`: the hub's, so that all workers load what the driver saw."""
    return OfModel(source, commit, len(_pretrained(source, commit).hf) + 1)


def _by_piece(
    texts: Sequence[list[str]], encode: Callable[[list[str]], Iterable[Sequence[int]]]
) -> TokenIds:
    """Each distinct piece is encoded once."""
    pieces = list(dict.fromkeys(chain.from_iterable(texts)))
    encoded = dict(zip(pieces, encode(pieces), strict=True))
    ids = [list(chain.from_iterable(encoded[piece] for piece in text)) for text in texts]
    return TokenIds(np.fromiter(chain.from_iterable(ids), np.uint64), _lengths(ids))


def _lengths(texts: Sequence[Sequence[Any]]) -> Counts:
    return np.array([len(text) for text in texts], np.int64)


def _hash(word: str) -> int:
    digest = blake2b(word.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little") or 1


@lru_cache(maxsize=4)
def _read(learnt: str) -> "Trained":
    from tokenizers import Tokenizer

    return Tokenizer.from_str(learnt)


@lru_cache(maxsize=4)
def _pretrained(source: str, commit: str | None) -> Tokeniser:
    return load_tokeniser(ModelSource(source, commit))


Floats = NDArray[np.float64]
_SPREAD = 0x9E3779B97F4A7C15  # the factor of hashed keys: odd, and unlike any pattern of ids
MOST_WAITING = 1 << 20  # how many keys may wait to be added up
BEFORE, AFTER = 2, 1
DEMOTION, SEEN_AGAIN = 10.0, 0.5


@dataclass(frozen=True, slots=True)
class Grams:
    """The n-grams of several texts, in order; those with an unknown token are left out."""

    keys: Ids
    texts: Counts
    at: Counts  # where each begins among the tokens

    def part(self, first: int, last: int) -> "Grams":
        """The grams of the texts from `first` to before `last`, numbered from 0."""
        start, end = np.searchsorted(self.texts, [first, last])
        return Grams(self.keys[start:end], self.texts[start:end] - first, self.at[start:end])


def grams(tokens: TokenIds, n: int, base: int) -> Grams:
    starts = max(0, tokens.ids.size - n + 1)
    factor = np.uint64(base if base and base**n <= 1 << 64 else _SPREAD)
    keys = np.zeros(starts, np.uint64)
    whole = np.ones(starts, np.bool_)
    texts = np.repeat(np.arange(tokens.lengths.size), tokens.lengths)
    for offset in range(n):
        ids = tokens.ids[offset : offset + starts]
        keys = keys * factor + ids
        whole &= (ids != UNKNOWN) & (texts[offset : offset + starts] == texts[:starts])
    return Grams(keys[whole], texts[:starts][whole], np.flatnonzero(whole))


@dataclass(frozen=True, slots=True)
class Frequencies:
    """The number of `documents` in which each n-gram occurs; they have `tokens` in all."""

    keys: Ids  # sorted
    counts: Counts
    documents: int
    tokens: int

    @classmethod
    def of(cls, grams: Grams, tokens: TokenIds) -> "Frequencies":
        """A text without a token is no document of the corpus."""
        order = np.lexsort((grams.keys, grams.texts))
        keys, texts = grams.keys[order], grams.texts[order]
        first = np.ones(keys.size, np.bool_)
        first[1:] = (keys[1:] != keys[:-1]) | (texts[1:] != texts[:-1])
        distinct, counts = np.unique(keys[first], return_counts=True)
        documents = int(np.count_nonzero(tokens.lengths))
        return cls(distinct, counts, documents, int(tokens.lengths.sum()))

    @classmethod
    def added(cls, parts: "Iterable[Frequencies]") -> "Frequencies":
        """The sum of all parts, of which a bounded amount is held at a time."""
        total, waiting, keys = cls(np.zeros(0, np.uint64), np.zeros(0, np.int64), 0, 0), [], 0
        for part in parts:
            waiting.append(part)
            keys += part.keys.size
            if keys > max(MOST_WAITING, total.keys.size):
                total, waiting, keys = _sum([total, *waiting]), [], 0
        return _sum([total, *waiting])

    def __call__(self, keys: Ids) -> Counts:
        """The number of documents in which these occur; each must occur in the corpus."""
        at = np.minimum(np.searchsorted(self.keys, keys), max(0, self.keys.size - 1))
        if keys.size and not (self.keys.size and np.array_equal(self.keys[at], keys)):
            raise ValueError("a document that is not of the corpus whose n-grams were counted")
        counts: Counts = self.counts[at]
        return counts


def _sum(parts: Sequence[Frequencies]) -> Frequencies:
    keys, inverse = np.unique(np.concatenate([part.keys for part in parts]), return_inverse=True)
    counts = np.zeros(keys.size, np.int64)
    np.add.at(counts, inverse, np.concatenate([part.counts for part in parts]))
    documents, tokens = sum(p.documents for p in parts), sum(p.tokens for p in parts)
    return Frequencies(keys, counts, documents, tokens)


def salient(w: Floats, first: Counts) -> Floats:
    """A tenth of w, unless no neighbour in the order of first occurrence is larger.

    salient(w=[1, 5, 2], first=[0, 1, 2])  ->  [0.1, 5, 0.2]
    """
    order = np.argsort(first)
    padded = np.pad(w[order], (BEFORE, AFTER), constant_values=-np.inf)
    largest = np.lib.stride_tricks.sliding_window_view(padded, BEFORE + 1 + AFTER).max(axis=1)
    weights = np.empty_like(w)
    weights[order] = np.where(w[order] >= largest, w[order], w[order] / DEMOTION)
    return weights


def novel(w: Floats, first: Counts, members: Ids) -> Floats:
    """From the most important down, w is lowered for each time a token was seen before.

    novel(w=[9, 4], first=[0, 1], members=[[7, 8], [8, 9]])  ->  [9, 4 / 1.5], since 8 was seen

    `members`: the tokens of each n-gram. Equally important n-grams go in order of `first`.
    """
    order = np.lexsort([first, -w])
    seen = _seen_before(members[order].ravel()).reshape(members.shape)
    weights = np.empty_like(w)
    weights[order] = w[order] / (1 + SEEN_AGAIN * seen.sum(axis=1))
    return weights


def _seen_before(tokens: Ids) -> Counts:
    """How often each place's token occurs before it."""
    order = np.argsort(tokens, kind="stable")
    run = np.concatenate([[0], np.flatnonzero(np.diff(tokens[order])) + 1])
    starts = np.repeat(run, np.diff(np.append(run, tokens.size)))
    seen = np.empty(tokens.size, np.int64)
    seen[order] = np.arange(tokens.size) - starts
    return seen
