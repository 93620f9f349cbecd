"""How the texts of a corpus become tokens, each a 64-bit number.

    Words()(["The river rose.", ""])  ->  TokenIds(ids=[8712…, 1204…, 3390…], lengths=[3, 0])

`base` is one more than a tokenizer's largest number, so that an n-gram's key can be exact; 0 if any
64-bit number can occur.

`Bpe` is learnt from the corpus: it splits words (runs of letters and digits, or of other signs)
into pieces that are frequent in the corpus. A character that its sample lacks is UNKNOWN.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from itertools import chain
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from evaljudge.engines.tokens import Tokeniser
from evaljudge.errors import UserError, first_words, needing

if TYPE_CHECKING:
    from tokenizers import Tokenizer as Trained

Ids = NDArray[np.uint64]
Counts = NDArray[np.int64]

UNKNOWN = 0
MOST_KEPT = 100_000
_PIECE = re.compile(r"\w+|[^\w\s]+")


@dataclass(frozen=True, slots=True)
class TokenIds:
    """The tokens of several texts, one after the other, and how many each text has."""

    ids: Ids
    lengths: Counts


class Tokenizer(Protocol):
    @property
    def base(self) -> int: ...

    def __call__(self, texts: Sequence[str]) -> TokenIds: ...


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
        """Texts share most of their pieces, so those encoded are kept, up to MOST_KEPT."""
        trained, kept = _read(self.learnt)
        if len(kept) > MOST_KEPT:
            kept.clear()
        new = [piece for piece in pieces if piece not in kept]
        encoded = trained.encode_batch_fast(new, add_special_tokens=False) if new else []
        kept.update(zip(new, (encoding.ids for encoding in encoded), strict=True))
        return [kept[piece] for piece in pieces]


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
    try:
        return OfModel(source, commit, len(_pretrained(source, commit).hf) + 1)
    except UserError:
        raise
    except Exception as error:  # transformers raises many kinds; each means: no tokenizer there
        raise UserError(f"no tokenizer was found for {source}: {first_words(error)}") from None


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
def _read(learnt: str) -> "tuple[Trained, dict[str, Sequence[int]]]":
    """The tokenizer, and the pieces it has encoded."""
    from tokenizers import Tokenizer

    return Tokenizer.from_str(learnt), {}


@lru_cache(maxsize=4)
def _pretrained(source: str, commit: str | None) -> Tokeniser:
    with needing(f"the tokenizer of {source}", "embeddings"):
        from transformers import AutoTokenizer

    options = {"revision": commit or "main", "trust_remote_code": False}
    return Tokeniser(AutoTokenizer.from_pretrained(source, use_fast=True, **options))
