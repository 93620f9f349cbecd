"""The words of a text in any script, as ROUGE, BLEU and chrF++ count them.

    words("The café's co-op, 12 km")  ->  the café s co op 12 km
    words("东京tower")                 ->  东 京 tower
    spaced("东京tower")                ->  " 东  京 tower"

A word is a run of letters and digits, in lower case, after compatibility normalisation (ﬁ is fi,
full-width digits are digits). On ASCII these are rouge-score's tokens; of other letters, which it
drops, none is lost. In scripts that put no spaces between words (Chinese, Japanese, Thai, Lao,
Khmer, Burmese) each letter, with its marks, is a word of its own.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from functools import cache

import regex  # type: ignore[import-untyped, unused-ignore]

_UNSPACED = r"[\p{L}&&[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]]"
_ALONE = regex.compile(rf"(?V1){_UNSPACED}\p{{M}}*")
_WORD = regex.compile(
    rf"(?V1){_UNSPACED}\p{{M}}*|[\p{{L}}\p{{N}}--{_UNSPACED}][\p{{L}}\p{{N}}\p{{M}}--{_UNSPACED}]*"
)


def words(text: str, stemmer: bool = False) -> list[str]:
    found: list[str] = _WORD.findall(unicodedata.normalize("NFKC", text).lower())
    return [_stem(word) for word in found] if stemmer else found


def spaced(text: str) -> str:
    """For whoever splits at white space: the letters that stand alone, set apart."""
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
