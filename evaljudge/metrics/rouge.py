"""ROUGE-1, ROUGE-2 and ROUGE-L: what two texts have in common, as the F1 of their words.

    theirs  the river rose and closed the bridge     7 words
    mine    the river closed the old bridge          6 words
    rouge1  5 words of the same                      2 · 5 / (6 + 7) = 0.77
    rouge2  2 pairs: the river, closed the           2 · 2 / (5 + 6) = 0.36
    rougeL  5 words in the same order                0.77

As rouge-score counts them, which is the oracle of the tests; counted here because it takes a
reference's words anew for every text, and many times longer for ROUGE-L. The whole text is one
sentence (not `rougeLsum`). A text of one word has no pair: its ROUGE-2 is 0.

A word is a run of letters and digits, in lower case, after compatibility normalisation (ﬁ is fi,
full-width digits are digits). On ASCII these are rouge-score's tokens; of other letters, which it
drops, none is lost. In scripts that put no spaces between words (Chinese, Japanese, Thai, Lao,
Khmer, Burmese) each letter, with its marks, is a word of its own.

    words("The café's co-op, 12 km")  ->  the café s co op 12 km
    words("东京tower")                 ->  东 京 tower
    spaced("东京tower")                ->  " 东  京 tower"
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Callable
from functools import cache
from itertools import pairwise
from typing import Literal

import regex  # type: ignore[import-untyped, unused-ignore]

from evaljudge.metrics.protocol import Unscored, Value
from evaljudge.metrics.references import Comparison

NO_WORDS = Unscored("no words")
Kind = Literal["rouge1", "rouge2", "rougeL"]
LIKE = "rouge-score 0.1.2"
Words = list[str]
_UNSPACED = r"[\p{L}&&[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]]"
_ALONE = regex.compile(rf"(?V1){_UNSPACED}\p{{M}}*")
_WORD = regex.compile(
    rf"(?V1){_UNSPACED}\p{{M}}*|[\p{{L}}\p{{N}}--{_UNSPACED}][\p{{L}}\p{{N}}\p{{M}}--{_UNSPACED}]*"
)


def compared(kind: Kind, stemmer: bool, reference: str) -> Comparison:
    theirs = words(reference, stemmer)
    compare = {"rouge1": _same_words, "rouge2": _same_pairs, "rougeL": _same_order}[kind](theirs)

    def value(text: str) -> Value:
        mine = words(text, stemmer)
        return compare(mine) if mine and theirs else NO_WORDS

    return value


def _same_words(theirs: Words) -> Callable[[Words], float]:
    counted = Counter(theirs)
    return lambda mine: _f1((counted & Counter(mine)).total(), len(mine), len(theirs))


def _same_pairs(theirs: Words) -> Callable[[Words], float]:
    counted = Counter(pairwise(theirs))

    def value(mine: Words) -> float:
        shared = counted & Counter(pairwise(mine))
        return _f1(shared.total(), len(mine) - 1, len(theirs) - 1)

    return value


def _same_order(theirs: Words) -> Callable[[Words], float]:
    """The longest common subsequence, bit-parallel (Hyyrö 2004): one step for each of my words."""
    everywhere = (1 << len(theirs)) - 1
    places: dict[str, int] = {}
    for at, word in enumerate(theirs):
        places[word] = places.get(word, 0) | 1 << at

    def value(mine: Words) -> float:
        free = everywhere  # each bit cleared is a word by which the subsequence has grown
        for word in mine:
            met = free & places.get(word, 0)
            free = (free + met | free - met) & everywhere
        return _f1(len(theirs) - free.bit_count(), len(mine), len(theirs))

    return value


def _f1(shared: int, mine: int, theirs: int) -> float:
    return 2 * shared / (mine + theirs) if shared else 0.0


def words(text: str, stemmer: bool = False) -> list[str]:
    found: list[str] = _WORD.findall(unicodedata.normalize("NFKC", text).lower())
    return [_stem(word) for word in found] if stemmer else found


def spaced(text: str) -> str:
    """With spaces around letters that are words by themselves, for tokenizers that need spaces."""
    apart: str = text if text.isascii() else _ALONE.sub(r" \g<0> ", text)
    return apart


def _stem(word: str) -> str:
    """As rouge-score, which leaves three letters alone; Porter's rules are for English."""
    return _porter()(word) if len(word) > 3 and word.isascii() else word


@cache
def _porter() -> Callable[[str], str]:
    from nltk.stem.porter import (  # type: ignore[import-untyped, unused-ignore]
        PorterStemmer,  # seconds to import
    )

    stem: Callable[[str], str] = PorterStemmer().stem
    return stem
