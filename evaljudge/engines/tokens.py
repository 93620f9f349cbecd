"""Texts to token ids and back, so that no text of a corpus can contain a special token.

`<pad>` written in a document becomes the ordinary tokens `<`, `pad`, `>`; the same in the
template's own words is the special token. Parts are tokenised apart and their ids joined, so a
document is tokenised once for all its prompts: a part that begins with a break is read as after a
word, any other as after a line break, which is where packs put the texts of a corpus.
"""

import json
import re
from collections.abc import Iterable, Sequence
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import Any, NamedTuple

from evaljudge.errors import UserError
from evaljudge.model.asks import Token

Ids = tuple[int, ...]
BREAK, WORD = "\n", "x"
REMEMBERED_PARTS = 16_384
REMEMBERED_STARTS = 64


class _Ordinary(NamedTuple):
    """What reads the words of a corpus."""

    tokenizer: Any  # the same tokenizer with every added token split like ordinary text
    specials: dict[str, int]
    unknown: str
    """What the vocabulary says for a character that it lacks; empty where it lacks none."""


class Texts:
    """A tokenizer (of the package `tokenizers`), read two ways: `marked` and `text`."""

    def __init__(self, backend: Any) -> None:
        self.backend = backend
        self.text = lru_cache(REMEMBERED_PARTS)(self._text)
        self.part = lru_cache(REMEMBERED_PARTS)(self._part)
        self._before = lru_cache(REMEMBERED_STARTS)(self._encode)

    @cached_property
    def _ordinary(self) -> _Ordinary:
        from tokenizers import Tokenizer

        spec = json.loads(self.backend.to_str())
        added, model = spec["added_tokens"], spec["model"]
        every_special = [token | {"special": True} for token in added]
        plain = Tokenizer.from_str(json.dumps({**spec, "added_tokens": every_special}))
        plain.encode_special_tokens = True
        plain.no_padding()
        plain.no_truncation()
        unknown = model.get("unk_token") or ""
        if model.get("unk_id") is not None:
            unknown = model["vocab"][model["unk_id"]][0]
        return _Ordinary(plain, {token["content"]: token["id"] for token in added}, str(unknown))

    def marked(self, text: str) -> Ids:
        """Our own words as token ids: special tokens are special; none is added."""
        return tuple(self.backend.encode(text, add_special_tokens=False).ids)

    def following(self, text: str) -> Ids:
        """The same where they follow a word."""
        return self.marked(WORD + text)[len(self.marked(WORD)) :]

    def around_two(self) -> tuple[Ids, Ids, Ids, bool]:
        """What the tokenizer puts before, between and after two texts; and whether the second's
        tokens are of another type."""
        joined = self._ordinary.tokenizer.encode(WORD, WORD)
        first, second = joined.sequence_ids.index(0), joined.sequence_ids.index(1)
        own = [(n, i) for n, i in enumerate(joined.ids) if joined.sequence_ids[n] is None]
        before = tuple(i for n, i in own if n < first)
        between = tuple(i for n, i in own if first < n < second)
        after = tuple(i for n, i in own if n > second)
        return before, between, after, joined.type_ids[second] == 1

    def _text(self, text: str, after: str = "") -> Ids:
        """Words of the corpus, as they are tokenised after `after`; never a special id."""
        ids = self._continued(text, after)
        return ids if self._is_ordinary(ids, text) else self._spelt_out(text, after)

    def _part(self, text: str) -> Ids:
        return self._text(text, WORD if text[:1].isspace() else BREAK)

    def _continued(self, text: str, after: str) -> Ids:
        ids, start = self._encode(after + text), self._before(after)
        if ids[: len(start)] != start:  # the two grew together: `\n` and `\n\n`
            return self._encode(text)
        return ids[len(start) :]

    def _encode(self, text: str) -> Ids:
        # for one text, too, this is a fifth faster than `encode`, which notes each token's place
        (encoding,) = self._ordinary.tokenizer.encode_batch_fast([text], add_special_tokens=False)
        return tuple(encoding.ids)

    def _is_ordinary(self, ids: Ids, text: str) -> bool:
        """An unknown character is ordinary; a written `<unk>` is not."""
        _, specials, unknown = self._ordinary
        special = set(specials.values()).intersection(ids)
        return not special or (special == {specials.get(unknown)} and unknown not in text)

    def _spelt_out(self, text: str, after: str) -> Ids:
        """Some vocabularies hold special tokens as plain pieces: cut those spellings in two."""
        special = "|".join(map(re.escape, self._ordinary.specials))
        ids = self._cut_at((match.start() for match in re.finditer(special, text)), text, after)
        if not self._is_ordinary(ids, ""):  # a normaliser hid the spelling: letter by letter
            ids = self._all(text)
        return ids

    def _cut_at(self, starts: Iterable[int], text: str, after: str) -> Ids:
        """The ids of the pieces, cut after the first letter of each of these spellings."""
        cuts = [0, *(start + 1 for start in starts), len(text)]
        first, *rest = (text[start:end] for start, end in pairwise(cuts))
        return self._continued(first, after) + self._all(rest)

    def _all(self, pieces: Iterable[str]) -> Ids:
        return tuple(i for piece in pieces for i in self._continued(piece, WORD))


class Tokeniser(Texts):
    def __init__(self, hf_tokenizer: Any) -> None:
        backend = getattr(hf_tokenizer, "backend_tokenizer", None)
        if backend is None:
            raise UserError(
                f"tokenizer {type(hf_tokenizer).__name__}: only tokenizers with a tokenizer.json "
                "are supported (special tokens in a document could not be distinguished from text)"
            )
        super().__init__(backend)
        self.hf = hf_tokenizer

    def words(self, ids: Ids) -> str:
        return str(self.backend.decode(ids, skip_special_tokens=True))

    def placed(self, ids: Ids, logprobs: tuple[float, ...]) -> tuple[Token, ...]:
        """Where each of these tokens stands in the text that they spell."""
        from tokenizers.decoders import DecodeStream

        stream = DecodeStream(skip_special_tokens=True)
        ends = [0]
        for token in ids:
            ends.append(ends[-1] + len(stream.step(self.backend, token) or ""))
        tokens = zip(pairwise(ends), logprobs, strict=True)
        return tuple(Token(start, end, value) for (start, end), value in tokens)


class LastPrompt:
    """The prompt before this one, with the names of its full blocks.

    Prompts come sorted, so that most begin as the one before: what they share is named once.
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self._ids: Sequence[int] = ()
        self._names: Sequence[bytes] = ()

    def shared(self, ids: Sequence[int]) -> list[bytes]:
        size, equal = self._size, 0
        most = min(len(ids) // size, len(self._names))
        while equal < most:  # by halves, so that no token is compared much more than once
            middle = (equal + most + 1) // 2
            if ids[equal * size : middle * size] == self._ids[equal * size : middle * size]:
                equal = middle
            else:
                most = middle - 1
        return list(self._names[:equal])

    def keep(self, ids: Sequence[int], names: Sequence[bytes]) -> None:
        self._ids, self._names = ids, names


class Beginning(NamedTuple):
    """How a prompt begins: its number of tokens, the names of its full blocks, the ids after them.

    A block is named by all that precedes it. Prompts that begin with the same parts need those
    parts' tokens and blocks counted only once.
    """

    size: int
    tokens: int = 0
    blocks: tuple[int, ...] = ()
    rest: Ids = ()

    def followed_by(self, ids: Ids) -> "Beginning":
        names, rest = list(self.blocks), self.rest + ids
        name, in_blocks = names[-1] if names else 0, len(rest) // self.size * self.size
        for start in range(0, in_blocks, self.size):
            name = hash((name, rest[start : start + self.size]))
            names.append(name)
        return Beginning(self.size, self.tokens + len(ids), tuple(names), rest[in_blocks:])
